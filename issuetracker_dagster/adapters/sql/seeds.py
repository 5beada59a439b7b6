"""Seeds: entry URLs that are looked at again and again."""

from collections.abc import Sequence

from sqlalchemy import Engine, RowMapping, select, update

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_rules import SchedulerEntryRow
from issuetracker_dagster.adapters.sql.upserts import insert_into
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.model.urls import url_hash


class SqlSeeds:
    """The port `Seeds`, over `scheduler_entries`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def due(self, now_ms: int, limit: int) -> Sequence[Seed]:
        query = (
            select(SchedulerEntryRow.__table__)
            .where(SchedulerEntryRow.enabled, SchedulerEntryRow.next_due_ms <= now_ms)
            .order_by(SchedulerEntryRow.next_due_ms, SchedulerEntryRow.seed_id)
            .limit(limit)
        )
        with reading(self._engine) as connection:
            return [_seed(row) for row in connection.execute(query).mappings()]

    def scheduled(self, seed_id: int, next_due_ms: int) -> None:
        row = update(SchedulerEntryRow).where(SchedulerEntryRow.seed_id == seed_id).values(next_due_ms=next_due_ms)
        with writing(self._engine) as connection:
            connection.execute(row)

    def add(self, seeds: Sequence[Seed]) -> int:
        for seed in seeds:
            check_seed(seed)
        new = 0
        with writing(self._engine) as connection:
            for seed in seeds:
                added = insert_into(connection, SchedulerEntryRow).values(**_values(seed)).on_conflict_do_nothing()
                new += len(connection.execute(added.returning(SchedulerEntryRow.seed_id)).all())
        return new

    def all(self) -> Sequence[Seed]:
        query = select(SchedulerEntryRow.__table__).order_by(SchedulerEntryRow.seed_id)
        with reading(self._engine) as connection:
            return [_seed(row) for row in connection.execute(query).mappings()]


def _values(seed: Seed) -> dict[str, object]:
    return {
        "url_hash": url_hash(seed.url),
        "url": seed.url,
        "source": seed.source,
        "target_type": seed.target_type.value,
        "crawler": seed.crawler,
        "interval_ms": seed.interval_ms,
        "timeout_ms": seed.timeout_ms,
        "priority": seed.priority,
        "enabled": seed.enabled,
        "next_due_ms": seed.next_due_ms,
    }


def _seed(row: RowMapping) -> Seed:
    values = {name: row[name] for name in Seed.__struct_fields__}
    return Seed(**{**values, "target_type": TargetType(row["target_type"])})

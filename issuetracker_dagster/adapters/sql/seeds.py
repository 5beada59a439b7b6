"""Seeds: entry URLs that are looked at again and again."""

from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

import msgspec
from sqlalchemy import (
    ColumnExpressionArgument,
    CursorResult,
    Engine,
    RowMapping,
    bindparam,
    delete,
    func,
    or_,
    select,
    tuple_,
    update,
)

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_rules import SchedulerEntryRow
from issuetracker_dagster.adapters.sql.upserts import insert_into
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.model.urls import url_hash

T = TypeVar("T")

_AT_ONCE = 500
_FOUND = ("seed_id", "body_sha256", "published_ms")
"""What `put` leaves alone."""


class SqlSeeds:
    """The port `Seeds`, over `scheduler_entries`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def due(self, now_ms: int, limit: int, after: Seed | None = None) -> Sequence[Seed]:
        row = SchedulerEntryRow
        query = (
            select(row.__table__)
            .where(row.enabled, row.next_due_ms <= now_ms)
            .order_by(row.next_due_ms, row.seed_id)
            .limit(limit)
        )
        if after is not None:
            query = query.where(tuple_(row.next_due_ms, row.seed_id) > (after.next_due_ms, after.seed_id))
        with reading(self._engine) as connection:
            return [_seed(found) for found in connection.execute(query).mappings()]

    def watched(self) -> Sequence[Seed]:
        return self._select(SchedulerEntryRow.enabled, SchedulerEntryRow.freshness_ms > 0)

    def scheduled(self, seeds: Sequence[Seed]) -> None:
        row = SchedulerEntryRow
        # Of the bounds as they were read, so that the interval which was found for them can't break others.
        same = or_(row.max_interval_ms > 0, row.interval_ms == bindparam("interval"))
        changed = (
            update(row)
            .where(row.seed_id == bindparam("id"), same)
            .where(row.min_interval_ms == bindparam("low"), row.max_interval_ms == bindparam("high"))
            .values(
                next_due_ms=bindparam("due"),
                interval_ms=bindparam("interval"),
                body_sha256=bindparam("hash"),
                published_ms=bindparam("published"),
            )
        )
        if not seeds:
            return
        with writing(self._engine) as connection:
            connection.execute(
                changed,
                [
                    {
                        "id": seed.seed_id,
                        "low": seed.min_interval_ms,
                        "high": seed.max_interval_ms,
                        "due": seed.next_due_ms,
                        "interval": seed.interval_ms,
                        "hash": seed.body_sha256,
                        "published": seed.published_ms,
                    }
                    for seed in seeds
                ],
            )

    def add(self, seeds: Sequence[Seed]) -> int:
        for seed in seeds:
            check_seed(seed)
        if not seeds:
            return 0
        with writing(self._engine) as connection:
            added = insert_into(connection, SchedulerEntryRow).on_conflict_do_nothing()
            ids = connection.execute(added.returning(SchedulerEntryRow.seed_id), [_values(seed) for seed in seeds])
            return len(ids.all())

    def put(self, seeds: Sequence[Seed]) -> int:
        for seed in seeds:
            check_seed(seed)
        known: set[str] = set()
        hashes = {url_hash(seed.url) for seed in seeds}
        with writing(self._engine) as connection:
            for some in _slices(list(hashes)):
                there = select(SchedulerEntryRow.url_hash).where(SchedulerEntryRow.url_hash.in_(some))
                known.update(connection.execute(there).scalars())
            if seeds:
                inserted = insert_into(connection, SchedulerEntryRow)
                replaced = {name: inserted.excluded[name] for name in _values(seeds[0]) if name not in _FOUND}
                put = inserted.on_conflict_do_update(index_elements=["url_hash"], set_=replaced)
                connection.execute(put, [_values(seed) for seed in seeds])
        return len(hashes - known)

    def get(self, seed_id: int) -> Seed | None:
        return next(iter(self._select(SchedulerEntryRow.seed_id == seed_id)), None)

    def by_url(self, url: str) -> Seed | None:
        return next(iter(self._select(SchedulerEntryRow.url_hash == url_hash(url))), None)

    def set_enabled(self, urls: Collection[str], *, enabled: bool, now_ms: int) -> int:
        values: dict[str, object] = {"enabled": enabled, **({"since_ms": now_ms} if enabled else {})}
        changed = 0
        with writing(self._engine) as connection:
            for hashes in _slices([url_hash(url) for url in urls]):
                there = SchedulerEntryRow.url_hash.in_(hashes)
                row = update(SchedulerEntryRow).where(there, SchedulerEntryRow.enabled.is_not(enabled)).values(**values)
                result: CursorResult[tuple[()]] = connection.execute(row)
                changed += result.rowcount
        return changed

    def remove(self, urls: Collection[str]) -> int:
        removed = 0
        with writing(self._engine) as connection:
            for hashes in _slices([url_hash(url) for url in urls]):
                result: CursorResult[tuple[()]] = connection.execute(
                    delete(SchedulerEntryRow).where(SchedulerEntryRow.url_hash.in_(hashes))
                )
                removed += result.rowcount
        return removed

    def count_of(self, source: str) -> int:
        of_source = select(func.count()).where(SchedulerEntryRow.source == source)
        with reading(self._engine) as connection:
            return connection.execute(of_source).scalar_one()

    def all(self) -> Sequence[Seed]:
        return self._select()

    def _select(self, *conditions: ColumnExpressionArgument[bool]) -> list[Seed]:
        query = select(SchedulerEntryRow.__table__).where(*conditions).order_by(SchedulerEntryRow.seed_id)
        with reading(self._engine) as connection:
            return [_seed(row) for row in connection.execute(query).mappings()]


def _slices(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many at a time as a statement can bind."""
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _values(seed: Seed) -> dict[str, object]:
    values = {name: value for name, value in msgspec.structs.asdict(seed).items() if name != "seed_id"}
    return {**values, "url_hash": url_hash(seed.url), "target_type": seed.target_type.value}


def _seed(row: RowMapping) -> Seed:
    values = {name: row[name] for name in Seed.__struct_fields__}
    return Seed(**{**values, "target_type": TargetType(row["target_type"])})

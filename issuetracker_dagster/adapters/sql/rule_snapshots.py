"""Versions of the priority rules, each a row that holds them whole."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Connection, Engine, Select, delete, func, select, update

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_rules import RuleSnapshotRow
from issuetracker_dagster.adapters.sql.upserts import insert_into
from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.ports.rules import RuleSnapshot

KEPT_SNAPSHOTS = 100
_WRITE_TRIES = 5


class SqlRuleSnapshots:
    """The port `RuleSnapshots`; the last 100 versions are kept."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def latest_version(self) -> int:
        with reading(self._engine) as connection:
            return connection.execute(select(func.max(RuleSnapshotRow.version))).scalar_one() or 0

    def latest(self) -> RuleSnapshot | None:
        with reading(self._engine) as connection:
            row = connection.execute(_latest_snapshot()).mappings().one_or_none()
        # The row is no `RuleSnapshot` by itself: its columns say priorities as numbers.
        return None if row is None else msgspec.convert(dict(row), RuleSnapshot)

    def save(
        self, fingerprint: str, rules: Sequence[PriorityRule], created_ms: int, refused: Sequence[str] = ()
    ) -> int:
        for _ in range(_WRITE_TRIES):
            with writing(self._engine) as connection:
                latest = connection.execute(_latest_snapshot()).mappings().one_or_none()
                if latest is not None and latest["fingerprint"] == fingerprint:
                    _mark(connection, latest["version"], created_ms)
                    return int(latest["version"])
                version = 1 if latest is None else int(latest["version"]) + 1
                values = {
                    "version": version,
                    "fingerprint": fingerprint,
                    "rules": msgspec.to_builtins(rules),
                    "created_ms": created_ms,
                    "checked_ms": created_ms,
                    "refused": list(refused),
                }
                added = insert_into(connection, RuleSnapshotRow).values(**values).on_conflict_do_nothing()
                if connection.execute(added.returning(RuleSnapshotRow.version)).all():
                    old = delete(RuleSnapshotRow).where(RuleSnapshotRow.version <= version - KEPT_SNAPSHOTS)
                    connection.execute(old)
                    return version
        raise TransientError("other writers kept saving snapshots of the priority rules")

    def checked(self, version: int, at_ms: int) -> None:
        with writing(self._engine) as connection:
            _mark(connection, version, at_ms)


def _mark(connection: Connection, version: int, at_ms: int) -> None:
    # Two looks at once may end in either order.
    newer = (RuleSnapshotRow.version == version, RuleSnapshotRow.checked_ms < at_ms)
    connection.execute(update(RuleSnapshotRow).where(*newer).values(checked_ms=at_ms))


def _latest_snapshot() -> Select[tuple[object, ...]]:
    return select(*RuleSnapshotRow.__table__.columns).order_by(RuleSnapshotRow.version.desc()).limit(1)

"""The blacklist and the pace of hosts: small tables keyed by host, behind the port `ParserRules`."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import Engine, delete, select

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_rules import FetcherRuleRow, ParserBlacklistRow
from issuetracker_dagster.adapters.sql.upserts import insert_into, upsert
from issuetracker_dagster.model.rules import (
    BlacklistEntry,
    BlacklistMode,
    FetcherRule,
    check_fetcher_rule,
    check_place,
    host_forms,
)
from issuetracker_dagster.model.urls import url_hash


class SqlBlacklist:
    """What the port `ParserRules` says of refused links."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self) -> Sequence[BlacklistEntry]:
        query = select(ParserBlacklistRow.__table__).order_by(ParserBlacklistRow.entry_id)
        with reading(self._engine) as connection:
            return [
                BlacklistEntry(
                    host_pattern=row["host_pattern"],
                    path_pattern=row["path_pattern"],
                    mode=BlacklistMode(row["mode"]),
                    source=row["source"],
                    entry_id=row["entry_id"],
                )
                for row in connection.execute(query).mappings()
            ]

    def add(self, entry: BlacklistEntry) -> bool:
        check_place(entry.host_pattern, entry.path_pattern)
        values = {
            "entry_hash": _name(entry.host_pattern, entry.path_pattern),
            "host_pattern": entry.host_pattern,
            "path_pattern": entry.path_pattern,
            "mode": entry.mode.value,
            "source": entry.source,
        }
        with writing(self._engine) as connection:
            added = insert_into(connection, ParserBlacklistRow).values(**values).on_conflict_do_nothing()
            return connection.execute(added.returning(ParserBlacklistRow.entry_id)).scalar_one_or_none() is not None

    def remove(self, host_pattern: str, path_pattern: str) -> bool:
        named = ParserBlacklistRow.entry_hash == _name(host_pattern, path_pattern)
        with writing(self._engine) as connection:
            gone = delete(ParserBlacklistRow).where(named).returning(ParserBlacklistRow.entry_id)
            return bool(connection.execute(gone).all())


class SqlFetcherRules:
    """What the port `ParserRules` says of the pace of hosts."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def nearest(self, host: str) -> FetcherRule | None:
        forms = host_forms(host)
        query = select(FetcherRuleRow.__table__).where(FetcherRuleRow.host_pattern.in_(forms))
        with reading(self._engine) as connection:
            found = {row["host_pattern"]: row for row in connection.execute(query).mappings()}
        best = next((found[form] for form in forms if form in found), None)
        return None if best is None else FetcherRule(**best)

    def save(self, rule: FetcherRule) -> None:
        check_fetcher_rule(rule)
        with writing(self._engine) as connection:
            connection.execute(upsert(connection, FetcherRuleRow, msgspec.structs.asdict(rule), ["host_pattern"]))


def _name(host_pattern: str, path_pattern: str) -> str:
    # A line break can't be in a host, so no two entries give the same text.
    return url_hash(f"{host_pattern}\n{path_pattern}")

"""Rules by which pages are read, fetched and refused, and the snapshots of their priorities."""

from collections.abc import Sequence

import msgspec
from sqlalchemy import ColumnElement, Connection, Engine, RowMapping, Select, and_, delete, func, select, update

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_rules import (
    FetcherRuleRow,
    ParserBlacklistRow,
    ParserRuleRow,
    RuleSnapshotRow,
)
from issuetracker_dagster.adapters.sql.upserts import insert_into, upsert
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import (
    BlacklistEntry,
    BlacklistMode,
    FetcherRule,
    ParserRule,
    PriorityRule,
    SelectorSpec,
    check_fetcher_rule,
    check_rule,
    host_forms,
)
from issuetracker_dagster.model.urls import url_hash
from issuetracker_dagster.ports.rules import RuleSnapshot

KEPT_SNAPSHOTS = 100
_WRITE_TRIES = 5
_Selectors = dict[str, SelectorSpec]


class SqlParserRules:
    """The port `ParserRules`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def for_host(self, host: str, target_type: TargetType) -> Sequence[ParserRule]:
        forms = host_forms(host)
        query = select(ParserRuleRow.__table__).where(
            ParserRuleRow.host_pattern.in_(forms),
            ParserRuleRow.target_type == target_type.value,
            ParserRuleRow.enabled,
        )
        with reading(self._engine) as connection:
            rules = [_parser_rule(row) for row in connection.execute(query).mappings()]
        return sorted(rules, key=lambda r: (forms.index(r.host_pattern), -len(r.path_pattern), -r.version, r.rule_id))

    def priority_rules(self, limit: int) -> Sequence[PriorityRule]:
        one = (ParserRuleRow.host_pattern, ParserRuleRow.path_pattern, ParserRuleRow.target_type)
        # A successor keeps the place of the rule's first version, enabled or not.
        place = func.min(ParserRuleRow.rule_id).over(partition_by=one).label("place")
        row = (*one[:2], ParserRuleRow.crawl_priority, ParserRuleRow.rule_id, ParserRuleRow.enabled)
        placed = select(*row, *one[2:], ParserRuleRow.version, place).subquery()
        rule = (placed.c.host_pattern, placed.c.path_pattern, placed.c.target_type)
        age = func.row_number().over(partition_by=rule, order_by=placed.c.version.desc()).label("age")
        enabled = select(*placed.c, age).where(placed.c.enabled).subquery()
        query = select(enabled).where(enabled.c.age == 1).order_by(enabled.c.place).limit(limit)
        with reading(self._engine) as connection:
            return [
                PriorityRule(
                    host=found["host_pattern"],
                    path=found["path_pattern"],
                    priority=Priority(found["crawl_priority"]),
                    rule_id=found["rule_id"],
                )
                for found in connection.execute(query).mappings()
            ]

    def save(self, rule: ParserRule) -> ParserRule:
        check_rule(rule)
        for _ in range(_WRITE_TRIES):
            with writing(self._engine) as connection:
                stored = _save_version(connection, rule)
            if stored is not None:
                return stored
        raise TransientError(f"other writers kept saving versions of the rule for {rule.host_pattern!r}")

    def set_priority(self, rule_id: int, crawl_priority: int) -> None:
        with writing(self._engine) as connection:
            one = connection.execute(select(ParserRuleRow.__table__).where(ParserRuleRow.rule_id == rule_id))
            row = one.mappings().one_or_none()
            if row is None:
                raise PermanentError(f"there is no parser rule {rule_id}", code="invalid_rule")
            rule = msgspec.structs.replace(_parser_rule(row), crawl_priority=crawl_priority)
            check_rule(rule)
            connection.execute(update(ParserRuleRow).where(_same_rule(rule)).values(crawl_priority=crawl_priority))

    def blacklist(self) -> Sequence[BlacklistEntry]:
        query = select(ParserBlacklistRow.__table__).order_by(ParserBlacklistRow.entry_id)
        with reading(self._engine) as connection:
            return [
                BlacklistEntry(
                    host_pattern=row["host_pattern"],
                    path_pattern=row["path_pattern"],
                    mode=BlacklistMode(row["mode"]),
                    source=row["source"],
                )
                for row in connection.execute(query).mappings()
            ]

    def add_to_blacklist(self, entry: BlacklistEntry) -> None:
        values = {
            # A line break can't be in a host, so no two entries give the same text.
            "entry_hash": url_hash(f"{entry.host_pattern}\n{entry.path_pattern}"),
            "host_pattern": entry.host_pattern,
            "path_pattern": entry.path_pattern,
            "mode": entry.mode.value,
            "source": entry.source,
        }
        with writing(self._engine) as connection:
            connection.execute(insert_into(connection, ParserBlacklistRow).values(**values).on_conflict_do_nothing())

    def fetcher_rule(self, host: str) -> FetcherRule | None:
        forms = host_forms(host)
        query = select(FetcherRuleRow.__table__).where(FetcherRuleRow.host_pattern.in_(forms))
        with reading(self._engine) as connection:
            found = {row["host_pattern"]: row for row in connection.execute(query).mappings()}
        best = next((found[form] for form in forms if form in found), None)
        return None if best is None else FetcherRule(**best)

    def save_fetcher_rule(self, rule: FetcherRule) -> None:
        check_fetcher_rule(rule)
        with writing(self._engine) as connection:
            connection.execute(upsert(connection, FetcherRuleRow, msgspec.structs.asdict(rule), ["host_pattern"]))


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
        if row is None:
            return None
        return RuleSnapshot(
            version=row["version"],
            fingerprint=row["fingerprint"],
            rules=msgspec.convert(row["rules"], tuple[PriorityRule, ...]),
            created_ms=row["created_ms"],
        )

    def save(self, fingerprint: str, rules: Sequence[PriorityRule], created_ms: int) -> int:
        for _ in range(_WRITE_TRIES):
            with writing(self._engine) as connection:
                latest = connection.execute(_latest_snapshot()).mappings().one_or_none()
                if latest is not None and latest["fingerprint"] == fingerprint:
                    return int(latest["version"])
                version = 1 if latest is None else int(latest["version"]) + 1
                values = {
                    "version": version,
                    "fingerprint": fingerprint,
                    "rules": msgspec.to_builtins(rules),
                    "created_ms": created_ms,
                }
                added = insert_into(connection, RuleSnapshotRow).values(**values).on_conflict_do_nothing()
                if connection.execute(added.returning(RuleSnapshotRow.version)).all():
                    old = delete(RuleSnapshotRow).where(RuleSnapshotRow.version <= version - KEPT_SNAPSHOTS)
                    connection.execute(old)
                    return version
        raise TransientError("other writers kept saving snapshots of the priority rules")


def _latest_snapshot() -> Select[tuple[object, ...]]:
    return select(*RuleSnapshotRow.__table__.columns).order_by(RuleSnapshotRow.version.desc()).limit(1)


def _save_version(connection: Connection, rule: ParserRule) -> ParserRule | None:
    """The rule as stored; None when another writer stored that version first."""
    versions = select(ParserRuleRow.__table__).where(_same_rule(rule)).order_by(ParserRuleRow.version.desc()).limit(1)
    row = connection.execute(versions).mappings().one_or_none()
    latest = None if row is None else _parser_rule(row)
    if latest is not None:
        if (latest.selectors, latest.options, latest.enabled) == (rule.selectors, rule.options, rule.enabled):
            return latest
        rule = msgspec.structs.replace(rule, version=latest.version + 1, crawl_priority=latest.crawl_priority)
    else:
        rule = msgspec.structs.replace(rule, version=1)
    values = {name: value for name, value in msgspec.to_builtins(rule).items() if name != "rule_id"}
    added = insert_into(connection, ParserRuleRow).values(**values).on_conflict_do_nothing()
    rule_id = connection.execute(added.returning(ParserRuleRow.rule_id)).scalar_one_or_none()
    return None if rule_id is None else msgspec.structs.replace(rule, rule_id=rule_id)


def _same_rule(rule: ParserRule) -> ColumnElement[bool]:
    return and_(
        ParserRuleRow.host_pattern == rule.host_pattern,
        ParserRuleRow.path_pattern == rule.path_pattern,
        ParserRuleRow.target_type == rule.target_type.value,
    )


def _parser_rule(row: RowMapping) -> ParserRule:
    try:
        selectors = msgspec.convert(row["selectors"], _Selectors)
        options = msgspec.convert(row["options"], dict[str, str])
    except msgspec.ValidationError as error:
        # People edit this table; what they wrote must be named, not blamed on a page.
        raise PermanentError(f"parser rule {row['rule_id']} can't be read: {error}", code="invalid_rule") from None
    return ParserRule(
        rule_id=row["rule_id"],
        host_pattern=row["host_pattern"],
        path_pattern=row["path_pattern"],
        target_type=TargetType(row["target_type"]),
        version=row["version"],
        enabled=row["enabled"],
        selectors=selectors,
        options=options,
        crawl_priority=row["crawl_priority"],
    )

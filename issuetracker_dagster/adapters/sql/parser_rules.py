"""Rules by which pages are read and links are judged."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Engine, Subquery, Text, cast, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute

from issuetracker_dagster.adapters.sql.blacklist import SqlBlacklist, SqlFetcherRules
from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.rule_versions import (
    Overtaken,
    any_rule,
    change,
    grouped,
    hold_table,
    key_of,
    make_so,
    parser_rule,
    save_next,
    versions,
)
from issuetracker_dagster.adapters.sql.tables_rules import ParserRuleRow
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import (
    BlacklistEntry,
    FetcherRule,
    ParserRule,
    PriorityRule,
    check_rule,
    host_forms,
    in_force,
)

_WRITE_TRIES = 5
T = TypeVar("T")


class SqlParserRules:
    """The port `ParserRules`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._blacklist = SqlBlacklist(engine)
        self._fetcher_rules = SqlFetcherRules(engine)

    def for_host(self, host: str, target_type: TargetType) -> Sequence[ParserRule]:
        forms = host_forms(host)
        query = select(ParserRuleRow.__table__).where(
            ParserRuleRow.host_pattern.in_(forms),
            ParserRuleRow.target_type == target_type.value,
            ParserRuleRow.enabled,
        )
        with reading(self._engine) as connection:
            rules = [parser_rule(row) for row in connection.execute(query).mappings()]
        return sorted(rules, key=lambda r: (forms.index(r.host_pattern), -len(r.path_pattern), -r.version, r.rule_id))

    def priority_rules(self, limit: int) -> Sequence[PriorityRule]:
        used = _enabled(ParserRuleRow.crawl_priority, ParserRuleRow.rule_id)
        query = select(used).where(used.c.age == 1).order_by(used.c.place).limit(limit)
        with reading(self._engine) as connection:
            return [
                PriorityRule(
                    host=found["host_pattern"],
                    path=found["path_pattern"],
                    priority=_priority(found["crawl_priority"]),
                    rule_id=found["rule_id"],
                )
                for found in connection.execute(query).mappings()
            ]

    def with_options(self, names: Sequence[str]) -> Sequence[tuple[str, str, Mapping[str, str]]]:
        used = _enabled(ParserRuleRow.options)
        # What only looks like the name of one is left out below.
        may_have = or_(*(cast(used.c.options, Text).contains(f'"{name}"', autoescape=True) for name in names))
        query = select(used).where(used.c.age == 1, may_have).order_by(used.c.place)
        with reading(self._engine) as connection:
            found = connection.execute(query).mappings().all()
        read = ((row["host_pattern"], row["path_pattern"], _options(row["options"])) for row in found)
        return [(host, path, options) for host, path, options in read if not options.keys().isdisjoint(names)]

    def all(self) -> Sequence[ParserRule]:
        query = select(ParserRuleRow.__table__).order_by(ParserRuleRow.rule_id)
        with reading(self._engine) as connection:
            rows = [any_rule(row) for row in connection.execute(query).mappings()]
        return [in_force(versions) for versions in grouped(rows)]

    def get(self, rule_id: int) -> ParserRule | None:
        with reading(self._engine) as connection:
            found = versions(connection, rule_id, parser_rule)
        return in_force(found) if found else None

    def versions(self, rule_id: int) -> Sequence[ParserRule]:
        with reading(self._engine) as connection:
            return versions(connection, rule_id, any_rule)

    def set_enabled(self, rule_id: int, *, enabled: bool) -> None:
        with writing(self._engine) as connection:
            change(connection, key_of(connection, rule_id), enabled=enabled)

    def set_priority(self, rule_id: int, crawl_priority: int) -> None:
        with writing(self._engine) as connection:
            host, path, kind = key = key_of(connection, rule_id)
            check_rule(
                ParserRule(
                    host_pattern=host, path_pattern=path, target_type=TargetType(kind), crawl_priority=crawl_priority
                )
            )
            change(connection, key, crawl_priority=crawl_priority)

    def save(self, rule: ParserRule) -> ParserRule:
        check_rule(rule)
        for left in reversed(range(_WRITE_TRIES)):
            try:
                with writing(self._engine) as connection:
                    return save_next(connection, rule)
            except Overtaken:
                if not left:
                    raise
        raise AssertionError("unreachable")

    def apply(self, rules: Sequence[ParserRule]) -> None:
        for rule in rules:
            check_rule(rule)
        with writing(self._engine) as connection:
            hold_table(connection)
            make_so(connection, rules)

    def blacklist(self) -> Sequence[BlacklistEntry]:
        return self._blacklist.all()

    def add_to_blacklist(self, entry: BlacklistEntry) -> bool:
        return self._blacklist.add(entry)

    def remove_from_blacklist(self, host_pattern: str, path_pattern: str) -> bool:
        return self._blacklist.remove(host_pattern, path_pattern)

    def fetcher_rule(self, host: str) -> FetcherRule | None:
        return self._fetcher_rules.nearest(host)

    def save_fetcher_rule(self, rule: FetcherRule) -> None:
        self._fetcher_rules.save(rule)


def _enabled(*columns: InstrumentedAttribute[Any]) -> Subquery:
    """Enabled versions with these columns, host and path. The newest of a rule has the age 1; `place` orders rules as
    they were saved.
    """
    one = (ParserRuleRow.host_pattern, ParserRuleRow.path_pattern, ParserRuleRow.target_type)
    # A successor keeps the place of the rule's first version, enabled or not.
    place = func.min(ParserRuleRow.rule_id).over(partition_by=one).label("place")
    placed = select(*one, *columns, ParserRuleRow.enabled, ParserRuleRow.version, place).subquery()
    rule = (placed.c.host_pattern, placed.c.path_pattern, placed.c.target_type)
    age = func.row_number().over(partition_by=rule, order_by=placed.c.version.desc()).label("age")
    return select(*placed.c, age).where(placed.c.enabled).subquery()


def _options(stored: Any) -> dict[str, str]:
    # Somebody may have edited them in SQL, and what is none mustn't cost the options of all other rules.
    return {name: said for name, said in stored.items() if isinstance(said, str)} if isinstance(stored, dict) else {}


def _priority(value: Any) -> Any:
    # What no priority is comes as it is: who loads the rules refuses that one by its id, and none of the others.
    return Priority(value) if value in set(Priority) else value

"""The versions of one parser rule inside a transaction: reading, adding and changing them together."""

from collections.abc import Callable, Mapping, Sequence

import msgspec
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, bindparam, insert, select, text, update

from issuetracker_dagster.adapters.sql.tables_rules import ParserRuleRow
from issuetracker_dagster.adapters.sql.upserts import insert_into
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec, in_force

_Selectors = dict[str, SelectorSpec]
_Key = tuple[str, str, str]
_VERSION = ("host_pattern", "path_pattern", "target_type", "version")
_STATE = ("crawl_priority", "enabled")
"""What one command sets for every version of a rule."""


class Overtaken(TransientError):
    """Another writer stored that version first; the transaction has to begin anew."""


def versions(connection: Connection, rule_id: int, read: Callable[[RowMapping], ParserRule]) -> list[ParserRule]:
    """Every version of the rule that has one of that id, oldest first; empty when there is none.

    `read` is `parser_rule`, or `any_rule` where those that can't be read are wanted, too.
    """
    one = select(ParserRuleRow.__table__).where(ParserRuleRow.rule_id == rule_id).subquery()
    names = ("host_pattern", "path_pattern", "target_type")
    same = and_(*(getattr(ParserRuleRow, name) == one.c[name] for name in names))
    query = select(ParserRuleRow.__table__).join(one, same).order_by(ParserRuleRow.version)
    return [read(row) for row in connection.execute(query).mappings()]


def hold_table(connection: Connection) -> None:
    """Let nobody else write rules until the transaction ends; readers go on. SQLite has one writer anyway."""
    if connection.dialect.name == "postgresql":
        # Stronger than what a single writer holds from its first row on, so that neither can wait for the other.
        connection.execute(text(f"LOCK TABLE {ParserRuleRow.__tablename__} IN EXCLUSIVE MODE"))


def save_next(connection: Connection, rule: ParserRule) -> ParserRule:
    """The rule as stored: as the next version, or the latest one when it reads alike. Raises `Overtaken`."""
    known = _held(connection, rule)
    if not known:
        return _insert(connection, msgspec.structs.replace(rule, version=1))
    latest = known[-1]
    if (latest.selectors, latest.options, latest.enabled) == (rule.selectors, rule.options, rule.enabled):
        return latest
    version = latest.version + 1
    return _insert(connection, msgspec.structs.replace(rule, version=version, crawl_priority=latest.crawl_priority))


def make_so(connection: Connection, rules: Sequence[ParserRule]) -> None:
    """Let these be what is in force for their hosts, paths and types. The table must be held.

    A few statements however many rules: on SQLite nobody else writes meanwhile, and waits ten seconds for it at most.
    Raises `PermanentError` when a rule that is there can't be read.
    """
    stored = connection.execute(select(ParserRuleRow.__table__).order_by(ParserRuleRow.version)).mappings()
    known = {_key(found[0]): found for found in grouped([any_rule(row) for row in stored])}
    added: list[ParserRule] = []
    changed: dict[_Key, list[ParserRule]] = {}
    for rule in rules:
        before = known.get(_key(rule), [])
        for version in before:
            if version.fault:
                raise PermanentError(version.fault, code="invalid_rule")
        now = in_force(before) if before else rule
        is_new = not before or (now.selectors, now.options) != (rule.selectors, rule.options)
        if is_new:
            added.append(msgspec.structs.replace(rule, version=before[-1].version + 1 if before else 1))
            before = [*before, added[-1]]
        switched = {"enabled": rule.enabled} if now.enabled is not rule.enabled else {}
        after = [msgspec.structs.replace(each, crawl_priority=rule.crawl_priority, **switched) for each in before]
        if after != before:
            changed[_key(rule)] = after
        known[_key(rule)] = after
    if added:
        connection.execute(insert(ParserRuleRow), [_values(rule) for rule in added])
    if changed:
        one = and_(*(getattr(ParserRuleRow, name) == bindparam(f"its_{name}") for name in _VERSION))
        state = update(ParserRuleRow).where(one).values({name: bindparam(f"its_{name}") for name in _STATE})
        rows = [_values(version) for versions in changed.values() for version in versions]
        connection.execute(state, [{f"its_{name}": row[name] for name in (*_VERSION, *_STATE)} for row in rows])


def key_of(connection: Connection, rule_id: int) -> _Key:
    """Host, path and type of the rule of which that is a version; raises `PermanentError` when there is none.

    Nothing else of the row is read, so that a rule whose selectors are broken can still be switched off.
    """
    columns = (ParserRuleRow.host_pattern, ParserRuleRow.path_pattern, ParserRuleRow.target_type)
    row = connection.execute(select(*columns).where(ParserRuleRow.rule_id == rule_id)).one_or_none()
    if row is None:
        raise PermanentError(f"there is no parser rule {rule_id}", code="invalid_rule")
    return row[0], row[1], row[2]


def change(connection: Connection, key: _Key, **values: object) -> None:
    """Set columns of every version of a rule, also of one that is being added at this moment."""
    connection.execute(select(ParserRuleRow.rule_id).where(_same(key)).with_for_update())
    connection.execute(update(ParserRuleRow).where(_same(key)).values(**values))


def grouped(rules: Sequence[ParserRule]) -> list[list[ParserRule]]:
    """Versions of the same rule together, in the order of their first ones."""
    found: dict[_Key, list[ParserRule]] = {}
    for rule in rules:
        found.setdefault(_key(rule), []).append(rule)
    return list(found.values())


def parser_rule(row: RowMapping) -> ParserRule:
    """The rule of a row; raises `PermanentError` that names it when it can't be read."""
    try:
        selectors = msgspec.convert(row["selectors"], _Selectors)
        options = msgspec.convert(row["options"], dict[str, str])
    except msgspec.ValidationError as error:
        # People edit this table; what they wrote must be named, not blamed on a page.
        raise PermanentError(f"parser rule {row['rule_id']} can't be read: {error}", code="invalid_rule") from None
    return _with(row, selectors, options)


def any_rule(row: RowMapping) -> ParserRule:
    """The rule of a row; one that can't be read says why."""
    try:
        return parser_rule(row)
    except PermanentError as error:
        return _with(row, {}, {}, fault=str(error))


def _with(
    row: RowMapping, selectors: Mapping[str, SelectorSpec], options: Mapping[str, str], fault: str = ""
) -> ParserRule:
    return ParserRule(
        rule_id=row["rule_id"],
        host_pattern=row["host_pattern"],
        path_pattern=row["path_pattern"],
        target_type=TargetType(row["target_type"]),
        version=row["version"],
        enabled=row["enabled"],
        selectors=dict(selectors),
        options=dict(options),
        crawl_priority=row["crawl_priority"],
        fault=fault,
    )


def _held(connection: Connection, rule: ParserRule) -> list[ParserRule]:
    """Every version, oldest first, which nobody changes until the transaction ends."""
    query = select(ParserRuleRow.__table__).where(_same(_key(rule))).order_by(ParserRuleRow.version)
    return [parser_rule(row) for row in connection.execute(query.with_for_update()).mappings()]


def _insert(connection: Connection, rule: ParserRule) -> ParserRule:
    added = insert_into(connection, ParserRuleRow).values(**_values(rule)).on_conflict_do_nothing()
    rule_id = connection.execute(added.returning(ParserRuleRow.rule_id)).scalar_one_or_none()
    if rule_id is None:
        raise Overtaken(f"other writers kept saving versions of the rule for {rule.host_pattern!r}")
    return msgspec.structs.replace(rule, rule_id=rule_id)


def _values(rule: ParserRule) -> dict[str, object]:
    return {name: value for name, value in msgspec.to_builtins(rule).items() if name not in ("rule_id", "fault")}


def _key(rule: ParserRule) -> _Key:
    return rule.host_pattern, rule.path_pattern, rule.target_type.value


def _same(key: _Key) -> ColumnElement[bool]:
    host, path, kind = key
    return and_(
        ParserRuleRow.host_pattern == host,
        ParserRuleRow.path_pattern == path,
        ParserRuleRow.target_type == kind,
    )

"""The index of the DLQ: what is there, why, what became of it, and which pages it still needs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from sqlalchemy import (
    ColumnElement,
    CursorResult,
    Engine,
    RowMapping,
    Select,
    delete,
    func,
    or_,
    select,
    update,
)

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_traces import DeadLetterRow
from issuetracker_dagster.adapters.sql.upserts import insert_into
from issuetracker_dagster.model.letters import Indexed, Letter, LetterFilter, LetterState, decode_record
from issuetracker_dagster.model.message import Record

T = TypeVar("T")

_AT_ONCE = 500
_PAIRS = 1_000
_REMOVED_AT_ONCE = 5_000
"""Rows of one delete: one over months of letters would hold up every other writer."""
_FACTS = [column for column in DeadLetterRow.__table__.columns if column.name in Letter.__struct_fields__]


class SqlDeadLetterIndex:
    """The port `DeadLetterIndex`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, letters: Sequence[Indexed]) -> int:
        if not letters:
            return 0
        with writing(self._engine) as connection:
            added = insert_into(connection, DeadLetterRow).on_conflict_do_nothing()
            ids = connection.execute(added.returning(DeadLetterRow.letter_id), [_values(each) for each in letters])
            return len(ids.all())

    def get(self, letter_id: int) -> Letter | None:
        return next(iter(self._read(select(*_FACTS).where(DeadLetterRow.letter_id == letter_id))), None)

    def newest(self, wanted: LetterFilter, limit: int) -> Sequence[Letter]:
        order = DeadLetterRow.at_ms.desc(), DeadLetterRow.letter_id.desc()
        return self._read(select(*_FACTS).where(*_conditions(wanted)).order_by(*order).limit(limit))

    def after(self, wanted: LetterFilter, letter_id: int, limit: int) -> Sequence[Letter]:
        found = select(*_FACTS).where(*_conditions(wanted), DeadLetterRow.letter_id > letter_id)
        return self._read(found.order_by(DeadLetterRow.letter_id).limit(limit))

    def kept(self, letter_ids: Collection[int]) -> Mapping[int, Record]:
        found: dict[int, Record] = {}
        with reading(self._engine) as connection:
            for some in _slices(sorted(set(letter_ids))):
                query = select(DeadLetterRow.letter_id, DeadLetterRow.record).where(DeadLetterRow.letter_id.in_(some))
                for letter_id, record in connection.execute(query):
                    if record:
                        found[letter_id] = decode_record(record)
        return found

    def count(self, wanted: LetterFilter | None = None) -> int:
        query = select(func.count()).select_from(DeadLetterRow)
        with reading(self._engine) as connection:
            return connection.execute(query.where(*_conditions(wanted)) if wanted else query).scalar_one()

    def tally(self, wanted: LetterFilter) -> Mapping[tuple[str, str], int]:
        pair = DeadLetterRow.stage, DeadLetterRow.reason
        query = select(*pair, func.count()).where(*_conditions(wanted)).group_by(*pair)
        with reading(self._engine) as connection:
            found = connection.execute(query.order_by(func.count().desc()).limit(_PAIRS))
            return {(stage, reason): count for stage, reason, count in found}

    def mark(self, letter_ids: Collection[int], state: LetterState, at_ms: int) -> int:
        marked = 0
        with writing(self._engine) as connection:
            for some in _slices(sorted(set(letter_ids))):
                still_open = DeadLetterRow.letter_id.in_(some), DeadLetterRow.state == LetterState.OPEN.value
                row = update(DeadLetterRow).where(*still_open).values(state=state.value, state_ms=at_ms)
                result: CursorResult[tuple[()]] = connection.execute(row)
                marked += result.rowcount
        return marked

    def purge(self, wanted: LetterFilter, at_ms: int) -> int:
        meant = msgspec.structs.replace(wanted, states=(LetterState.OPEN,))
        row = update(DeadLetterRow).where(*_conditions(meant))
        with writing(self._engine) as connection:
            result: CursorResult[tuple[()]] = connection.execute(
                row.values(state=LetterState.PURGED.value, state_ms=at_ms)
            )
            return result.rowcount

    def remove(self, before_ms: int, limit: int = 0) -> int:
        removed = 0
        while True:
            size = min(_REMOVED_AT_ONCE, limit - removed) if limit else _REMOVED_AT_ONCE
            old = select(DeadLetterRow.letter_id).where(DeadLetterRow.at_ms < before_ms).limit(size)
            with writing(self._engine) as connection:
                rows: CursorResult[tuple[()]] = connection.execute(
                    delete(DeadLetterRow).where(DeadLetterRow.letter_id.in_(old))
                )
            removed += rows.rowcount
            if rows.rowcount < size or removed == limit:
                return removed

    def _read(self, query: Select[tuple[object, ...]]) -> list[Letter]:
        with reading(self._engine) as connection:
            return [_letter(row) for row in connection.execute(query).mappings()]


def _conditions(wanted: LetterFilter) -> Iterator[ColumnElement[bool]]:
    """What `LetterFilter.admits` says, in SQL."""
    if wanted.stages:
        yield DeadLetterRow.stage.in_(wanted.stages)
    if wanted.reasons:
        yield DeadLetterRow.reason.in_(wanted.reasons)
    if wanted.host:
        below = wanted.host.startswith("*.")
        yield (
            DeadLetterRow.host.endswith(wanted.host[1:], autoescape=True)
            if below
            else (DeadLetterRow.host == wanted.host)
        )
    if wanted.url:
        yield DeadLetterRow.url == wanted.url
    if wanted.since_ms:
        yield DeadLetterRow.at_ms >= wanted.since_ms
    if wanted.before_ms:
        yield DeadLetterRow.at_ms < wanted.before_ms
    if wanted.states:
        yield DeadLetterRow.state.in_([state.value for state in wanted.states])
    if wanted.letter_ids:
        yield DeadLetterRow.letter_id.in_(wanted.letter_ids)
    if wanted.named:
        root = DeadLetterRow.identity.startswith(f"{wanted.named}:", autoescape=True)
        yield or_(DeadLetterRow.identity == wanted.named, root)


def _values(each: Indexed) -> dict[str, object]:
    values = {name: value for name, value in msgspec.structs.asdict(each.letter).items() if name != "letter_id"}
    return {**values, "state": each.letter.state.value, "name": each.name, "record": each.record}


def _letter(row: RowMapping) -> Letter:
    values = {name: row[name] for name in Letter.__struct_fields__}
    return Letter(**{**values, "state": LetterState(row["state"])})


def _slices(values: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many at a time as a statement can bind."""
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]

"""The index of the DLQ: what is there, why, and which pages it still needs."""

from collections.abc import Collection

from sqlalchemy import Engine, delete, func, select

from issuetracker_dagster.adapters.sql.engine import reading, writing
from issuetracker_dagster.adapters.sql.tables_traces import DeadLetterRow
from issuetracker_dagster.adapters.sql.upserts import insert_into
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.stage import Stage

_IDS_AT_ONCE = 500


class SqlDeadLetterIndex:
    """The port `DeadLetterIndex`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def record(self, message: Message, stage: Stage, reason: str, error: str, at_ms: int) -> None:
        facts = payload_facts(message.value)
        values = {
            "identity": message.identity,
            "stage": stage.value,
            "reason": reason,
            "error": error,
            "priority": int(message.headers.priority),
            "url": facts.url,
            "raw_id": facts.raw_id,
            "at_ms": at_ms,
        }
        with writing(self._engine) as connection:
            connection.execute(insert_into(connection, DeadLetterRow).values(**values).on_conflict_do_nothing())

    def count(self) -> int:
        with reading(self._engine) as connection:
            return connection.execute(select(func.count()).select_from(DeadLetterRow)).scalar_one()

    def forget(self, identities: Collection[str]) -> int:
        wanted = sorted(set(identities))
        forgotten = 0
        with writing(self._engine) as connection:
            for start in range(0, len(wanted), _IDS_AT_ONCE):
                some = DeadLetterRow.identity.in_(wanted[start : start + _IDS_AT_ONCE])
                forgotten += connection.execute(delete(DeadLetterRow).where(some)).rowcount
        return forgotten

    def purge(self, before_ms: int) -> int:
        with writing(self._engine) as connection:
            return connection.execute(delete(DeadLetterRow).where(DeadLetterRow.at_ms < before_ms)).rowcount

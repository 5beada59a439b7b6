"""What groups have committed and whether anybody is in them, each in one round trip."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition
from kafka.errors import GroupIdNotFoundError, RetriableError
from kafka.structs import OffsetAndMetadata

from issuetracker_dagster.adapters.kafka.clients import opened
from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.ports.topics import Position, TopicPartition

T = TypeVar("T")

_ASK_AGAIN_AFTER_S = 0.1


class _Groups(Protocol):
    """What is used of the admin client."""

    def list_group_offsets(
        self, group_specs: dict[str, None]
    ) -> Mapping[str, Mapping[KafkaPartition, OffsetAndMetadata]]: ...

    def describe_groups(self, group_ids: Sequence[str]) -> Mapping[str, Mapping[str, Sequence[object]]]: ...

    def close(self) -> None: ...


class GroupOffsets:
    """Reads positions and memberships; connects at the first call. Not thread-safe; errors are kafka-python's."""

    def __init__(self, connection: KafkaConnection, *, timeout_ms: int) -> None:
        self._connection = connection
        self._timeout_ms = timeout_ms
        self._admin: _Groups | None = None

    def committed(self, group: str) -> Mapping[TopicPartition, Position]:
        """Positions by short topic name, partitions without a commit left out.

        Asked again until `timeout_ms` have passed: unlike a consumer, this client gives up at once when a coordinator
        is still being chosen or a connection is just being made anew.
        """
        found = self._ask(lambda admin: admin.list_group_offsets({group: None})[group])
        return {
            (self._connection.short_name(partition.topic), partition.partition): Position(at.offset, at.metadata or "")
            for partition, at in found.items()
            if at.offset is not None and at.offset >= 0
        }

    def has_members(self, group: str) -> bool:
        """Whether the group has live members; one that doesn't exist has none."""
        try:
            return bool(self._ask(lambda admin: admin.describe_groups([group])[group]["members"]))
        except GroupIdNotFoundError:
            return False

    def _ask(self, question: Callable[[_Groups], T]) -> T:
        if self._admin is None:
            options = {**self._connection.client_options(), "request_timeout_ms": self._timeout_ms}
            self._admin = opened(KafkaAdminClient, options)
        deadline = time.monotonic() + self._timeout_ms / 1000
        while True:
            try:
                return question(self._admin)
            except RetriableError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_ASK_AGAIN_AFTER_S)

    def close(self) -> None:
        if self._admin is not None:
            self._admin.close()
            self._admin = None

"""Queue entries for measurements: over the three bands in turn, with a body of about 600 bytes or a real envelope."""

import secrets
from collections.abc import Callable

from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Origin, encode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry, queue_entry

BODY = b'{"v":1,"payload":"' + b"x" * 580 + b'"}'
NOW_MS = 1_750_000_000_000
PAYLOAD_BYTES = 600


def entries(count: int, first: int = 0) -> list[QueueEntry]:
    """Entries of one body."""
    return [
        QueueEntry(f"root-{number:012d}:0", Priority(number % 3 + 1), NOW_MS, BODY)
        for number in range(first, first + count)
    ]


def messages(
    count: int, priority: Callable[[int], Priority] = lambda number: Priority(number % 3 + 1)
) -> list[Message]:
    """Messages as they come from Kafka: every header of the journey, and a payload that can't be compressed."""
    return [_message(number, priority(number)) for number in range(count)]


def _message(number: int, priority: Priority) -> Message:
    root_id = secrets.token_hex(12)
    headers = Headers(
        root_id=root_id,
        priority=priority,
        trace_id=root_id,
        first_published_ms=NOW_MS + number,
    )
    origin = Origin("fetched", number % 8, number // 8, NOW_MS + number)
    return Message(headers, root_id.encode(), secrets.token_bytes(PAYLOAD_BYTES), origin)


def message_entry(root_id: str, priority: Priority) -> QueueEntry:
    """The entry of a message that is named by the caller, with an envelope of about 600 bytes."""
    message = Message(Headers(root_id=root_id, priority=priority, trace_id="t" * 24), None, b"x" * 450)
    return QueueEntry(message.identity, priority, 0, encode_envelope(message))


def queued(count: int) -> list[QueueEntry]:
    """The entries of `messages`."""
    return [queue_entry(message) for message in messages(count)]


def claim_id(number: object) -> str:
    """As long as those of real workers."""
    return f"6f0c3d52-9a1b-4a53-8f3e-2d9d1f1c7a10:{number}"

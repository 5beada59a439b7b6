"""What the health probe remembers from one tick to the next, as text that Dagster keeps: it outlives every process."""

from collections.abc import Mapping

import msgspec

from issuetracker_dagster.model.losses import Memory


class ProbeMemory(Memory, frozen=True):
    """What waited in Redis and was lost of it; which fields hosts lost and when that was noticed; and the tick that
    wrote it, by its time."""

    lost_fields: Mapping[str, Mapping[str, int]] = {}
    tick: int = 0


def encode_probe(memory: ProbeMemory) -> str:
    """The memory as text."""
    return msgspec.json.encode(memory).decode()


def decode_probe(text: str) -> ProbeMemory:
    """Inverse of `encode_probe`; text of something else is an empty memory."""
    try:
        return msgspec.json.decode(text, type=ProbeMemory) if text else ProbeMemory()
    except (msgspec.MsgspecError, RecursionError):
        return ProbeMemory()

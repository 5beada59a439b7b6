"""What an intake commits beside an offset, so that a queue that was lost can be filled again from early enough."""

import msgspec


class Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is committed beside an offset: the queue's epoch and the oldest unsettled Kafka time (None: all settled).

    `holder` is the epoch of the intake lock under which it was committed.
    """

    epoch: str = ""
    oldest_ms: int | None = None
    at_ms: int = 0
    holder: int = 0


def read_note(metadata: str) -> Note | None:
    try:
        note = msgspec.json.decode(metadata, type=Note)
    except (msgspec.MsgspecError, RecursionError):
        return None  # committed in direct mode, or by hand: everything before it is settled
    return note if note.epoch else None

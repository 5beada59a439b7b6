"""How often the handling of a message was begun and never ended, which is how often its worker died."""

from collections.abc import Sequence
from typing import Protocol


class Starts(Protocol):
    """Counts by message identity, for what Kafka hands out and no lease counts. Raises `Unavailable`.

    A count outlives the process that wrote it, and is forgotten by itself a day after its last start.
    """

    def begin(
        self, identity: str, ended: Sequence[str] = (), withdrawn: Sequence[str] = (), *, most: int | None = None
    ) -> int:
        """First what `note` does, then count a start; returns the starts so far, this one included.

        When `most` starts or more are counted already, this one isn't: the answer is the same.
        """

    def note(self, ended: Sequence[str], withdrawn: Sequence[str]) -> None:
        """Forget what was ended, and take back one start of each that was withdrawn."""

    def close(self) -> None: ...

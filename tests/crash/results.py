"""What a cell of the crash matrix runs on, and what comes of it."""

from pathlib import Path

import msgspec

from tests.crash.arrows import Arrow, Blow
from tests.crash.scenes import ALLOWED


class Servers(msgspec.Struct, frozen=True):
    """The servers that all cells share, and a folder."""

    kafka: str
    redis: str
    folder: Path


class Result(msgspec.Struct, frozen=True):
    """What came of a cell. `lost` names ids, `amiss` rows; `log` is the folder with what the processes wrote."""

    arrow: Arrow
    blow: Blow
    lost: tuple[str, ...]
    strangers: tuple[tuple[str, str], ...]
    amiss: tuple[str, ...]
    repeated: int
    folder: Path
    problem: str = ""
    seconds: float = 0.0

    @property
    def is_fine(self) -> bool:
        """Whether nothing is lost, all is where it belongs, and no more was repeated than was in hand."""
        too_often = self.repeated > ALLOWED[self.arrow.scene]
        return not (self.problem or self.lost or self.strangers or self.amiss or too_often)

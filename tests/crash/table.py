"""The crash matrix as a page: written after a run, and read again by the test that holds it against the arrows."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.crash.arrows import ARROWS, MATRIX, SUITE, Blow
from tests.crash.results import Result
from tests.crash.scenes import ALLOWED, COUNT

PAGE = Path(__file__).resolve().parents[2] / "docs" / "crash-matrix.md"

_HEAD = f"""# What a crash costs

Written by `make crash-matrix`, which starts Kafka and Valkey and stops real processes exactly between two steps: a
process of {COUNT} messages gets the signal at the arrow, another one goes on, and a ledger of ids is read. Each cell is
**lost / repeated**: ids that never arrived where they belong, and records beyond the first of an id.

Nothing may be lost, and the database must hold each content once; both are 0 in every cell, or the test fails. Repeats
are the price of at least once: the last column says how many there may be at most, which is what the process had in
hand. How many there are differs from run to run. An intake commits each batch here; in operation it does so twice a
second while more lies ready, and a crash repeats as much.

These are all {len(MATRIX)} cells, by all signals. The test suite runs {len(SUITE)} of them, against the same bounds:
SIGKILL at each arrow, the other signals at one arrow of each process.

- **SIGKILL**: the process is gone at once.
- **SIGTERM** and **SIGINT twice**: a shift, a drain run and the job of a redrive end in order within their bounds. A
  publisher, an intake and a relay are broken off where they stand.
- **SIGSTOP, SIGCONT**: the process stands still until its leases and locks have run out and another one has done its
  work; then it goes on with what it takes for its own.

"""


def page(results: Sequence[Result]) -> str:
    """The page of a whole run."""
    columns = ["stopped", "between", *(blow.value for blow in Blow), "at most"]
    lines = [_row(columns), _row(["---"] * len(columns))]
    found = {(result.arrow, result.blow): result for result in results}
    for arrow in ARROWS:
        cells = [f"{len(one.lost)} / {one.repeated}" for blow in Blow if (one := found.get((arrow, blow)))]
        lines.append(_row([arrow.scene.value, arrow.name, *cells, str(ALLOWED[arrow.scene])]))
    return _HEAD + "\n".join(lines) + "\n"


def rows(text: str) -> Iterator[tuple[str, str, list[tuple[int, int]], int]]:
    """Scene, arrow, (lost, repeated) by blow, and the bound, of each row of a page."""
    for line in text.splitlines():
        words = [word.strip() for word in line.strip("|").split("|")]
        if len(words) == 3 + len(Blow) and words[-1].isdigit():
            cells = [re.fullmatch(r"(\d+) / (\d+)", word) for word in words[2:-1]]
            yield words[0], words[1], [(int(cell[1]), int(cell[2])) for cell in cells if cell], int(words[-1])


def _row(words: Sequence[str]) -> str:
    return "| " + " | ".join(words) + " |"

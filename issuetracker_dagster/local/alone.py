"""Who runs the pipeline of a home: one command at a time, and what another one is told meanwhile."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import family, state
from issuetracker_dagster.local.children import Identity
from issuetracker_dagster.local.report import Report, Step, silent

# Longer than SHIFT_DRAIN_TIMEOUT, so that runs finish what they hold.
STOP_GRACE_S = 30.0


@dataclass(frozen=True)
class Other:
    """The command that holds a home, and its process where that can be seen."""

    command: str
    identity: Identity | None

    @property
    def who(self) -> str:
        """How a text names it."""
        return f"`issuetracker {self.command}`, {f'pid {self.identity.pid}' if self.identity else 'not visible here'}"

    @property
    def end_it(self) -> str:
        """How a user ends it."""
        by_id = f" or run `kill {self.identity.pid}`" if self.identity else ""
        return f"press Ctrl-C in its terminal{by_id}"


@contextmanager
def alone(home: Path, report: Report = silent, command: str = "dev") -> Iterator[None]:
    """Be the only command that runs the pipeline of this home for the length of the block.

    What a killed one left running is ended first. Raises ConfigError, naming command and pid, when another one lives.
    """
    with state.locked(home, "dev") as handle:
        if handle is None:
            raise ConfigError(_refusal(home, command))
        sign(handle, command)
        left = family.members(home)
        if left:
            report(Step("dagster", "working", f"ending {len(left)} processes that a killed dev left behind"))
            family.end(home, grace_s=STOP_GRACE_S)
        yield


def sign(handle: IO[str], command: str) -> None:
    """Write into the lock who holds it; read only while it is held, so an old name does no harm."""
    handle.truncate(0)
    handle.write(command)
    handle.flush()


def other(home: Path) -> Other | None:
    """The command that holds this home now; None when there is none."""
    with state.locked(home, "dev") as handle:
        return None if handle is not None else _holding(home)


def _holding(home: Path) -> Other:
    return Other(state.signed(home, "dev") or "dev", state.holder(home, "dev"))


def _refusal(home: Path, command: str) -> str:
    found = _holding(home)
    if command == "down":
        return (
            f"The services of {home} are in use ({found.who}), which stops what it started at its end: {found.end_it}."
        )
    return (
        f"The pipeline already runs on {home} ({found.who}). Use that one, or end it: {found.end_it}; for a second one "
        "beside it, give ISSUETRACKER_HOME another folder."
    )

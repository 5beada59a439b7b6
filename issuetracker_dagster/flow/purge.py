"""Old things go: sweep after sweep, in short steps with pauses, so that nobody who writes has to wait.

Each step is complete in itself. A purge that is killed has lost nothing; the next one goes on with what is left.
"""

import logging
from collections.abc import Callable, Mapping, Sequence

import msgspec

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.model.history import Removed
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.history import Sweep

logger = logging.getLogger(__name__)

LEAST_PAUSE_S = 0.02
BUDGET_MS = 30 * 60_000
"""A first purge after months stops here; the next one goes on."""


class PurgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What went (in a dry run: what would go) by sweep, which sweeps couldn't be done and why, and what ended it."""

    removed: Mapping[str, Removed] = {}
    skipped: Mapping[str, str] = {}
    stopped: str = ""

    @property
    def total(self) -> Removed:
        return sum(self.removed.values(), Removed())


class Purger:
    """Runs sweeps. A sweep whose server is out is skipped; the others go on."""

    def __init__(self, clock: Clock, *, budget_ms: int = BUDGET_MS) -> None:
        self._clock = clock
        self._budget_ms = budget_ms

    def run(
        self,
        sweeps: Sequence[Sweep],
        *,
        dry_run: bool = False,
        told: Callable[[str, Removed], None] = lambda _, __: None,
        control: Callable[[], str | None] = lambda: None,
    ) -> PurgeReport:
        """Run every sweep to its end; `control` is asked before each step and ends it with its reason.

        The age of things is that at the start: what grows old meanwhile stays for the next purge.
        """
        now_ms = self._clock.now_ms()
        deadline = self._clock.monotonic() + self._budget_ms / 1000
        removed: dict[str, Removed] = {}
        skipped: dict[str, str] = {}

        def ended() -> str:
            return control() or ("its time is over" if self._clock.monotonic() > deadline else "")

        stopped = ""
        for sweep in sweeps:
            removed[sweep.name] = Removed()
            try:
                if dry_run:
                    removed[sweep.name] = sweep.count(now_ms)
                    continue
                while not (stopped := ended()):
                    began = self._clock.monotonic()
                    found = sweep.step(now_ms)
                    if found is None:
                        break
                    removed[sweep.name] += found
                    told(sweep.name, removed[sweep.name])
                    # As long as the step took: writers of the same file get at least every other moment.
                    self._clock.sleep(max(LEAST_PAUSE_S, self._clock.monotonic() - began))
            except TransientError as error:
                skipped[sweep.name] = str(error)
                logger.warning("purging %s: %s", sweep.name, error, extra=action("purge.skipped", sweep=sweep.name))
            if stopped:
                break
        return PurgeReport(removed=removed, skipped=skipped, stopped=stopped)

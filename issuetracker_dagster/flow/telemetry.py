"""What a process tells about its messages, on its way out: one thread that hands over figures and steps every few
seconds, so that nobody who works on messages waits for Redis or SQL on their behalf.
"""

import atexit
import logging
import threading
from collections.abc import Callable, Sequence

from issuetracker_dagster.errors import TransientError
from issuetracker_dagster.flow.meter import Meter
from issuetracker_dagster.flow.steps import Steps
from issuetracker_dagster.flow.trace_log import TraceLog
from issuetracker_dagster.model.readings import Batch
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.traces import TraceLine

logger = logging.getLogger(__name__)

FLUSH_EVERY_S = 5.0
CLOSE_S = 3.0


class Telemetry:
    """`steps` is what the flow tells; `start` it once, and `close` it, or let the end of the process do that.

    `add` is that of a `MetricStore`, `write` that of a `MessageTrace`.
    """

    def __init__(
        self, *, add: Callable[[Batch], None], write: Callable[[Sequence[TraceLine]], None], clock: Clock
    ) -> None:
        self._wake = threading.Event()
        self._stopping = False
        self._meter = Meter(add)
        self._trace = TraceLog(write, clock, dropped=self._count_dropped, wake=self._wake)
        self.steps = Steps(self._meter, self._trace, clock)
        self._failing: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)

    def start(self) -> None:
        """Hand over every few seconds from now on."""
        self._thread.start()
        atexit.register(self.close)

    def flush(self) -> None:
        """Hand over what there is now. Never raises for a server that is out: its part waits for the next flush."""
        self._try("metrics", self._meter.flush)
        self._try("the trace", self._trace.flush)

    def close(self, timeout_s: float = CLOSE_S) -> None:
        """Hand over a last time, for at most so long."""
        self._stopping = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        atexit.unregister(self.close)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            self._wake.wait(FLUSH_EVERY_S)
            self._wake.clear()
            is_last = self._stopping
            self.flush()

    def _count_dropped(self, lines: int) -> None:
        self._meter.count("issuetracker_trace_lines_dropped_total", amount=lines)

    def _try(self, what: str, flush: Callable[[], None]) -> None:
        try:
            flush()
        except TransientError as error:
            level = logging.DEBUG if what in self._failing else logging.WARNING
            self._failing.add(what)
            logger.log(level, "%s wait: %s", what, error, extra=action("telemetry.waits"))
        except Exception:
            # Whatever a bug here costs, it isn't the thread: all later figures would be missing.
            logger.exception("a bug while %s were handed over", what, extra=action("telemetry.bug"))
        else:
            self._failing.discard(what)

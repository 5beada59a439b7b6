"""What messages went through lately, in memory."""

import itertools
from collections import deque
from collections.abc import Sequence

from issuetracker_dagster.ports.traces import PublishedJob, TraceLine


class MemoryMessageTrace:
    """The port `MessageTrace`."""

    def __init__(self, cap: int = 10_000) -> None:
        self._lines: deque[TraceLine] = deque(maxlen=cap)

    def write(self, lines: Sequence[TraceLine]) -> None:
        self._lines.extend(lines)

    def of(self, root_or_trace_id: str, limit: int) -> Sequence[TraceLine]:
        newest = (line for line in reversed(self._lines) if root_or_trace_id in (line.root_id, line.trace_id))
        latest = list(itertools.islice(newest, limit))
        latest.reverse()
        return sorted(latest, key=lambda line: line.at_ms)


class MemoryPublishedRecent:
    """The port `PublishedRecent`."""

    def __init__(self, cap: int = 10_000) -> None:
        self._jobs: deque[PublishedJob] = deque(maxlen=cap)

    def write(self, jobs: Sequence[PublishedJob]) -> None:
        self._jobs.extend(jobs)

    def latest(self, limit: int) -> Sequence[PublishedJob]:
        return list(itertools.islice(reversed(self._jobs), limit))

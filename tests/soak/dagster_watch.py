"""What Dagster's own records say during a soak: runs that share a slot, runs without a sign of life, failures."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from tests.journey.dagster_ui import LOCATION, DagsterUi

SLOT_TAG = "issuetracker/slot"
AT_WORK = "STARTED"
ENDED = ("SUCCESS", "FAILURE", "CANCELED")
DOUBLE_AT_MOST_S = 25.0
"""Longest time that two runs may count as started on one slot: a supervisor's tick and the status that a run reads."""
SILENT_AT_MOST_S = 240.0
"""Longest time that a started run may be without a sign of life: a Redis that is away for 40 s, the grace afterwards,
and a Dagster that was killed meanwhile and has to start again."""


class Run(msgspec.Struct, frozen=True):
    """A run as the UI lists it."""

    run_id: str
    job: str
    status: str
    slot: str
    created_s: float

    @property
    def place(self) -> str:
        return f"{self.job} {self.slot}"


class Lasting:
    """How long conditions have lasted without a break, and which lasted longest. Times in seconds."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self.longest: dict[str, float] = {}

    def look(self, holding: Sequence[str], now_s: float) -> None:
        """These hold now; all others don't."""
        self._since = {name: self._since.get(name, now_s) for name in holding}
        for name, since in self._since.items():
            self.longest[name] = max(self.longest.get(name, 0.0), now_s - since)

    def over(self, limit_s: float) -> dict[str, float]:
        """Those that lasted longer."""
        return {name: lasted for name, lasted in self.longest.items() if lasted > limit_s}


class RunsWatch:
    """Is shown the unfinished runs again and again."""

    def __init__(self) -> None:
        self.doubles, self.silent = Lasting(), Lasting()
        self.looks = 0

    def look(self, runs: Sequence[Run], beating: Sequence[str], now_s: float, *, redis_is_up: bool) -> None:
        """`beating` are the ids of runs that show themselves; unknown while Redis is down."""
        self.looks += 1
        started = [run for run in runs if run.status == AT_WORK]
        taken = Counter(run.place for run in started)
        self.doubles.look([place for place, count in taken.items() if count > 1], now_s)
        if redis_is_up:
            self.silent.look([f"{run.place} {run.run_id}" for run in started if run.run_id not in beating], now_s)


def unfinished(ui: DagsterUi) -> list[Run]:
    """Every run that hasn't ended."""
    query = """{ runsOrError(filter: {statuses: [NOT_STARTED, QUEUED, STARTING, STARTED, CANCELING]}) {
        ... on Runs { results { runId jobName status creationTime tags { key value } } } } }"""
    return [_run(found) for found in ui.ask(query)["runsOrError"]["results"]]


def _run(found: Mapping[str, object]) -> Run:
    tags: Sequence[Mapping[str, str]] = found["tags"]  # type: ignore[assignment]
    slot = next((tag["value"] for tag in tags if tag["key"] == SLOT_TAG), "0")
    created: float = found["creationTime"]  # type: ignore[assignment]
    return Run(str(found["runId"]), str(found["jobName"]), str(found["status"]), slot, created)


class DagsterFigures(msgspec.Struct, frozen=True):
    """How runs ended by job, and why ticks failed, by sensor or schedule and the first line of their error."""

    ended: Mapping[str, int]
    failed_ticks: Mapping[str, int]


def figures(ui: DagsterUi) -> DagsterFigures:
    """Everything that Dagster has written down so far."""
    runs = """{ runsOrError(filter: {statuses: [SUCCESS, FAILURE, CANCELED]}) {
        ... on Runs { results { jobName status } } } }"""
    ended = Counter(f"{run['jobName']} {run['status']}" for run in ui.ask(runs)["runsOrError"]["results"])
    ticks = "ticks(limit: 5000, statuses: [FAILURE]) { error { message } }"
    query = f"""query ($at: RepositorySelector!) {{
        sensorsOrError(repositorySelector: $at) {{
            ... on Sensors {{ results {{ name state: sensorState {{ {ticks} }} }} }} }}
        schedulesOrError(repositorySelector: $at) {{
            ... on Schedules {{ results {{ name state: scheduleState {{ {ticks} }} }} }} }} }}"""
    answer = ui.ask(query, at=LOCATION)
    failed: Counter[str] = Counter()
    for found in (*answer["sensorsOrError"]["results"], *answer["schedulesOrError"]["results"]):
        for tick in found["state"]["ticks"]:
            failed[f"{found['name']}: {_first_line(tick['error'])}"] += 1
    return DagsterFigures(ended, failed)


def _first_line(error: Mapping[str, str] | None) -> str:
    return (error or {}).get("message", "no reason").strip().partition("\n")[0][:160]


def now_s() -> float:
    """The watch's own clock."""
    return time.monotonic()

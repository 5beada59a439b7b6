"""`issuetracker status`: what of a home runs, where, and how full its queues, buffers and topics are."""

from collections.abc import Callable, Mapping

import click
from rich.console import Console
from rich.table import Column, Table

from issuetracker_dagster.cli.services import services_of
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.shift import PAUSED
from issuetracker_dagster.local.dev_status import dagster_status
from issuetracker_dagster.local.endpoints import ServiceStatus
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import QUEUED_STAGES, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.buffering import DRAINER, buffer_health
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.workers import modes_of_workers


@click.command()
def status() -> None:
    """Show what runs, where, and how full the queues are."""
    settings = Settings()
    lines = [*services_of(settings).status(), *dagster_status(settings.home)]
    output = Console()
    output.print(_services(settings, lines))
    # `demo` switches the flag on for its Dagster only, which this command doesn't belong to.
    demo_runs = any(line.kind == "demo" for line in lines)
    flag_is_on = settings.publish.publisher_redis_buffer_enabled or demo_runs
    asked = "anything"
    try:
        wiring = Wiring(settings)
        tables: Mapping[str, Callable[[], Table | str]] = {
            "worker runs": lambda: _workers(wiring),
            "the queues": lambda: _queues(wiring),
            "the buffers": lambda: _buffers(wiring, flag_is_on=flag_is_on),
            "the topics": lambda: _lags(wiring),
        }
        for asked in tables:
            output.print(tables[asked]())
    except IssueTrackerError as error:
        output.print(f"No figures of {asked}: {error}", markup=False)


def _services(settings: Settings, lines: list[ServiceStatus]) -> Table:
    endpoint = Column("endpoint", overflow="fold")  # an address that is cut can't be opened
    table = Table("service", "kind", "condition", endpoint, "pid", title=f"Services of {settings.home}")
    for line in lines:
        table.add_row(line.name, line.kind, line.condition, line.endpoint, str(line.pid or ""))
    return table


def _workers(wiring: Wiring) -> Table:
    table = Table("workers of", "alive", "mode", title="Worker runs")
    for stage in Stage:
        modes = modes_of_workers(wiring, stage)
        told = ", ".join(f"{count} {mode}" if len(modes) > 1 else mode for mode, count in sorted(modes.items()))
        why = f"; why: issuetracker dlq list --stage {stage.value}" if modes[PAUSED] else ""
        table.add_row(stage.value, str(modes.total()), told + why)
    return table


def _queues(wiring: Wiring) -> Table:
    table = Table("queue", "high", "normal", "low", "leased", "delayed", "outbox", title="Stage queues")
    for stage in QUEUED_STAGES:
        depth = wiring.queue(stage).depth()
        ready = [str(depth.bands[priority].ready if priority in depth.bands else 0) for priority in Priority]
        table.add_row(stage.value, *ready, str(depth.leased), str(depth.delayed), str(depth.outbox))
    return table


def _buffers(wiring: Wiring, *, flag_is_on: bool) -> Table:
    found = buffer_health(wiring)
    table = Table("buffer of", "waiting", "draining", "outbox", "oldest", "paused", title="Buffers before Kafka")
    for health in found:
        state = health.state
        counts = [str(state.waiting), str(state.draining), str(state.outbox)]
        oldest = about_duration(health.oldest_age_ms)
        table.add_row(health.topic.value, *counts, oldest, "yes" if state.paused else "no")
    is_on, silent_ms = found[0].switch_is_on, found[0].silent_ms
    if flag_is_on and not is_on and silent_ms is None:
        table.caption = "buffering on at the next drain run; there was none yet"
    else:
        drainer = "never" if silent_ms is None else f"{about_duration(silent_ms)} ago{_mode(wiring)}"
        table.caption = f"buffering {'on' if is_on else 'off'}; last sign of a drain run: {drainer}"
    return table


def _mode(wiring: Wiring) -> str:
    found = [mode for beat in wiring.heartbeats.alive(DRAINER) if (mode := beat.info.get("mode"))]
    return f" ({found[-1]})" if found else ""


def _lags(wiring: Wiring) -> Table | str:
    table = Table("topic", "unread", title="Topics")
    lags = wiring.lags()
    if not lags:
        return "Topics: no topics yet; the first worker makes them."
    for topic, lag in lags.items():
        table.add_row(topic.value, str(lag))
    return table

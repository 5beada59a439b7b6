"""`move_queue_entries` as the UI launches it."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.defs import queue_moves
from issuetracker_dagster.defs.fence import Fence
from issuetracker_dagster.defs.queue_moves import MOVE_JOB
from issuetracker_dagster.flow import move
from issuetracker_dagster.model.message import decode_envelope
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.cli.servers import content_entry


@pytest.fixture
def with_queue(
    bare_environment: Path, clean_valkey_url: str, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> Wiring:
    """Four entries of two hosts wait for enrich; there is no other server."""
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", f"127.0.0.1:{closed_port}")
    wiring = Wiring(Settings(env_file=None))
    wiring.queue(Stage.ENRICH).push(
        [
            content_entry("low1", "https://x.com/1", Priority.LOW),
            content_entry("high", "https://y.com/2", Priority.HIGH),
            content_entry("low2", "https://y.com/3", Priority.LOW),
            content_entry("normal", "https://x.com/4"),
        ]
    )
    return wiring


def launched(defs: dg.Definitions, instance: dg.DagsterInstance, **config: object) -> dict[str, Any]:
    """Run the job on enrich; its metadata."""
    ops = {"ops": {"move_queue_entries_op": {"config": {"stage": "enrich", **config}}}}
    result = defs.get_repository_def().get_job(MOVE_JOB).execute_in_process(instance=instance, run_config=ops)
    metadata = result.filter_events(lambda event: event.is_successful_output)[0].step_output_data.metadata
    return {name: value.value for name, value in metadata.items() if value.value}


def waiting(wiring: Wiring) -> dict[str, int]:
    bands = wiring.queue(Stage.ENRICH).depth().bands
    return {priority.label: band.ready for priority, band in bands.items()}


@pytest.mark.services
def test_a_launch_only_counts_until_dry_run_is_false(
    with_queue: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    defs = load_definitions()
    assert launched(defs, instance, to="high") == {"would_move": 3}
    assert launched(defs, instance, to="high", from_band="low", host="X.com") == {"would_move": 1}
    assert launched(defs, instance, to="high", from_band="low", host="*.com") == {"would_move": 2}
    assert waiting(with_queue) == {"high": 1, "normal": 1, "low": 2}
    assert launched(defs, instance, to="high", from_band="low", host="X.com", dry_run=False) == {"moved": 1}
    assert waiting(with_queue) == {"high": 2, "normal": 1, "low": 1}
    lease = with_queue.queue(Stage.ENRICH).claim("c", 1, 60_000).leases[0]
    assert (lease.member, decode_envelope(lease.envelope).headers.priority) == ("low1:0", Priority.HIGH)
    said = launched(defs, instance, to="low", ids=["low1", "high:0", "low2", "ghost"], dry_run=False)
    assert said == {"moved": 1, "there_already": 1, "in_workers_hands": 1, "not_found": 1}
    assert waiting(with_queue) == {"high": 0, "normal": 1, "low": 2}


@pytest.mark.services
def test_a_run_that_is_ended_stops_between_two_steps_and_another_goes_on(
    with_queue: Wiring, load_definitions: Any, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move, "BATCH", 1)

    class Ended(Fence):
        """Somebody terminates the run during its first step."""

        def reason(self) -> str | None:
            (run,) = instance.get_runs()
            event = dg.DagsterEvent(event_type_value=dg.DagsterEventType.RUN_CANCELING.value, job_name=run.job_name)
            instance.report_dagster_event(event, run_id=run.run_id)
            return "the run is CANCELING"

    defs = load_definitions()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(queue_moves, "Fence", Ended)
        with pytest.raises(dg.DagsterExecutionInterruptedError):
            launched(defs, instance, to="high", dry_run=False)
    assert waiting(with_queue) == {"high": 2, "normal": 0, "low": 2}
    assert launched(defs, instance, to="high", dry_run=False) == {"moved": 2}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"stage": "fetch", "to": "high"}, "stage: 'fetch' isn't one of parser, validate, enrich"),
        ({"to": "urgent"}, "to: priority 'urgent' is none of high, normal, low"),
        ({"to": "low", "from_band": "top"}, "from_band: priority 'top'"),
        ({"to": "low", "host": "https://x.com/1"}, "leave out scheme, port and path"),
        ({"to": "low", "ids": ["a"], "host": "x.com"}, "ids, or host and from_band, not both"),
    ],
)
def test_a_form_that_means_nothing_fails_and_says_what_to_write(
    bare_environment: Path, load_definitions: Any, instance: dg.DagsterInstance, config: dict[str, object], told: str
) -> None:
    with pytest.raises(dg.Failure, match=told):
        launched(load_definitions(), instance, **config)

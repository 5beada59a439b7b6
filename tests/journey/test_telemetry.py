"""What processes tell about their messages arrives in Redis and SQL, from the queue and straight from Kafka alike."""

import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import RecordingHandler, running_intake, running_shift, send
from tests.waiting import eventually

pytestmark = pytest.mark.services


def breaks(root_id: str) -> None:
    if root_id == "bad":
        raise PermanentError("no body", code="empty")


def steps(wiring: Wiring, root_id: str) -> list[str]:
    return [f"{line.stage} {line.action}".strip() for line in wiring.stores.message_trace.of(root_id, 100)]


def test_a_shift_leaves_figures_and_traces_from_its_queue_and_then_from_kafka(wiring: Wiring) -> None:
    headers = [Headers(root_id=name, priority=Priority.HIGH) for name in ("good", "bad")]
    send(wiring, Stage.VALIDATE, *headers)
    handler = RecordingHandler(Stage.VALIDATE, breaks)
    is_on = True
    with running_intake(wiring, Stage.VALIDATE, lambda: is_on), running_shift(
        wiring, Stage.VALIDATE, handler, lambda: is_on
    ) as shift:  # fmt: skip
        eventually(lambda: len(handler.seen) == 2, timeout_s=60)
        is_on = False
        eventually(lambda: shift.mode == "direct", timeout_s=60)
        send(wiring, Stage.VALIDATE, Headers(root_id="later"))
        eventually(lambda: len(handler.seen) == 3, timeout_s=60)
    wiring.telemetry.flush()
    readings = wiring.metric_store.read()
    claims = readings.by("issuetracker_claims_total", "priority", stage="validate")
    outcomes = readings.by("issuetracker_handled_total", "outcome", stage="validate")
    assert (claims, outcomes) == ({"high": 2, "normal": 1}, {"forwarded": 2, "dead_lettered": 1})
    assert readings.total("issuetracker_acks_total", stage="validate") == 2
    assert readings.total("issuetracker_dead_letters_total", stage="validate", reason="empty") == 1
    assert readings.histogram("issuetracker_handler_seconds", stage="validate").count == 3
    assert readings.histogram("issuetracker_pop_latency_seconds", stage="validate").count == 3
    assert steps(wiring, "good") == ["validate intake.stored", "validate message.forwarded"]
    assert steps(wiring, "bad") == ["validate intake.stored", "validate message.dead_lettered"]
    assert steps(wiring, "later") == ["validate message.forwarded"]


def test_a_publish_is_told_by_the_end_of_its_process_at_the_latest(wiring: Wiring) -> None:
    (sent,) = wiring.publisher.publish([Request(job=CrawlJob(url="https://a.com/page"), parent="p")]).published
    wiring.close()
    assert steps(wiring, sent.headers.root_id) == ["message.published"]
    assert wiring.metric_store.read().total("issuetracker_published_total", priority="normal") == 1

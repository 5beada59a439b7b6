"""A breaking story overtakes the archive at every stage."""

import pytest

from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import RecordingHandler, low, running_shift, send
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

BREAKING = Headers(
    root_id="breaking",
    priority=Priority.HIGH,
    target_type=TargetType.CATEGORY,
    crawler="news",
    timeout_ms=7_000,
    trace_id="trace",
    first_published_ms=5,
    recrawl_count=2,
    other=(("x-team", b"desk"),),
)


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    """One slot a shift, so that the order of handling is the order of claiming."""
    return journey_environment | {f"{stage.value.upper()}_WORKER_COUNT": "1" for stage in QUEUED_STAGES}


def test_a_high_message_is_next_at_every_stage_while_5000_low_ones_wait(wiring: Wiring) -> None:
    for stage in QUEUED_STAGES:
        send(wiring, stage, *low(5_000))
        while wiring.queue(stage).depth().ready < 5_000:
            wiring.intake(stage).tick(500)
    send(wiring, QUEUED_STAGES[0], BREAKING)
    for stage in QUEUED_STAGES:
        eventually(lambda: wiring.intake(stage).tick(500).stored)  # noqa: B023
        assert wiring.queue(stage).depth().bands[Priority.HIGH].ready == 1
        handler = RecordingHandler(stage)
        with running_shift(wiring, stage, handler):
            eventually(lambda: len(handler.seen) > 20, timeout_s=30)  # noqa: B023
        assert handler.seen[0] == BREAKING
        assert {headers.priority for headers in handler.seen[1:]} == {Priority.LOW}

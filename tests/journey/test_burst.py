"""A burst overruns neither Kafka nor memory, and nothing of it is lost, whatever is killed meanwhile."""

from pathlib import Path

import pytest

from tests.journey.burst import run_burst
from tests.journey.burst_load import Plan

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(360)]

PLAN = Plan(jobs=10_000, hosts=100, target=1_000, batch=100, rate=500)


def test_findings_11_13_and_16_a_burst_arrives_whole_and_in_order_though_drainer_kafka_and_redis_are_killed(
    tmp_path: Path,
) -> None:
    figures = run_burst(PLAN, tmp_path, print)
    print(figures)
    assert figures.kills == {"drainer": PLAN.drainer_kills, "kafka": 1, "redis": 1}
    assert figures.published == figures.arrived == PLAN.jobs
    assert figures.strangers == 0
    # All of it went through the buffer: a job past it could hide a lag that the drainer lets grow.
    assert figures.past_the_buffer == 0
    assert figures.highest_lag <= PLAN.target + PLAN.batch
    assert figures.lag_looks > 100
    assert figures.hosts_out_of_order == 0
    # A kill of the drainer or of Kafka leaves one batch in doubt, and Redis may have forgotten one removal.
    assert figures.repeated <= (PLAN.drainer_kills + 2) * PLAN.batch

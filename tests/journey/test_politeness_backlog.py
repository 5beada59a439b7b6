"""Ten thousand low jobs of one host wait in its frontier; whoever comes after them doesn't."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.fetch_worker import crawl, fetch_workers
from tests.journey.polite_site import PoliteSite, most_beyond_rate, page, polite_site
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]

JOBS = 10_000
RULE = FetcherRule(host_pattern="archive.localhost", requests_per_hour=600, burst=1, concurrency=1)
INTERVAL_S = 6.0
BEHIND = [f"behind{number}" for number in range(5)]
LATER = [f"later{number}" for number in range(20)]


@pytest.fixture
def site() -> Iterator[PoliteSite]:
    with polite_site(dict.fromkeys(["archive", *BEHIND, *LATER], page)) as site:
        yield site


def lag(wiring: Wiring) -> int:
    facts = FACTS[Stage.FETCH]
    return sum(wiring.lag.lag(facts.group, [topic.value for topic in facts.inputs]).values())


def waits(site: PoliteSite, hosts: list[str], published: float) -> list[float]:
    """How long after it was published each host's first page was asked for, in seconds."""
    eventually(lambda: all(site.pages(host) for host in hosts), timeout_s=60)
    return sorted(round(site.pages(host)[0].began - published, 2) for host in hosts)


def test_a_high_job_is_the_next_request_of_its_host_and_no_other_host_waits(
    wiring: Wiring,
    site: PoliteSite,
    journey_environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wiring.stores.parser_rules.save_fetcher_rule(RULE)
    with fetch_workers(2, journey_environment, tmp_path):
        wiring.producer.publish([crawl(site, "archive", f"{number}", Priority.LOW) for number in range(JOBS)])
        began = time.monotonic()
        wiring.producer.publish([crawl(site, host, "low", Priority.LOW) for host in BEHIND])
        eventually(lambda: lag(wiring) == 0, timeout_s=120)
        moved_s = time.monotonic() - began
        in_frontier = wiring.frontier.size()
        assert in_frontier > JOBS - 10
        behind_s = waits(site, BEHIND, began)

        asked = len(site.pages("archive"))
        eventually(lambda: len(site.pages("archive")) > asked, timeout_s=30)
        before, published = len(site.pages("archive")), time.monotonic()
        wiring.producer.publish([crawl(site, "archive", "breaking", Priority.HIGH)])
        wiring.producer.publish([crawl(site, host, "low", Priority.LOW) for host in LATER])
        later_s = waits(site, LATER, published)
        eventually(lambda: len(site.pages("archive")) > before, timeout_s=30)
        breaking = site.pages("archive")[before]
        eventually(lambda: lag(wiring) == 0, timeout_s=10)

    assert breaking.path == "/breaking"
    assert breaking.began - published < INTERVAL_S + 1
    assert later_s[-1] < INTERVAL_S / 2
    assert most_beyond_rate(site.pages("archive"), RULE.requests_per_hour, tolerance_s=0.3) <= RULE.burst
    with capsys.disabled():
        print(
            f"\n{JOBS} jobs lined up in {moved_s:.1f} s, {in_frontier} wait in the frontier, lag 0; of other hosts, "
            f"right behind them: {behind_s} s, later: half within {later_s[len(later_s) // 2]} s, all within "
            f"{later_s[-1]} s; the high one after {breaking.began - published:.1f} s"
        )

"""Four workers at once are as polite to each host as one would have to be; told by the hosts themselves."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.fetch_worker import crawl, fetch_workers
from tests.journey.polite_site import Answer, Asked, Host, PoliteSite, most_at_once, most_beyond_rate, page, polite_site
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]

WORKERS = 4
PAGES = 14
PACE = 3_600
"""Requests an hour: one a second."""
TOLERANCE_S = 0.5
"""How much longer a request may be on its way from the gate to the host than another."""
RETRY_AFTER_S = 5
RULES = {
    "slow": FetcherRule(host_pattern="slow.localhost", requests_per_hour=0, concurrency=2),
    "bursts": FetcherRule(host_pattern="bursts.localhost", requests_per_hour=PACE, burst=4, concurrency=2),
    "single": FetcherRule(host_pattern="single.localhost", requests_per_hour=PACE, burst=1, concurrency=1),
    "closed": FetcherRule(host_pattern="closed.localhost", requests_per_hour=PACE, burst=2, concurrency=2),
    "delayed": FetcherRule(host_pattern="delayed.localhost", requests_per_hour=4 * PACE, burst=4, concurrency=2),
    "busy": FetcherRule(host_pattern="busy.localhost", requests_per_hour=PACE, burst=2, concurrency=2),
    "moved": FetcherRule(host_pattern="moved.localhost", requests_per_hour=PACE, burst=1, concurrency=1),
}
DISALLOWED = {"/3", "/7", "/11"}


class Busy:
    """Its third page says to come back later."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    def __call__(self, path: str, headers: Mapping[str, str]) -> Answer:
        with self._lock:
            self._count += path != "/robots.txt"
            if self._count == 3 and path != "/robots.txt":
                return Answer(status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
        return page(path, headers)


def slow(path: str, headers: Mapping[str, str]) -> Answer:
    return page(path, headers) if path == "/robots.txt" else Answer(body=b"<p>at last</p>", wait_s=2.5)


def closed(path: str, headers: Mapping[str, str]) -> Answer:
    if path == "/robots.txt":
        return Answer(body="".join(["User-agent: *\n", *(f"Disallow: {one}$\n" for one in DISALLOWED)]).encode())
    return page(path, headers)


def delayed(path: str, headers: Mapping[str, str]) -> Answer:
    if path == "/robots.txt":
        return Answer(body=b"User-agent: *\nCrawl-delay: 1\n")
    return page(path, headers)


def moved(path: str, headers: Mapping[str, str]) -> Answer:
    """Every other request is a redirect inside the host."""
    if path == "/robots.txt" or path.startswith("/new"):
        return page(path, headers)
    return Answer(status=301, headers={"Location": f"/new{path}"})


@pytest.fixture
def site() -> Iterator[PoliteSite]:
    hosts: dict[str, Host] = {
        "slow": slow,
        "bursts": page,
        "single": page,
        "closed": closed,
        "delayed": delayed,
        "busy": Busy(),
        "moved": moved,
    }
    with polite_site(hosts) as site:
        yield site


def publish(wiring: Wiring, site: PoliteSite, host: str, round_name: str = "first") -> None:
    bands = list(Priority)
    wiring.producer.publish([crawl(site, host, str(number), bands[number % 3], round_name) for number in range(PAGES)])


def arrived(asked: Sequence[Asked]) -> set[str]:
    """Paths that ended in a page."""
    return {one.path for one in asked if one.status in (200, 304)}


def test_hosts_are_asked_as_they_want_by_four_workers_at_once(
    wiring: Wiring,
    site: PoliteSite,
    journey_environment: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for rule in RULES.values():
        wiring.stores.parser_rules.save_fetcher_rule(rule)
    for host in RULES:
        publish(wiring, site, host)
    due = {host: PAGES - len(DISALLOWED) if host == "closed" else PAGES for host in RULES} | {"busy": PAGES - 1}
    with fetch_workers(WORKERS, journey_environment, tmp_path):
        eventually(lambda: all(len(arrived(site.pages(host))) >= count for host, count in due.items()), timeout_s=150)
        second_round = time.monotonic()
        publish(wiring, site, "bursts", "second")
        eventually(lambda: len(arrived(asked_since(site, "bursts", second_round))) == PAGES, timeout_s=60)

    for host, rule in RULES.items():
        asked = site.asked(host)
        assert most_at_once(asked) <= rule.concurrency, host
        if rule.requests_per_hour and host != "moved":
            assert most_beyond_rate(asked, rule.requests_per_hour, TOLERANCE_S) <= rule.burst, host
    # A redirect inside a host follows at once and is paid for by the next job.
    assert most_beyond_rate(site.asked("moved"), PACE, TOLERANCE_S) <= 2
    assert most_beyond_rate(site.pages("delayed"), PACE, TOLERANCE_S) <= 1
    assert arrived(site.pages("closed")).isdisjoint(DISALLOWED)
    assert_left_alone(site.pages("busy"))
    again = asked_since(site, "bursts", second_round)
    assert {one.status for one in again} == {304}
    assert all("if-none-match" in one.headers for one in again)
    # All those hosts were through before the slow one, for which jobs waited from the beginning.
    slow_done = site.pages("slow")[-1].ended
    in_time = {host: round(slow_done - last_new_page(site.pages(host)).ended, 1) for host in ("bursts", "single")}
    assert min(in_time.values()) > 0, in_time
    with capsys.disabled():
        print(f"\n{WORKERS} workers; requests, robots.txt among them, most at once, most beyond the rate:")
        for host, rule in RULES.items():
            asked = site.asked(host)
            beyond = most_beyond_rate(asked, rule.requests_per_hour, TOLERANCE_S) if rule.requests_per_hour else "-"
            robots = len(asked) - len(site.pages(host))
            print(f"  {host}: {len(asked)}, {robots}, {most_at_once(asked)} of {rule.concurrency}, {beyond}")


def asked_since(site: PoliteSite, host: str, when: float) -> Sequence[Asked]:
    return [one for one in site.pages(host) if one.began >= when]


def last_new_page(pages: Sequence[Asked]) -> Asked:
    return [one for one in pages if one.status == 200][-1]


def assert_left_alone(asked: Sequence[Asked]) -> None:
    (refused,) = [one for one in asked if one.status == 429]
    next_one = min(one.began for one in asked if one.began > refused.ended)
    assert next_one - refused.ended >= RETRY_AFTER_S - 0.1

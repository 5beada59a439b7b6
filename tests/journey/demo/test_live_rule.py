"""A rule that an operator changes while the demo runs moves the next URLs of its path, seen on Kafka itself.

The path is that of the demo's live tickers, normal by the host's rule. Crawling their section chains five of them, and
since those come out empty their host is upgraded, which publishes them once more. The tests run in their order.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from issuetracker_dagster.local.site.hosts import LIVE
from issuetracker_dagster.local.site.live import SECTION, TICKERS
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.wiring.buffering import drainer_silence_ms
from tests.journey.demo.crawl_watch import CrawlWatch, Seen, watching
from tests.journey.demo.session import Demo
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(400)]

PATH = r"^/live/\d+/"
REFRESH_S = 60 + 45
"""A tick a minute, and what starting a run takes on a busy machine."""
ALIVE_MS = 15_000
SWAP_MS = 5_500
"""How old the rules of a publisher may be, and half a second for reading them."""


@pytest.fixture
def watch(demo: Demo) -> Iterator[CrawlWatch]:
    wiring = demo.wiring()

    def is_drained() -> bool:
        silent_ms = drainer_silence_ms(wiring.heartbeats)
        return wiring.buffer_switch.is_on() and silent_ms is not None and silent_ms < ALIVE_MS

    eventually(is_drained, timeout_s=180, interval_s=0.5)
    with watching(wiring) as made:
        yield made
    wiring.close()


def crawled(demo: Demo, watch: CrawlWatch) -> tuple[list[Seen], list[Seen]]:
    """Crawl the section once; returns the jobs chained from it and those of the upgrade that they cause."""
    url = demo.url(LIVE.key, SECTION)
    root_id = demo.said("publish", "--type", "category", "--again", url).split()[0]

    def both() -> tuple[list[Seen], list[Seen]] | None:
        jobs = watch.jobs_of(root_id)
        chained, upgraded = ([job for job in jobs if job.is_upgraded is wanted] for wanted in (False, True))
        return (chained, upgraded) if len(chained) == len(upgraded) == TICKERS else None

    chained, upgraded = watch.until(both, timeout_s=60)  # type: ignore[misc]
    # Empty once more; only then may the host be switched back, so that the next crawl upgrades it again.
    watch.until(lambda: watch.is_parsed(upgraded), timeout_s=60)
    rules = demo.wiring().stores.parser_rules
    rule = rules.fetcher_rule(LIVE.name)
    assert rule is not None
    assert rule.rendering
    rules.save_fetcher_rule(msgspec.structs.replace(rule, rendering=False))
    return chained, upgraded


def assert_went(jobs: list[Seen], watch: CrawlWatch, priority: Priority) -> None:
    """That topic, that header, and the buffer on the way unless they are high."""
    assert all(re.search(PATH, "/" + job.job.url.split("/", 3)[3]) for job in jobs)
    assert {(job.topic, job.headers["priority"]) for job in jobs} == {(CRAWL_TOPICS[priority], str(int(priority)))}
    buffered = [watch.came_by_buffer(job) for job in jobs]
    assert not any(buffered) if priority is Priority.HIGH else all(buffered)


def assert_crawls_go(demo: Demo, watch: CrawlWatch, priority: Priority) -> None:
    for jobs in crawled(demo, watch):
        assert_went(jobs, watch, priority)


def version(demo: Demo) -> int:
    return demo.wiring().stores.rule_snapshots.latest_version()


def assert_comes_into_force(demo: Demo, watch: CrawlWatch, priority: Priority) -> None:
    """Crawl until links of the path go where the priority says; those published `SWAP_MS` from now must."""
    began, wall_ms = time.monotonic(), time.time_ns() // 1_000_000
    while True:
        chained, upgraded = crawled(demo, watch)
        if {job.topic for job in chained} == {CRAWL_TOPICS[priority]}:
            break
        assert max(int(job.headers["first_published_ms"]) for job in chained) < wall_ms + SWAP_MS
    print(f"{priority.label} after {time.monotonic() - began:.0f} s")
    assert_went(chained, watch, priority)
    assert_went(upgraded, watch, priority)


def rule_id(demo: Demo) -> str:
    (found,) = [line for line in demo.said("rules", "list", "--host", LIVE.name).splitlines() if PATH in line]
    return found.split()[0]


def test_by_default_links_and_upgrades_of_the_path_go_through_the_buffer_to_crawl_normal(
    demo: Demo, watch: CrawlWatch
) -> None:
    assert_crawls_go(demo, watch, Priority.NORMAL)


def test_a_rule_that_is_added_makes_them_high_within_one_refresh_of_the_schedule(demo: Demo, watch: CrawlWatch) -> None:
    snapshots = demo.wiring().stores.rule_snapshots
    before, began = snapshots.latest_version(), time.monotonic()
    said = demo.said("rules", "add", LIVE.name, PATH, "--priority", "high")
    assert "Publishers follow with the next refresh, in at most 1m" in said
    eventually(lambda: snapshots.latest_version() > before, timeout_s=REFRESH_S, interval_s=0.5)
    print(f"the schedule's refresh {time.monotonic() - began:.0f} s after `rules add`")
    assert_comes_into_force(demo, watch, Priority.HIGH)


def test_the_rule_switched_off_now_lets_them_go_back_without_the_schedule(demo: Demo, watch: CrawlWatch) -> None:
    before = version(demo)
    assert f"version {before + 1}" in demo.said("rules", "disable", rule_id(demo), "--now")
    assert_comes_into_force(demo, watch, Priority.NORMAL)


def test_a_broken_rule_file_changes_nothing_and_says_why(demo: Demo, watch: CrawlWatch, tmp_path: Path) -> None:
    rules, before = demo.said("rules", "export"), version(demo)
    file = tmp_path / "broken.yaml"
    file.write_text(
        f"rules:\n- host: {LIVE.name}\n  path: '{PATH}'\n  priority: low\n"
        "- host: News.Example.com:8080\n  path: ^/a(\n  priority: urgent\n"
    )
    refused = demo.command("rules", "import", str(file), "--now")
    assert refused.returncode == 1
    assert "nothing was changed" in refused.stderr
    for position in ("rule 2, host:", "rule 2, path:", "rule 2, priority:"):
        assert position in refused.stderr
    assert demo.said("rules", "export") == rules
    assert f"version {before} is up to date" in demo.said("rules", "refresh")
    assert version(demo) == before
    assert_crawls_go(demo, watch, Priority.NORMAL)

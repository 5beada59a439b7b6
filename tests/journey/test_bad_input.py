"""Bad input gets its clear error or dead letter, and nothing else stops: the real fetch stage on real servers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.message import Outgoing, Record
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, decode_payload
from issuetracker_dagster.model.stage import Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.crews import opened_shift
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.upkeep import relay
from tests.flow.world import dlq_notes
from tests.stages.http_site import Site, endless, fixed, running_site
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow]

MEGABYTE = b"x" * 1_000_000


@pytest.fixture
def journey_environment(journey_environment: dict[str, str]) -> dict[str, str]:
    return journey_environment | {"FETCH_TIMEOUT": "2s", "RETRY_BASE": "100ms"}


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as made:
        made.pages |= {
            "/good": fixed(b"<html><title>good</title></html>"),
            "/huge": endless(lambda: MEGABYTE, limit=50_000_000),
            "/endless": endless(lambda: b"drip", wait_s=0.2),
        }
        yield made


@contextmanager
def fetching(wiring: Wiring) -> Iterator[None]:
    """A fetch shift and the retry relay, as they run in Dagster."""
    stop = threading.Event()

    def relaying() -> None:
        while not stop.wait(0.2):
            relay(wiring, 1_000)

    with opened_shift(
        wiring, Stage.FETCH, flag_is_on=lambda: False, control=lambda: None, duration_ms=600_000
    ) as shift:
        threads = [threading.Thread(target=shift.run), threading.Thread(target=relaying)]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            shift.stop("the test is over")
            for thread in threads:
                thread.join(30)


class Reading:
    """Everything that has come out of a topic so far."""

    def __init__(self, wiring: Wiring, topic: Topic) -> None:
        self._reader = KafkaGroupReader(wiring.kafka, [topic.value], f"test-{topic.value}")
        self.records: list[Record] = []

    def more(self) -> list[Record]:
        self.records += self._reader.poll(100, 200)
        return self.records

    def close(self) -> None:
        self._reader.close()


def test_each_bad_page_ends_in_the_dlq_with_its_reason_and_the_good_one_goes_on(wiring: Wiring, site: Site) -> None:
    urls = [site.url(path) for path in ("/huge", "/endless", "/gone", "/good")]
    urls.append("http://no-such-host.invalid/page")
    requests = [Request(job=CrawlJob(url=url), parent="test") for url in urls]
    published = wiring.publisher.publish(requests).published
    by_root = {message.headers.root_id: url for message, url in zip(published, urls, strict=True)}
    wiring.producer.publish([Outgoing(Topic.CRAWL_NORMAL, b"key", b"\xff{not json", [("root_id", b"broken")])])
    wiring.producer.publish([Outgoing(Topic.CRAWL_NORMAL, b"key", b"no identity", [])])
    dead, fetched = Reading(wiring, Topic.DLQ), Reading(wiring, Topic.FETCHED)
    with fetching(wiring):
        eventually(lambda: len(dead.more()) == 6, timeout_s=60)
        eventually(fetched.more, timeout_s=30)
    reasons = {}
    for record in dead.records:
        root_id = dict(record.headers).get("root_id", b"").decode()
        reasons[by_root.get(root_id, root_id)] = dlq_notes(record)["reason"]
    assert reasons == {
        site.url("/huge"): "too_large",
        site.url("/endless"): "attempts_exhausted",
        site.url("/gone"): "http_404",
        "http://no-such-host.invalid/page": "attempts_exhausted",
        "broken": "malformed",
        "": "malformed",
    }
    raw = next(record for record in dead.records if not dict(record.headers).get("root_id"))
    assert raw.value == b"no identity"
    assert [decode_payload(RawContentRef, record.value).url for record in fetched.records] == [site.url("/good")]
    assert wiring.retry_set.size() == 0
    dead.close()
    fetched.close()


def test_an_unreachable_broker_is_told_with_its_setting(
    journey_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (journey_environment | {"KAFKA_BOOTSTRAP_SERVERS": "127.0.0.1:1"}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(IssueTrackerError, match=r"127\.0\.0\.1:1.*KAFKA_BOOTSTRAP_SERVERS"):
        Wiring(Settings(env_file=None)).ready()


def test_a_wrong_redis_password_is_told_with_its_setting_and_never_shown(
    journey_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = journey_environment["REDIS_URL"].replace("redis://", "redis://:hunter2@")
    for name, value in (journey_environment | {"REDIS_URL": url}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(IssueTrackerError, match="REDIS_URL") as caught:
        Wiring(Settings(env_file=None)).queue(Stage.PARSER).open()
    assert "hunter2" not in str(caught.value)


def test_nothing_configured_and_nothing_running_names_the_command_that_helps(
    journey_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (journey_environment | {"KAFKA_BOOTSTRAP_SERVERS": "", "REDIS_URL": ""}).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(IssueTrackerError, match="issuetracker up"):
        Wiring(Settings(env_file=None)).ready()

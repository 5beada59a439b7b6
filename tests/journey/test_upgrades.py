"""Links and pages of a path land in the topic that the rules say, for upgrades as for links, on real servers."""

import pytest

from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Outgoing, Record
from issuetracker_dagster.model.outcome import EMPTY, HandlerContext, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, decode_payload, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import RecordingHandler, running_intake, running_shift
from tests.waiting import eventually

pytestmark = pytest.mark.services

HOST = "news.example.com"


class SiteOfShells(RecordingHandler):
    """A parser to which every article is empty, and every section leads to one breaking and one archived story."""

    def handle(self, payload: object, context: HandlerContext) -> Outcome:
        assert isinstance(payload, RawContentRef)
        self.seen.append(context.headers)
        if payload.target_type is TargetType.ARTICLE:
            raise PermanentError("neither a title nor a body on the page", code=EMPTY)
        paths = (f"/{kind}/linked-{context.root_id}" for kind in ("breaking", "archive", "other"))
        return Outcome(links=tuple(CrawlJob(url=f"https://{HOST}{path}", depth=1) for path in paths), note="links")


def fetched(root_id: str, path: str, kind: TargetType, priority: Priority) -> Message:
    """What fetch says of a page that it has stored."""
    url = f"https://{HOST}{path}"
    ref = RawContentRef(raw_id=1, url=url, requested_url=url, target_type=kind, fetched_ms=1)
    headers = Headers(root_id=root_id, priority=priority, target_type=kind, trace_id="trace")
    return Message(headers, root_id.encode(), encode_payload(ref))


def send(wiring: Wiring, *messages: Message) -> None:
    wiring.producer.publish([Outgoing.of(Topic.FETCHED, one) for one in messages])


def found(wiring: Wiring) -> dict[str, Topic]:
    """The path of every job in the crawl topics, and the topic; header and topic of each must agree."""
    by_path: dict[str, Topic] = {}
    for priority, topic in CRAWL_TOPICS.items():
        for record in everything(wiring, topic):
            assert dict(record.headers)["priority"] == str(int(priority)).encode()
            by_path[decode_payload(CrawlJob, record.value).url.removeprefix(f"https://{HOST}")] = topic
    return by_path


def everything(wiring: Wiring, topic: Topic) -> list[Record]:
    reader = KafkaIntakeReader(wiring.kafka, topic.value, "nobody-commits-here")
    records: list[Record] = []
    try:
        while batch := reader.poll(500, 500):
            records += batch
    finally:
        reader.close()
    return records


def test_chained_and_upgraded_urls_of_a_path_land_in_the_topic_of_its_rule_whatever_their_page_was(
    wiring: Wiring,
) -> None:
    rules = wiring.stores.parser_rules
    rules.save(ParserRule(host_pattern=HOST, path_pattern="^/breaking/", crawl_priority=1))
    rules.save(ParserRule(host_pattern=HOST, path_pattern="^/archive/", crawl_priority=3))
    wiring.rules_refresher.refresh()
    paths = ["/breaking/0", "/archive/1", "/other/2", "/breaking/3", "/archive/4"]
    pages = [fetched(f"p{n}", path, TargetType.ARTICLE, Priority.LOW) for n, path in enumerate(paths)]
    section = fetched("section", "/", TargetType.CATEGORY, Priority.HIGH)
    handler = SiteOfShells(Stage.PARSER)
    with running_intake(wiring, Stage.PARSER), running_shift(wiring, Stage.PARSER, handler):
        send(wiring, section, *pages)
        eventually(lambda: len(handler.seen) >= 6, timeout_s=60)
        eventually(lambda: wiring.queue(Stage.PARSER).depth().total == 0, timeout_s=30)
        linked = {f"/{kind}/linked-section" for kind in ("breaking", "archive", "other")}
        jobs = found(wiring)
        assert set(jobs) == {*paths, *linked}
        expected = {"breaking": Topic.CRAWL_HIGH, "archive": Topic.CRAWL_LOW, "other": Topic.CRAWL_NORMAL}
        assert all(topic is expected[path.split("/")[1]] for path, topic in jobs.items())
        rule = rules.fetcher_rule(HOST)
        assert rule is not None
        assert (rule.host_pattern, rule.rendering, rule.source) == (HOST, True, "auto")
        # The host is switched: whatever stays empty is published no more.
        again = [fetched(f"again{n}", f"/breaking/again{n}", TargetType.ARTICLE, Priority.LOW) for n in range(10)]
        send(wiring, *again)
        eventually(lambda: len(handler.seen) >= 16, timeout_s=30)
        eventually(lambda: wiring.queue(Stage.PARSER).depth().total == 0, timeout_s=30)
    assert found(wiring) == jobs
    assert len(everything(wiring, Topic.DLQ)) == 15

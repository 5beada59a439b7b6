"""Finding 1: every path by which URLs enter resolves their priority, and what comes back keeps the one it has."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

import issuetracker_dagster
from issuetracker_dagster.cli import publish
from issuetracker_dagster.errors import NeedsRefetch, PermanentError, TransientError
from issuetracker_dagster.flow.resolve import priority_table
from issuetracker_dagster.flow.schedule import publish_due_seeds
from issuetracker_dagster.model.headers import TargetType, headers_from_raw
from issuetracker_dagster.model.message import Message, Record, message_of
from issuetracker_dagster.model.outcome import EMPTY, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, decode_payload, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import PriorityRule
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage, Topic
from tests.flow.world import World, crawl_message, message

URL = "https://news.example.com/breaking/1"
EMPTY_PAGE = PermanentError("neither a title nor a body on the page", code=EMPTY)

PublishPath = Callable[[World, pytest.MonkeyPatch, Priority], None]
"""Publishes `URL`; where a page is behind it, that page has the priority given."""


def seed(world: World, monkeypatch: pytest.MonkeyPatch, page_priority: Priority) -> None:
    seeds = world.stores.seeds
    seeds.add([Seed(url=URL, source="example-feed", target_type=TargetType.CATEGORY, interval_ms=60_000)])
    publish_due_seeds(
        seeds, world.stores.raw_contents, world.publisher(), world.clock, hold_back=lambda _: None, jitter=lambda: 0.5
    )


def chained_link(world: World, monkeypatch: pytest.MonkeyPatch, page_priority: Priority) -> None:
    sent = message("page", page_priority)
    links = Outcome(links=(CrawlJob(url=URL, source="example-feed", depth=1),), note="links")
    world.settler(Stage.PARSER).settle(sent, decode_payload(RawContentRef, sent.value), links)


def upgrade(world: World, monkeypatch: pytest.MonkeyPatch, page_priority: Priority) -> None:
    for number in range(5):
        ref = RawContentRef(raw_id=1, url=URL, requested_url=URL, target_type=TargetType.ARTICLE, fetched_ms=1)
        sent = message(f"page-{number}", page_priority, target_type=TargetType.ARTICLE)
        sent = Message(sent.headers, sent.key, encode_payload(ref), sent.origin)
        world.settler(Stage.PARSER).settle(sent, ref, EMPTY_PAGE)


def command_line(world: World, monkeypatch: pytest.MonkeyPatch, page_priority: Priority) -> None:
    monkeypatch.setattr(publish, "Settings", object)
    monkeypatch.setattr(publish, "Wiring", lambda _: WiringOf(world))
    result = CliRunner().invoke(publish.publish, [URL], catch_exceptions=False)
    assert result.exit_code == 0
    assert result.output.endswith(f"  {URL}\n")


class WiringOf:
    """As much of a process as the command line needs."""

    def __init__(self, world: World) -> None:
        self.publisher = world.publisher()

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"`issuetracker publish` uses {name}, which this test doesn't know")


PATHS: list[PublishPath] = [seed, chained_link, upgrade, command_line]


@pytest.mark.parametrize("page_priority", [Priority.HIGH, Priority.LOW])
@pytest.mark.parametrize("ruled", [Priority.HIGH, Priority.LOW, None])
@pytest.mark.parametrize("path", PATHS)
def test_finding_1_every_path_resolves_by_the_rules_and_inherits_nothing(
    path: PublishPath, ruled: Priority | None, page_priority: Priority, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World()
    if ruled is not None:
        world.rules = priority_table([PriorityRule(host="news.example.com", path="^/breaking/", priority=ruled)])
    path(world, monkeypatch, page_priority)
    expected = ruled or Priority.NORMAL
    records = {topic: world.records(topic) for topic in CRAWL_TOPICS.values()}
    assert {topic for topic, found in records.items() if found} == {CRAWL_TOPICS[expected]}
    (record,) = records[CRAWL_TOPICS[expected]]
    assert headers_from_raw(record.headers).priority is expected
    assert (b"1", b"2", b"3")[expected - 1] == dict(record.headers)["priority"]


def test_finding_1_only_publish_and_reparse_give_a_message_headers_of_its_own() -> None:
    """A path that made its own headers would make up a priority; all others carry or evolve the ones they got.

    A reparse is ordered by somebody who says how urgent it is, and its page has no message any more to carry from. A
    trial sends none.
    """
    sending = {"flow/publish.py", "model/headers.py", "model/reparse.py"}
    assert set(_modules_that_call("Headers")) == sending | {"wiring/trial.py"}


def test_finding_1_only_who_was_told_a_priority_asks_for_one() -> None:
    """An explicit priority overrules every rule: seeds and the command line may have one, links never."""
    calls = list(_calls("Request"))
    asking = {module for module, call in calls if any(keyword.arg == "priority" for keyword in call.keywords)}
    assert asking <= {"flow/schedule.py", "cli/publish.py"}
    assert {module for module, _ in calls} >= {"flow/settle.py", "flow/upgrade.py", *asking}


@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("stage", Stage)
def test_a_retry_keeps_its_priority_to_its_topic_and_in_its_header(stage: Stage, priority: Priority) -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host="news.example.com", priority=Priority.NORMAL)])
    sent = crawl_message(URL, priority=priority) if stage is Stage.FETCH else message(priority=priority)
    world.settler(stage).settle(sent, None, TransientError("later"))
    world.fake_clock.advance(10_000)
    assert world.retries.relay() == 1
    (record,) = _all_records(world)
    assert headers_from_raw(record.headers).priority is priority
    if stage is Stage.FETCH:
        assert record.origin.topic == CRAWL_TOPICS[priority].value


@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("stage", [Stage.PARSER, Stage.VALIDATE, Stage.ENRICH])
def test_a_recrawl_keeps_its_priority_whatever_the_rules_say(stage: Stage, priority: Priority) -> None:
    world = World()
    world.rules = priority_table([PriorityRule(host="news.example.com", priority=Priority.NORMAL)])
    sent = message(priority=priority)
    world.settler(stage).settle(sent, decode_payload(RawContentRef, sent.value), NeedsRefetch("no body"))
    world.fake_clock.advance(10_000)
    assert world.retries.relay() == 1
    (record,) = world.records(CRAWL_TOPICS[priority])
    assert headers_from_raw(record.headers).priority is priority
    assert len(_all_records(world)) == 1


@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("stage", Stage)
def test_a_dead_letter_has_the_priority_with_which_it_will_be_redriven(stage: Stage, priority: Priority) -> None:
    world = World()
    sent = crawl_message(URL, priority=priority) if stage is Stage.FETCH else message(priority=priority)
    world.settler(stage).settle(sent, None, PermanentError("gone", code="http_404"))
    (dead,) = world.records(Topic.DLQ)
    assert message_of(dead).headers.priority is priority


@pytest.mark.parametrize("priority", Priority)
def test_finding_19_what_goes_onward_keeps_its_priority_at_every_stage(priority: Priority) -> None:
    world = World()
    forward = RawContentRef(raw_id=1, url=URL, requested_url=URL, target_type=TargetType.ARTICLE, fetched_ms=1)
    for stage in Stage:
        world.settler(stage).settle(message(priority=priority), None, Outcome(forward=forward))
    outputs = [Topic.FETCHED, Topic.NORMALIZED, Topic.VALIDATED, Topic.ENRICHED]
    for topic in outputs:
        (record,) = world.records(topic)
        assert dict(record.headers)["priority"] == str(int(priority)).encode()


def _all_records(world: World) -> list[Record]:
    return [record for topic in Topic for record in world.records(topic)]


def _modules_that_call(name: str) -> Iterator[str]:
    return (module for module, _ in _calls(name))


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    """Every call of that name in the package, with its module."""
    root = Path(issuetracker_dagster.__file__).parent
    for file in root.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if f"{name}(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
                yield file.relative_to(root).as_posix(), node

"""Reparsing: stored pages go round again by id, as fast as the parser reads them, and nothing else happens."""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.flow import reparse
from issuetracker_dagster.flow.reparse import ReparseOptions, Reparser, ReparseReport
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.message import Message, message_of
from issuetracker_dagster.model.payload import RawContentRef, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.records import MadeFrom
from issuetracker_dagster.model.reparse import PageFilter, StoredArticle
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.stage import Topic
from tests.contracts.store_worlds import article, page
from tests.flow.world import World
from tests.migrated import sqlite_at

ALL = PageFilter()


class ReparseWorld(World):
    """With stored pages, and a parser that has `waiting` messages before it."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.sql = SqlStores(connect(sqlite_at(folder / "pages.db")))
        self.waits: Callable[[], int] = lambda: 0

    def store(
        self, url: str, *, source: str = "", fetched_ms: int = 1_000, stored_by: str = "", **fields: object
    ) -> int:
        raw = msgspec.structs.replace(
            page(url, fetched_ms=fetched_ms), source=source, stored_by=stored_by or f"root-of-{url}:2", **fields
        )
        return self.sql.raw_contents.save(raw)

    def reparser(self) -> Reparser:
        return Reparser(
            articles=self.sql.stored_articles,
            waiting=lambda: self.waits(),
            publish=self.producer.publish,
            clock=self.clock,
        )

    def reparse(self, wanted: PageFilter = ALL, rule: ParserRule | None = None, **options: object) -> ReparseReport:
        return self.reparser().run(wanted, msgspec.convert(options, ReparseOptions), rule=rule)

    def sent(self) -> list[Message]:
        return [message_of(record) for record in self.records(Topic.FETCHED)]

    def pages(self) -> list[int]:
        return sorted(decode_payload(RawContentRef, message.value).raw_id for message in self.sent())


@pytest.fixture
def world(tmp_path: Path) -> ReparseWorld:
    return ReparseWorld(tmp_path)


def test_a_page_goes_to_the_parser_under_its_own_root_in_a_generation_of_its_own_and_marked(
    world: ReparseWorld,
) -> None:
    raw_id = world.store("https://news.example.com/a", source="wire", stored_by="abc:4", fetched_ms=77)
    report = world.reparse()
    assert (report.published, report.looked_at, report.reached) == (1, 1, raw_id)
    (message,) = world.sent()
    headers = message.headers
    assert (headers.root_id, headers.priority, headers.is_reparse) == ("abc", Priority.LOW, True)
    assert headers.generation == world.clock.now_ms() // 60_000
    assert (headers.attempt, headers.target_type, message.key) == (1, TargetType.ARTICLE, b"abc")
    payload = decode_payload(RawContentRef, message.value)
    assert (payload.raw_id, payload.source, payload.fetched_ms) == (raw_id, "wire", 77)


def test_only_what_is_meant_goes(world: ReparseWorld) -> None:
    a = world.store("https://news.example.com/world/a", source="wire", fetched_ms=10)
    b = world.store("https://m.news.example.com/b", source="web", fetched_ms=20)
    c = world.store("https://other.org/x.news.example.com/c", fetched_ms=30)
    world.store("https://news.example.com/feed", target_type=TargetType.FEED)
    made = {a: MadeFrom(code_version="old"), b: MadeFrom(code_version="new")}
    for raw_id, made_from in made.items():
        world.sql.contents.save(article(raw_id, raw_id=raw_id, source="by content"), made_from)
    wanted = {
        (a, b, c): PageFilter(),
        (a,): PageFilter(host="news.example.com"),
        (b,): PageFilter(host="*.example.com", since_ms=15),
        (a, b): PageFilter(before_ms=30),
        (b, a)[:1]: PageFilter(sources=("web",)),
        (c,): PageFilter(host="other.org"),
    }
    found = {}
    for meant, wants in wanted.items():
        before = world.pages()
        assert world.reparse(wants, dry_run=True).published == len(meant)
        assert world.pages() == before, "a dry run publishes nothing"
        world.reparse(wants)
        after = world.pages()
        for raw_id in before:
            after.remove(raw_id)
        found[meant] = tuple(after)
    assert found == {meant: tuple(sorted(meant)) for meant in wanted}
    assert world.reparse(PageFilter(code_version="old"), dry_run=True).published == 1
    assert world.reparse(PageFilter(other_than="new"), dry_run=True).published == 1
    rule = ParserRule(host_pattern="news.example.com", path_pattern="^/world/")
    assert world.reparse(rule=rule, dry_run=True).published == 1


def test_a_page_of_before_the_column_has_the_source_of_its_content(world: ReparseWorld) -> None:
    raw_id = world.store("https://news.example.com/a")
    world.sql.contents.save(article(1, raw_id=raw_id, source="wire"))
    assert world.reparse(PageFilter(sources=("wire",))).published == 1
    assert decode_payload(RawContentRef, world.sent()[0].value).source == "wire"


def test_it_waits_while_the_parser_has_enough_to_do(world: ReparseWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reparse, "BATCH", 4)
    for number in range(10):
        world.store(f"https://news.example.com/{number}")
    most = 0

    def waits() -> int:
        nonlocal most
        # The parser reads one page a second.
        waiting = max(0, len(world.sent()) - int(world.fake_clock.monotonic() - began))
        most = max(most, waiting)
        return waiting

    began = world.fake_clock.monotonic()
    world.waits = waits
    assert world.reparse(target=5).published == 10
    assert 0 < most <= 5
    assert world.fake_clock.monotonic() - began >= 4


def test_of_pages_that_few_are_meant_of_whole_batches_are_read_and_the_parser_is_asked_for_those_only(
    world: ReparseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reparse, "BATCH", 10)
    ids = [world.store(f"https://news.example.com/{'ab'[number not in (24, 27, 41)]}/{number}") for number in range(50)]
    sizes: list[int] = []
    asked = 0
    read = world.sql.stored_articles.after

    def after(wanted: PageFilter, after: int, limit: int) -> Sequence[StoredArticle]:
        found = read(wanted, after, limit)
        sizes.append(len(found))
        return found

    def waits() -> int:
        nonlocal asked
        asked += 1
        return 0

    monkeypatch.setattr(world.sql.stored_articles, "after", after)
    world.waits = waits
    rule = ParserRule(host_pattern="news.example.com", path_pattern="^/a/")
    first = world.reparse(rule=rule, limit=1)
    assert (first.published, first.looked_at, first.reached) == (1, 25, ids[24])
    assert (sizes, asked) == ([10, 10, 10], 1)
    assert world.reparse(rule=rule, after=first.reached).published == 2
    assert world.pages() == [ids[24], ids[27], ids[41]]


def test_ended_in_the_middle_it_goes_on_behind_the_page_that_it_reached(
    world: ReparseWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reparse, "BATCH", 4)
    ids = [world.store(f"https://news.example.com/{number}") for number in range(10)]
    answers = iter([None, None, "interrupted by SIGINT"])
    first = world.reparser().run(ALL, ReparseOptions(), control=lambda: next(answers, None))
    assert (first.stopped, first.published) == ("interrupted by SIGINT", 8)
    second = world.reparse(after=first.reached)
    assert second.published == 2
    assert world.pages() == ids
    assert world.reparse(limit=3).published == 3


def test_pages_that_their_rule_read_can_be_left_as_they_are(world: ReparseWorld) -> None:
    became = {"https://news.example.com/a": "used:1", "https://news.example.com/b": "missed:1"}
    pages = {url: world.store(url) for url in (*became, "https://news.example.com/c")}
    for url, what in became.items():
        content = article(pages[url], raw_id=pages[url], url=url)
        world.sql.contents.save(msgspec.structs.replace(content, field_sources={"rule": what}), MadeFrom())
    assert world.reparse(PageFilter(missed=True)).published == 1
    assert world.pages() == [pages["https://news.example.com/b"]]

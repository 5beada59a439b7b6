"""A reparse in the stages: contents in place and each once, no links, no fetch, issues that follow."""

import msgspec

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.flow.upgrade import empty_page
from issuetracker_dagster.model.headers import REPARSE, Headers, TargetType
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.outcome import EMPTY_BODY, HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.parser.version import code_version
from issuetracker_dagster.stages.validate.handler import ValidateHandler
from issuetracker_dagster.stages.validate.options import ValidateOptions
from tests.contracts.store_worlds import article
from tests.stages.parser_world import NOW_MS, ParserWorld, article_html

AGAIN = HandlerContext(Headers(root_id="r", generation=29_000_000, other=((REPARSE, b"1"),)))
FIRST = HandlerContext(Headers(root_id="r"))


def test_the_same_page_read_again_changes_nothing_but_what_it_was_made_from() -> None:
    world = ParserWorld()
    ref = world.stored(article_html())
    first = world.handler.handle(ref, FIRST)
    assert isinstance(first.forward, ContentRef)
    content_id = first.forward.content_id
    before = world.stores.contents.get(content_id)
    again = world.handler.handle(ref, AGAIN)
    assert again.forward == first.forward
    assert world.stores.contents.get(content_id) == before
    made_from = world.stores.contents.made_from(content_id)
    assert made_from is not None
    raw = world.stores.raw_contents.get(ref.raw_id)
    assert raw is not None
    assert (made_from.raw_sha256, made_from.code_version) == (raw.body_sha256, code_version())


def test_a_rule_that_was_mended_a_moment_ago_is_the_one_by_which_pages_are_read_again() -> None:
    def reading(title: str) -> dict[str, SelectorSpec]:
        return {"title": SelectorSpec(css=title), "main_content": SelectorSpec(css="article")}

    world = ParserWorld()
    ref = world.stored(article_html().replace("<article>", "<h2>Our newsletter</h2><article>"))
    spoilt = ParserRule(host_pattern="news.example.com", selectors=reading("h2"))
    world.stores.parser_rules.save(spoilt)
    assert world.content(world.handler.handle(ref, FIRST)).title == "Our newsletter"
    world.stores.parser_rules.save(msgspec.structs.replace(spoilt, selectors=reading("h1")))
    assert world.content(world.handler.handle(ref, AGAIN)).title == "Council votes to rebuild the bridge"


def test_a_reparse_publishes_no_links_and_fetches_nothing() -> None:
    world = ParserWorld()
    index = (
        "<html><body>"
        + "".join(f"<a href='/world/{n}'>Story number {n} of today</a>" for n in range(20))
        + "</body></html>"
    )
    ref = world.stored(index, target_type=TargetType.CATEGORY)
    assert world.handler.handle(ref, FIRST).links
    assert world.handler.handle(ref, AGAIN).links == ()
    gone = msgspec.structs.replace(ref, raw_id=999)
    assert world.handler.handle(gone, AGAIN) == Outcome(note="page_gone")


def test_a_copy_of_the_page_that_is_older_than_the_content_changes_nothing() -> None:
    stores = MemoryStores()
    newer = article(1, fetched_ms=200, title="Of today")
    content_id = stores.contents.save(newer)
    assert stores.contents.save(article(1, fetched_ms=100, title="Of old"), unless_newer=True) == content_id
    kept = stores.contents.get(content_id)
    assert kept is not None
    assert kept.title == "Of today"


def test_old_pages_without_a_body_switch_no_host_to_rendering() -> None:
    ref = RawContentRef(
        raw_id=1, url="https://a.com/1", requested_url="https://a.com/1", target_type=TargetType.ARTICLE, fetched_ms=1
    )
    outcome = Outcome(note=EMPTY_BODY)
    assert empty_page(Message(FIRST.headers, b"", b""), ref, outcome) is not None
    assert empty_page(Message(AGAIN.headers, b"", b""), ref, outcome) is None


def test_validate_asks_for_no_fetch_when_a_page_is_only_read_again() -> None:
    stores = MemoryStores()
    content_id = stores.contents.save(article(1, body="short", fetched_ms=NOW_MS))
    handler = ValidateHandler(stores.contents, FakeClock(NOW_MS), ValidateOptions(reparse_enabled=True))
    assert handler.handle(ContentRef(content_id=content_id, url=""), AGAIN).note.startswith("rejected")


class EnrichWorld:
    """Stores and the enrich stage."""

    def __init__(self) -> None:
        self.stores = MemoryStores()
        self.clock = FakeClock(NOW_MS)
        self.handler = EnrichHandler(self.stores.contents, self.stores.issues, self.clock)

    def content(self, number: int, title: str, body: str) -> int:
        url = f"https://site{number}.example{number}.com/{number}"
        host = f"site{number}.example{number}.com"
        return self.stores.contents.save(
            article(number, url=url, host=host, title=title, body=body, language="en", fetched_ms=NOW_MS - 1_000)
        )

    def enrich(self, content_id: int, context: HandlerContext = FIRST) -> int:
        self.handler.handle(ContentRef(content_id=content_id, url=""), context)
        (view,) = self.stores.issues.views([content_id])
        return view.issue_id


NOTICE = (
    "We value your privacy. Our partners store cookies on your device to measure audiences and choose advertising. " * 4
)
FLOOD = "The river Elbe flooded the old town of Dresden on Monday, and the mayor Anna Krause closed nine bridges. " * 4
STRIKE = "Pilots of the airline Nordwind began a strike in Hamburg on Tuesday, said union leader Jonas Brandt. " * 4


def test_contents_that_were_all_read_as_a_notice_leave_its_issue_when_they_are_read_rightly() -> None:
    world = EnrichWorld()
    ids = [world.content(number, "We value your privacy", NOTICE) for number in (1, 2, 3)]
    (wrong,) = {world.enrich(content_id) for content_id in ids}
    world.content(1, "River Elbe floods the old town of Dresden", FLOOD)
    world.content(2, "Elbe flood: Dresden closes nine bridges", FLOOD)
    world.content(3, "Nordwind pilots strike in Hamburg", STRIKE)
    flood, flood_too, strike = (world.enrich(content_id, AGAIN) for content_id in ids)
    assert flood == flood_too != strike
    assert wrong in (flood, strike), "the last of them keeps the issue"
    issues = {issue_id: world.stores.issues.get(issue_id) for issue_id in (flood, strike)}
    counts = {issue_id: issue.content_count for issue_id, issue in issues.items() if issue}
    assert counts == {flood: 2, strike: 1}
    assert {world.enrich(content_id, AGAIN) for content_id in ids} == {flood, strike}, "twice is as once"


def test_an_old_page_read_again_opens_an_issue_as_old_as_the_page() -> None:
    world = EnrichWorld()
    content_id = world.content(1, "River Elbe floods the old town of Dresden", FLOOD)
    world.clock.advance(3_600_000)
    issue = world.stores.issues.get(world.enrich(content_id, AGAIN))
    assert issue is not None
    assert issue.last_seen_ms == NOW_MS - 1_000

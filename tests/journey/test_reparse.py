"""A rule is mended at the terminal, and what it had spoilt is read again: through Kafka, the queues and SQL, by the
real parser, validator and enricher, without a fetch."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime

import msgspec
import pytest
from click.testing import CliRunner

from issuetracker_dagster.cli.main import cli
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import RawContentRef, encode_payload
from issuetracker_dagster.model.records import Content, ContentStatus, Enrichment, MadeFrom, RawContent, Verdict
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.wiring.handlers import build_handler
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.stage_work import running_intake, running_shift
from tests.waiting import eventually

pytestmark = pytest.mark.services
WORLD, SPORT = "https://news.example.com/world/1", "https://news.example.com/sport/2"
PAGE = """<!doctype html><html lang="en"><head><title>{headline} - Example News</title>
<meta property="og:image" content="https://news.example.com/picture.jpg">
<meta property="article:section" content="Region"><meta property="article:tag" content="Linden"></head><body>
<div class="offer"><h2>Every morning in your inbox: our letter</h2><span class="from">The marketing team</span>
<p>Our editors choose the ten best stories of the day for you and send them before breakfast. Sign up with your address
today, and read the first four weeks without paying anything. You may leave whenever you like, in a single click. On
Saturdays a second letter follows with long reads, puzzles and recipes for the weekend.</p></div>
<article><h1>{headline}</h1><span class="byline">Ida Novak</span><time datetime="{published}">an hour ago</time>
<div class="story">{story}</div></article></body></html>"""
BRIDGE = """<p>The council of Linden voted on Monday to rebuild the bridge over the river, which a flood had carried
away last spring. Mayor Anna Krause said that the work would cost 14 million euros and take two years.</p><p>Until then
a ferry brings pupils and commuters to the other bank. Shopkeepers of the old town had asked for a temporary bridge,
which engineers called too dangerous while the water is high.</p>"""
REGATTA = """<p>The rowing club of Halden won the regatta on Lake Orrin on Sunday, ahead of nine other clubs. Its eight
crossed the line in five minutes and 41 seconds, said the referee Peter Lund.</p><p>The women's four had to give up when
an oar broke. In the evening the winners were welcomed by several hundred people in front of the boat house.</p>"""
SPOILT = {"title": ".offer h2", "author": ".offer .from", "main_content": ".offer p"}
MENDED = {"title": "h1", "author": ".byline", "main_content": ".story"}


class Found(msgspec.Struct, frozen=True):
    """All that the database says of a page that was read."""

    content: Content
    made_from: MadeFrom
    verdict: Verdict
    enrichment: Enrichment


class Desk:
    """Stored pages, and the rows that were made of them."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring

    def store(self, url: str, headline: str, story: str) -> int:
        """Store a page and send it to the parser, as fetch does."""
        now_ms = self._wiring.clock.now_ms()
        root_id = url.rpartition("/")[2]
        published = datetime.fromtimestamp(now_ms / 1000 - 3_600, UTC).isoformat()
        body = PAGE.format(headline=headline, story=story, published=published).encode()
        page = RawContent(
            url=url, requested_url=url, status=200, content_type="text/html; charset=utf-8", body=body,
            body_sha256=f"{root_id:0>64}", fetched_ms=now_ms, stored_by=f"{root_id}:0",
        )  # fmt: skip
        raw_id = self._wiring.stores.raw_contents.save(page)
        reference = RawContentRef(
            raw_id=raw_id, url=url, requested_url=url, target_type=TargetType.ARTICLE, fetched_ms=now_ms
        )
        message = Message(Headers(root_id=root_id), root_id.encode(), encode_payload(reference))
        self._wiring.producer.publish([Outgoing.of(Topic.FETCHED, message)])
        return raw_id

    def page(self, raw_id: int) -> RawContent | None:
        return self._wiring.stores.raw_contents.get(raw_id)

    def enriched(self, url: str, after_ms: int = 0) -> Found:
        """What is known of that page once enrich was done with it after that time."""
        found = eventually(lambda: self._enriched(url, after_ms), timeout_s=120)
        assert found
        return found

    def _enriched(self, url: str, after_ms: int) -> Found | None:
        stores = self._wiring.stores
        rows = [row for number in (1, 2, 3) if (row := stores.contents.get(number)) and row.url == url]
        if not rows or rows[0].status is not ContentStatus.ENRICHED:
            return None
        (content,) = rows
        made_from, verdict = stores.contents.made_from(content.content_id), stores.contents.verdict(content.content_id)
        enrichment = stores.issues.enrichment(content.content_id)
        if not made_from or not verdict or not enrichment or enrichment.enriched_ms <= after_ms:
            return None
        return Found(content, made_from, verdict, enrichment)

    def crawl_jobs(self) -> int:
        """How many jobs were ever published, since nobody reads them here."""
        facts = FACTS[Stage.FETCH]
        return sum(self._wiring.lag.lag(facts.group, [topic.value for topic in facts.inputs]).values())


@contextmanager
def at_work(wiring: Wiring, stages: Sequence[Stage]) -> Iterator[None]:
    """The real handlers of these stages, each in a shift beside the intake of its queue."""
    with ExitStack() as running:
        for stage in stages:
            handler = running.enter_context(closing(build_handler(stage, wiring)))
            running.enter_context(running_intake(wiring, stage))
            running.enter_context(running_shift(wiring, stage, handler))
        yield


def typed(*words: str) -> str:
    result = CliRunner().invoke(cli, list(words))
    assert result.exit_code == 0, result.output
    return result.output


def test_what_a_broken_rule_had_spoilt_is_right_after_a_reparse_and_nothing_is_fetched(wiring: Wiring) -> None:
    selectors = {name: SelectorSpec(css=css) for name, css in SPOILT.items()}
    rule = wiring.stores.parser_rules.save(
        ParserRule(host_pattern="news.example.com", path_pattern="^/world/", selectors=selectors)
    )
    desk = Desk(wiring)
    with at_work(wiring, QUEUED_STAGES):
        raw_id = desk.store(WORLD, "Council votes to rebuild the bridge", BRIDGE)
        desk.store(SPORT, "Halden wins the regatta on Lake Orrin", REGATTA)
        spoilt, other, page = desk.enriched(WORLD), desk.enriched(SPORT), desk.page(raw_id)
        assert (spoilt.content.title, spoilt.content.author) == (
            "Every morning in your inbox: our letter",
            "The marketing team",
        )
        words = [word for name, css in MENDED.items() for word in ("--selector", f"{name}={css}")]
        typed("rules", "edit", str(rule.rule_id), *words)
        assert "1 of 2 pages looked at are read again." in typed("reparse", "--rule", str(rule.rule_id))
        mended = desk.enriched(WORLD, after_ms=spoilt.enrichment.enriched_ms)
    content, was = mended.content, spoilt.content
    assert (content.content_id, content.raw_id) == (was.content_id, raw_id), "the same row, in place"
    assert (content.title, content.author) == ("Council votes to rebuild the bridge", "Ida Novak")
    assert content.body.startswith("The council of Linden voted")
    assert ("breakfast" in was.body, "breakfast" in content.body) == (True, False)
    assert {content.field_sources[name] for name in ("title", "author", "body")} == {"rule"}
    assert (spoilt.made_from.rule_version, mended.made_from.rule_version) == (1, 2)
    assert mended.verdict.accepted
    assert mended.verdict != spoilt.verdict, "it was judged anew"
    assert ("bridge" in spoilt.enrichment.keywords, "bridge" in mended.enrichment.keywords) == (False, True)
    assert desk.enriched(SPORT) == other, "what the rule doesn't read stays"
    assert (desk.page(raw_id), desk.crawl_jobs()) == (page, 0)

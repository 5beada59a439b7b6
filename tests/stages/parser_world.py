"""A parser stage on memory stores, and short ways to put a page in and look at what came out."""

from collections.abc import Callable
from dataclasses import dataclass, field

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import ContentRef, RawContentRef
from issuetracker_dagster.model.records import Content, RawContent
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.urls import normalise
from issuetracker_dagster.stages.parser.handler import ParserHandler
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import InProcessReader, PageReader
from issuetracker_dagster.stages.parser.reading import PageReading, PageRequest, read_page

NOW_MS = 1_796_040_000_000
"""2026-11-30 12:00 UTC."""

PAGE_URL = "https://news.example.com/world/1"
SENTENCE = "The council voted on Monday to rebuild the bridge that the flood had carried away last spring. "


def article_html(body: str = SENTENCE * 6, head: str = "", title: str = "Council votes to rebuild the bridge") -> str:
    paragraphs = "".join(f"<p>{part}</p>" for part in body.split("\n"))
    return (
        f"<html><head><title>{title}</title>{head}</head><body><nav><a href='/'>Home</a></nav>"
        f"<article><h1>{title}</h1>{paragraphs}</article></body></html>"
    )


def read(
    html: str | bytes,
    url: str = PAGE_URL,
    target_type: TargetType = TargetType.ARTICLE,
    rule: ParserRule | None = None,
    content_type: str = "text/html",
) -> PageReading:
    """What an extraction process would answer, without one."""
    body = html.encode() if isinstance(html, str) else html
    return read_page(
        PageRequest(
            body=body, content_type=content_type, url=url, target_type=target_type, fetched_ms=NOW_MS, rule=rule
        )
    )


@dataclass
class ParserWorld:
    """Stores, clock and handler of one parser stage."""

    options: ParserOptions = field(default_factory=ParserOptions)
    reader: PageReader = field(default_factory=InProcessReader)
    clock: FakeClock = field(default_factory=lambda: FakeClock(NOW_MS))
    stores: MemoryStores = field(default_factory=MemoryStores)
    name_of: Callable[[str], str] = normalise

    def __post_init__(self) -> None:
        self.handler = ParserHandler(
            self.stores.raw_contents,
            self.stores.contents,
            self.stores.parser_rules,
            self.reader,
            self.clock,
            self.options,
            name_of=self.name_of,
            seeds=self.stores.seeds,
        )

    def stored(
        self,
        html: str | bytes,
        url: str = PAGE_URL,
        target_type: TargetType = TargetType.ARTICLE,
        *,
        requested_url: str = "",
        depth: int = 0,
        content_type: str = "text/html",
    ) -> RawContentRef:
        """The page in `raw_contents`, as fetch leaves it."""
        raw = RawContent(
            url=url,
            requested_url=requested_url or url,
            status=200,
            content_type=content_type,
            body=html.encode() if isinstance(html, str) else html,
            fetched_ms=NOW_MS,
            target_type=target_type,
        )
        return RawContentRef(
            raw_id=self.stores.raw_contents.save(raw),
            url=url,
            requested_url=requested_url or url,
            target_type=target_type,
            fetched_ms=NOW_MS,
            source="example-feed",
            depth=depth,
        )

    def handle(self, payload: RawContentRef, *, attempt: int = 1) -> Outcome:
        headers = Headers(
            root_id="r1", crawler="news", target_type=payload.target_type, timeout_ms=12_000, attempt=attempt
        )
        return self.handler.handle(payload, HandlerContext(headers))

    def content(self, outcome: Outcome) -> Content:
        """The stored content that an outcome refers to."""
        assert isinstance(outcome.forward, ContentRef)
        content = self.stores.contents.get(outcome.forward.content_id)
        assert content is not None
        return content

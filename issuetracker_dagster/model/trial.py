"""What each stage made of one page that was only tried. Texts from the page are single lines without control
characters, each of a bounded length, so that they can be shown as they are."""

import msgspec

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.stage import Stage

MOST_LINKS = 200
"""How many links are told one by one; counts by verdict are of all."""


class FetchView(msgspec.Struct, frozen=True, kw_only=True):
    """`status` is 0 when nobody answered. `robots`: `allowed`, `disallowed`, `unavailable`, `ignored`, `not_asked`.

    `url` is where redirects ended, `redirects` the URLs before it. `elapsed_ms` is for the page, robots.txt apart.
    """

    url: str
    status: int
    redirects: tuple[str, ...]
    robots: str
    crawl_delay_ms: int
    content_type: str
    bytes: int
    elapsed_ms: int


class FieldView(msgspec.Struct, frozen=True, kw_only=True):
    """A field of an article: an excerpt of its value, the whole value's length in characters, what produced it."""

    name: str
    value: str
    length: int
    origin: str


class LinkView(msgspec.Struct, frozen=True, kw_only=True):
    """A link and its verdict: `wanted` (it would be published), `over_limit`, or why not.

    `priority` and `decided_by` are what it would get; empty unless it is wanted.
    """

    url: str
    target_type: TargetType
    verdict: str
    priority: str = ""
    decided_by: str = ""


class ParserView(msgspec.Struct, frozen=True, kw_only=True):
    """`found`: `article`, `index_page`, `links`, `entries`, `blacklisted`. `rule` says which one, and how it fared.

    `verdicts` counts all links of the page by verdict, `links` are the first of them.
    """

    url: str
    found: str
    rule: str
    charset: str
    replacement_share: float
    fields: tuple[FieldView, ...] = ()
    links: tuple[LinkView, ...] = ()
    verdicts: dict[str, int] = {}


class ValidateView(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict and what it is made of, each score in [0, 1]."""

    accepted: bool
    code: str
    reason: str
    quality: float
    scores: dict[str, float]
    notes: tuple[str, ...]


class EnrichView(msgspec.Struct, frozen=True, kw_only=True):
    """What the content says by itself, by the offline extractor."""

    language: str
    keywords: tuple[str, ...]
    entities: tuple[str, ...]
    claims: tuple[str, ...]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """The stage at which the page's journey would end as a failure or a rejection, and why."""

    stage: Stage
    code: str
    reason: str


class TrialView(msgspec.Struct, frozen=True, kw_only=True):
    """A tried page. A stage is None when the page didn't get there; `fetch` also when the page came from a file.

    `rules` says whose rules were asked.
    """

    url: str
    target_type: TargetType
    rules: str
    fetch: FetchView | None = None
    parser: ParserView | None = None
    validate: ValidateView | None = None
    enrich: EnrichView | None = None
    refused: Refusal | None = None

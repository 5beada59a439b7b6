"""One event in the words of one host: which wording of each fact, in which order, and now and then another figure."""

import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from issuetracker_dagster.local.site.hosts import Host
from issuetracker_dagster.local.site.templates import Wordings, forum_phrases
from issuetracker_dagster.local.site.timeline import ARCHIVED, Event

FIRST_ID = 1_000
"""Ids in URLs are event numbers moved up, so that archived events have positive ones too."""

_DEVIATES_SHARE = 0.3
_REPLIERS = {"en": ("lurker_7", "greenhat"), "ko": ("구름과자", "감나무집")}
_SLUG = re.compile(r"[^a-z0-9]+")


class Story(msgspec.Struct, frozen=True):
    """An article or post. `paragraphs` start with the lead; `replies` are other people's posts below it."""

    story_id: int
    host: Host
    path: str
    section: str
    title: str
    summary: str
    paragraphs: tuple[str, ...]
    author: str
    category: str
    tags: tuple[str, ...]
    published_ms: int
    replies: tuple[tuple[str, str], ...] = ()


def tell(event: Event, host: Host, published_ms: int, seed: int) -> Story:
    """The story of an event on a host; the same arguments give the same story."""
    chance = random.Random(f"{seed}:story:{event.number}:{host.key}")
    place = event.hosts.index(host)
    fills = event.fills
    if host.deviates and chance.random() < _DEVIATES_SHARE:
        fills = _with_another_figure(event)
    blocks = event.kind.blocks

    def worded(wordings: Wordings) -> str:
        # Hosts take turns at the wordings, so that two of one event hardly ever begin alike.
        return wordings[(event.number + place) % len(wordings)].format_map(fills)

    def drawn(wordings: Wordings) -> str:
        return chance.choice(wordings).format_map(fills)

    title, lead = worded(blocks["title"][0]), worded(blocks["lead"][0])
    key = worded(blocks["key"][0])
    details, around = [drawn(one) for one in event.details], [drawn(one) for one in event.around]
    quote = drawn(event.quote)
    section = "breaking" if event.is_breaking else "archive" if event.number < 0 else event.kind.category
    if host.community:
        title, paragraphs, replies = _as_post(event, title, [lead, key, *details[1:], around[0]], chance)
    else:
        chance.shuffle(details)
        chance.shuffle(around)
        paragraphs = [lead, key, *details[:2], quote, *details[2:], *around, drawn(blocks["close"][0])]
        replies = ()
    story_id = event.number + FIRST_ID
    return Story(
        story_id=story_id,
        host=host,
        path=_path(host, section, story_id, title, published_ms),
        section=section,
        title=title,
        summary=lead,
        paragraphs=tuple(paragraphs),
        author=chance.choice(host.staff),
        category=event.kind.category,
        tags=(*event.kind.tags, str(fills["place"]), str(fills["company"])),
        published_ms=published_ms,
        replies=replies,
    )


def event_number(path_and_query: str) -> int | None:
    """The number of the event that a story's path tells; None when it can't be a story's path."""
    found = _ID.search(path_and_query)
    if found is None:
        return None
    number = int(next(filter(None, found.groups()))) - FIRST_ID
    return number if number >= -ARCHIVED else None


_ID = re.compile(r"-(\d{3,12})(?:\.html|/)?$|aid=(\d{3,12})$|/view/(\d{3,12})$|^/[a-z]+/(\d{3,12})/[^/]*$")


def _path(host: Host, section: str, story_id: int, title: str, published_ms: int) -> str:
    day = datetime.fromtimestamp(published_ms / 1000, UTC)
    part = _SECTION_PATHS.get(section, section)
    slug = _SLUG.sub("-", title.lower()).strip("-")[:60].rstrip("-") or "post"
    return {
        "daily": f"/{part}/{day:%Y/%m}/{slug}-{story_id}.html",
        "metro": f"/{part}/{slug}-{story_id}",
        "world": f"/{part}/{slug}-{story_id}/",
        "hanguk": f"/{part}/{day:%Y%m%d}-{story_id}",
        "seoul": f"/{part}/read?aid={story_id}",
        "busan": f"/{part}/view/{story_id}",
        "forum": f"/{section if section in ('breaking', 'archive') else 't'}/{story_id}/{slug}",
    }[host.key]


_SECTION_PATHS = {"사회": "society", "경제": "economy", "스포츠": "sports", "과학": "science", "법원": "courts"}


def section_path(section: str) -> str:
    """The path of a section's own page."""
    return f"/{_SECTION_PATHS.get(section, section)}/"


def _with_another_figure(event: Event) -> dict[str, object]:
    """The event with its key figure a good third higher, as early reports have it."""
    name = next(name for name in event.kind.numbers if f"{{{name}" in event.kind.blocks["key"][0][0])
    figure = event.fills[name]
    if not isinstance(figure, int):
        raise TypeError(f"{name} of {event.kind.name} isn't a figure")
    step = event.kind.numbers[name][2]
    return {**event.fills, name: figure + max(step, figure * 35 // 100 // step * step)}


def _as_post(
    event: Event, title: str, facts: Sequence[str], chance: random.Random
) -> tuple[str, list[str], tuple[tuple[str, str], ...]]:
    phrases = forum_phrases(event.language).blocks
    thread = chance.choice(phrases["prefix"][0]).format(title=title)
    body = [chance.choice(phrases["open"][0]), *facts, chance.choice(phrases["remark"][0])]
    replies = tuple(zip(_REPLIERS[event.language], chance.sample(phrases["reply"][0], 2), strict=True))
    return thread, body, replies

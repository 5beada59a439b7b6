"""Real pages by the thousand: the recorded ones, repeated under URLs of their own until there are enough."""

from collections.abc import Iterator
from itertools import chain, count, islice

from benchmarks.quality.recorded import COLLECTIONS, pages
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import RawContentRef
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.ports.stores import RawContents

FETCHED_MS = 1_764_547_200_000


def recorded_pages(how_many: int) -> Iterator[tuple[str, bytes]]:
    """URL and bytes of each. Raises `FileNotFoundError` where the recorded pages aren't on the machine."""
    known = [(page.gold.url, page.data) for page in chain.from_iterable(map(pages, COLLECTIONS))]
    return islice(((_copy_of(url, copy), data) for copy in count() for url, data in known), how_many)


def _copy_of(url: str, copy: int) -> str:
    return f"{url}{'&' if '?' in url else '?'}copy={copy}" if copy else url


def stored(pages: Iterator[tuple[str, bytes]], raw_contents: RawContents) -> list[RawContentRef]:
    """Put pages where fetch puts them, and return the payloads that it would pass on."""
    return [_stored(url, data, raw_contents) for url, data in pages]


def _stored(url: str, data: bytes, raw_contents: RawContents) -> RawContentRef:
    raw = RawContent(
        url=url,
        requested_url=url,
        status=200,
        content_type="text/html",
        body=data,
        body_sha256=url,  # any: nothing here asks whether a page has changed
        fetched_ms=FETCHED_MS,
        source="bench",
    )
    return RawContentRef(
        raw_id=raw_contents.save(raw),
        url=url,
        requested_url=url,
        target_type=TargetType.ARTICLE,
        fetched_ms=FETCHED_MS,
        source="bench",
    )

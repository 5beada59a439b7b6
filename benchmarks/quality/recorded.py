"""Recorded pages and their gold, from the folder of recorded data beside the repository."""

import gzip
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

COLLECTIONS = ("aeb", "fundus")
FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "data"


class Gold(msgspec.Struct, frozen=True):
    """What people say is on a page; `aeb` knows the body alone. `date` is ISO 8601 with a zone, or empty."""

    id: str
    url: str
    body: str
    title: str | None = None
    authors: tuple[str, ...] | None = None
    date: str | None = None
    lang: str | None = None

    @property
    def moment(self) -> datetime | None:
        return datetime.fromisoformat(self.date) if self.date else None


class Page(msgspec.Struct, frozen=True):
    """A page's bytes as they were served."""

    gold: Gold
    data: bytes


def pages(collection: str, folder: Path = FOLDER) -> Iterator[Page]:
    """The pages of a collection, one at a time. Raises `FileNotFoundError` when it isn't there."""
    for gold in _golds(collection, folder):
        yield _page(gold, collection, folder)


def page(collection: str, page_id: str, folder: Path = FOLDER) -> Page:
    """One page by the id in its gold. Raises `StopIteration` when there is none."""
    return _page(next(gold for gold in _golds(collection, folder) if gold.id == page_id), collection, folder)


def _golds(collection: str, folder: Path) -> Iterator[Gold]:
    for entry in json.loads((folder / "articles" / collection / "gold.json").read_text(encoding="utf-8")):
        yield msgspec.convert(entry, Gold, strict=False)


def _page(gold: Gold, collection: str, folder: Path) -> Page:
    return Page(gold, gzip.decompress((folder / "articles" / collection / f"{gold.id}.html.gz").read_bytes()))

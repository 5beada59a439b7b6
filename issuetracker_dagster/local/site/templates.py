"""Reads `texts/`: what can happen, each fact in several wordings, with blanks for names and figures.

A file is one kind of event. Above the first `=` line it says `category`, `tags`, `number name: low high [step]` (a
figure that each event draws) and `pick name: a | b` (a word that it draws). Below, `= block` opens a fact, and each
line is one wording of it.
"""

import random
from functools import cache
from pathlib import Path

import msgspec

from issuetracker_dagster.local.site.hosts import Language
from issuetracker_dagster.local.site.names import Hangul

_TEXTS = Path(__file__).parent / "texts"

Wordings = tuple[str, ...]


class Kind(msgspec.Struct, frozen=True):
    """A kind of event. `blocks` by name, in file order; there may be several of a name."""

    name: str
    category: str
    tags: tuple[str, ...]
    numbers: dict[str, tuple[int, int, int]]
    picks: dict[str, tuple[str, ...]]
    blocks: dict[str, tuple[Wordings, ...]]

    def drawn(self, chance: random.Random, language: Language) -> dict[str, object]:
        """Figures and words of one event."""
        found: dict[str, object] = {}
        for name, (low, high, step) in self.numbers.items():
            found[name] = chance.randrange(low, high + 1, step)
        for name, words in self.picks.items():
            word = chance.choice(words)
            found[name] = Hangul(word) if language == "ko" else word
        return found


@cache
def kinds(language: Language) -> tuple[Kind, ...]:
    """Every kind of event in that language, in order of name."""
    return tuple(_read(file) for file in sorted((_TEXTS / language).glob("*.txt")))


@cache
def forum_phrases(language: Language) -> Kind:
    """How people open and close a thread."""
    return _read(_TEXTS / f"forum_{language}.txt")


@cache
def side_facts(language: Language) -> Kind:
    """What goes on around any event; it tells events of a kind apart as much as names do."""
    return _read(_TEXTS / f"side_{language}.txt")


def _read(file: Path) -> Kind:
    head, _, rest = file.read_text(encoding="utf-8").partition("\n= ")
    category = ""
    tags: tuple[str, ...] = ()
    numbers: dict[str, tuple[int, int, int]] = {}
    picks: dict[str, tuple[str, ...]] = {}
    for line in filter(None, head.splitlines()):
        what, _, value = line.partition(":")
        word, _, name = what.partition(" ")
        if word == "number":
            low, high, *step = (int(part) for part in value.split())
            numbers[name] = (low, high, step[0] if step else 1)
        elif word == "pick":
            picks[name] = tuple(part.strip() for part in value.split("|"))
        elif word == "tags":
            tags = tuple(part.strip() for part in value.split(","))
        elif word == "category":
            category = value.strip()
    blocks: dict[str, tuple[Wordings, ...]] = {}
    for block in rest.split("\n= "):
        name, *lines = (line.strip() for line in block.splitlines())
        blocks[name] = (*blocks.get(name, ()), tuple(line for line in lines if line))
    return Kind(file.stem, category, tags, numbers, picks, blocks)

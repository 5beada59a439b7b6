"""Which event happens when, and when each host tells it: all from (seed, start, number), nothing is kept."""

import random

import msgspec

from issuetracker_dagster.local.site.hosts import FORUM, NEWS, Host, Language
from issuetracker_dagster.local.site.names import NameBook
from issuetracker_dagster.local.site.templates import Kind, Wordings, kinds, side_facts

ARCHIVED = 60
"""Events told before the last day; they have negative numbers."""
RECENT = 25
"""Events of the 24 hours before the start."""
EVERY_MS = 15_000
"""A new event, from the start on."""

_HOUR_MS = 3_600_000
_LANGUAGES: tuple[Language, ...] = ("en", "en", "ko", "en", "ko")
_DETAILS = 3
_AROUND = {"en": 4, "ko": 5}
"""More of them than of a kind's own facts: they keep two storms from being taken for one."""
_BREAKING_SHARE = 0.2
_FORUM_SHARE = 1 / 3
_FIRST_TOLD_MS, _LAST_TOLD_MS = 5_000, 30_000


class Event(msgspec.Struct, frozen=True):
    """Something that happened at `at_ms`. `fills` are its names, figures and words.

    `details` are facts of its kind, `around` is what goes on beside it; each host tells all of them.
    """

    number: int
    language: Language
    kind: Kind
    at_ms: int
    is_breaking: bool
    fills: dict[str, object]
    details: tuple[Wordings, ...]
    around: tuple[Wordings, ...]
    quote: Wordings
    hosts: tuple[Host, ...]


class Timeline:
    """The events of a seed that began at `epoch_ms` (Unix milliseconds)."""

    def __init__(self, seed: int, epoch_ms: int) -> None:
        self.seed = seed
        self.epoch_ms = epoch_ms
        self._names = NameBook(seed)

    def newest(self, now_ms: int) -> int:
        """The number of the last event that has happened."""
        if now_ms < self.epoch_ms:
            return RECENT - 1
        return RECENT - 1 + (now_ms - self.epoch_ms) // EVERY_MS

    def at_ms(self, number: int) -> int:
        """When an event happens. The archived come two hours apart, the recent fill a day."""
        if number >= RECENT:
            return self.epoch_ms + (number - RECENT + 1) * EVERY_MS
        if number >= 0:
            return self.epoch_ms - (RECENT - number) * 24 * _HOUR_MS // RECENT
        return self.epoch_ms - 24 * _HOUR_MS + number * 2 * _HOUR_MS

    def event(self, number: int) -> Event:
        """The event of that number, from `-ARCHIVED` on."""
        chance = random.Random(f"{self.seed}:event:{number}")
        language, index = _language(number)
        choice, side = kinds(language), side_facts(language)
        kind = choice[(index + self.seed) % len(choice)]
        names = self._names.english(index) if language == "en" else self._names.korean(index)
        told = NEWS[language]
        return Event(
            number=number,
            language=language,
            kind=kind,
            at_ms=self.at_ms(number),
            is_breaking=chance.random() < _BREAKING_SHARE and number >= 0,
            fills={**names, **side.drawn(chance, language), **kind.drawn(chance, language)},
            details=tuple(chance.sample(kind.blocks["detail"], _DETAILS)),
            around=self._around(kind, side, index // len(choice), _AROUND[language]),
            quote=chance.choice(kind.blocks["quote"]),
            hosts=(*told, FORUM) if chance.random() < _FORUM_SHARE else told,
        )

    def _around(self, kind: Kind, side: Kind, turn: int, count: int) -> tuple[Wordings, ...]:
        """What goes on around the event of a kind's turn; those of the next turns share none of it."""
        facts = side.blocks["detail"]
        round_, place = divmod(turn, len(facts) // count)
        mixed = random.Random(f"{self.seed}:around:{kind.name}:{round_}").sample(facts, len(facts))
        return tuple(mixed[place * count : (place + 1) * count])

    def told_ms(self, host: Host, number: int) -> int:
        """When that host publishes its story of the event."""
        delay = random.Random(f"{self.seed}:told:{number}:{host.key}").randrange(_FIRST_TOLD_MS, _LAST_TOLD_MS)
        return self.at_ms(number) + delay


def _language(number: int) -> tuple[Language, int]:
    """The language of an event and its running number among those of the language, from 0 on."""
    round_, place = divmod(number + ARCHIVED, len(_LANGUAGES))
    language = _LANGUAGES[place]
    return language, round_ * _LANGUAGES.count(language) + _LANGUAGES[:place].count(language)

"""A stream of contents whose events are known: reports, short and agency copies, follow-ups that drift, two threads of
one event, recurring formats, in English and Korean. The same seed gives the same stream.

Only a content's `event` tells which belong together. Two events of a topic are told with the same sentences and often
share town, firm, officials and day; two reports of one event often share little more than those.
"""

import random
import re
from collections.abc import Mapping, Sequence
from types import ModuleType

import msgspec

from issuetracker_dagster.model.records import Content
from tests.stages import event_phrases as english
from tests.stages import event_phrases_korean as korean
from tests.stages.event_names import KOREAN_PLACES, PLACES, details
from tests.stages.event_phrases import Topic

START_MS = 1_750_000_000_000 // 86_400_000 * 86_400_000
HOUR_MS = 3_600_000
PER_DAY = 400
"""Contents a day, whatever the length of the stream."""
KOREAN_SHARE = 0.3
FORMATS_SHARE = 0.24
"""Of the events; about an eighth of the contents."""
THREADED_SHARE = 0.15
LARGEST = 40
LATER_H = 16.0
"""From then on most contents are follow-ups."""
_RECALLED = 3
_FORGETTING_H = 10.0
_HOSTS = tuple(f"{name}.example" for name in "abcdefghijklmnopqrstuvwxyz")
_CHOICE = re.compile(r"\{([^{}]*)\}")
_SLOT = re.compile(r"<(\w+)>")
_PARTICLE = re.compile(r"(.)\(([가-힣]+)/([가-힣]+)\)")


class Told(msgspec.Struct, frozen=True):
    """A content, the event that it tells of, and how it does: report, short, copy, thread, later, format."""

    event: str
    kind: str
    content: Content

    @property
    def out_ms(self) -> int:
        return self.content.published_ms


class _Event:
    def __init__(
        self, name: str, topic: Topic, said: Mapping[str, str], colour: Sequence[str], dice: random.Random
    ) -> None:
        self.name, self.topic, self.said, self.colour, self.dice = name, topic, said, colour, dice
        self.told: list[tuple[str, str]] = []
        self.threaded = len(topic.facts) > 6 and dice.random() < THREADED_SHARE

    def tell(self, age_h: float) -> tuple[str, str, str]:
        """Kind, title and body of one more content."""
        kind = self._kind(age_h)
        title, sentences = self._later(age_h) if kind == "later" else {
            "copy": self._copy, "thread": self._thread, "short": self._short,
            "report": self._report,
        }[kind]()  # fmt: skip
        body = "\n".join(sentences)
        if kind in ("report", "thread"):
            self.told.append((title, body))
        return kind, title, body

    def _kind(self, age_h: float) -> str:
        if self.threaded and age_h < 5:
            return "thread"
        if age_h > LATER_H and self.dice.random() < 0.8:
            return "later"
        chance = self.dice.random()
        if chance < 0.2 and self.told:
            return "copy"
        return "short" if chance < 0.4 else "report"

    def _report(self) -> tuple[str, list[str]]:
        lead, *others = self.topic.facts
        chosen = self.dice.sample(others, self.dice.randint(3, len(others)))
        return self._word(self.topic.titles), [self._word(lead), *self._mixed([*chosen, *self._noise(2)])]

    def _thread(self) -> tuple[str, list[str]]:
        which = self.dice.randrange(2)
        lead, *others = self.topic.facts[which::2]
        titles = self.topic.titles[which::2]
        return self._word(titles), [self._word(lead), *self._mixed([*others, *self._noise(1)])]

    def _short(self) -> tuple[str, list[str]]:
        lead, *others = self.topic.facts
        return self._word(self.topic.titles), [self._word(lead), self._word(self.dice.choice(others))]

    def _copy(self) -> tuple[str, list[str]]:
        title, body = self.dice.choice(self.told)
        sentences = body.split("\n")
        kept = sentences[: self.dice.randint(max(3, len(sentences) - 3), len(sentences))]
        return title if self.dice.random() < 0.6 else self._word(self.topic.titles), kept

    def _later(self, age_h: float) -> tuple[str, list[str]]:
        """A follow-up. It recalls the event in a sentence, and less and less of what was said at first."""
        recalled = max(0, _RECALLED - int((age_h - LATER_H) / _FORGETTING_H))
        lead, *others = self.dice.sample(self.topic.later, self.dice.randint(2, len(self.topic.later)))
        old = self.dice.sample(self.topic.facts[1:], recalled)
        sentences = [self._word(lead), self._word(self.topic.recap)]
        return self._word(self.topic.later_titles), [*sentences, *self._mixed([*others, *old, *self._noise(2)])]

    def _noise(self, most: int) -> list[tuple[str, ...]]:
        """What is said of any event, and of any event of the topic."""
        return [*self.dice.sample([(text,) for text in self.colour], most), (self.dice.choice(self.topic.background),)]

    def _mixed(self, facts: Sequence[tuple[str, ...]]) -> list[str]:
        return [self._word(fact) for fact in self.dice.sample(facts, len(facts))]

    def _word(self, ways: Sequence[str]) -> str:
        text = self.dice.choice(ways)
        while _CHOICE.search(text):
            text = _CHOICE.sub(lambda match: self.dice.choice(match.group(1).split("|")), text)
        text = _SLOT.sub(lambda match: self.said[match.group(1)], text)
        text = _PARTICLE.sub(lambda match: match.group(1) + match.group(3 - _closed(match.group(1))), text)
        return text[:1].upper() + text[1:]


class _Format(_Event):
    """A text that comes every day: one form, other figures."""

    def tell(self, age_h: float) -> tuple[str, str, str]:
        lead, *others = self.topic.facts
        facts = [lead, *self.dice.sample(others, self.dice.randint(len(others) - 2, len(others)))]
        body = [*(self._word(fact) for fact in facts), self._word(self.topic.background)]
        return "format", self._word(self.topic.titles), "\n".join(body)


def event_stream(count: int, seed: int = 1) -> list[Told]:
    """`count` contents in order of publication, over `count / PER_DAY` days."""
    dice = random.Random(seed)
    hours = count / PER_DAY * 24
    found: list[Told] = []
    formats: set[str] = set()
    while len(found) < count:
        own = random.Random(dice.random())
        start_h = own.uniform(0, hours)
        if own.random() < FORMATS_SHARE:
            event, ages = _format(start_h, own), sorted(own.uniform(0, 2) for _ in range(own.randint(1, 4)))
            start_h = start_h // 24 * 24 + 6
            if event.name in formats:
                continue
            formats.add(event.name)
        else:
            size = min(LARGEST, int(own.paretovariate(0.8)))
            event, ages = _event(len(found), start_h, own), sorted(own.expovariate(1 / 12) for _ in range(size))
        for age_h in ages[: count - len(found)]:
            found.append(_told(event, age_h, start_h + age_h, len(found)))
    return sorted(found, key=lambda told: (told.out_ms, told.content.url))


def _event(number: int, start_h: float, dice: random.Random) -> _Event:
    language, phrases, places = _language(dice)
    topic = dice.choice(phrases.TOPICS)
    said = details(language, dice.choice(places), int(start_h // 24), dice)
    return _Event(f"{topic.name} {number}", topic, said, phrases.COLOUR, dice)


def _format(start_h: float, dice: random.Random) -> _Event:
    language, phrases, places = _language(dice)
    topic, place, day = dice.choice((phrases.WEATHER, phrases.MARKETS)), dice.choice(places), int(start_h // 24)
    name = f"{topic.name} {place} {day}"
    return _Format(name, topic, details(language, place, day, dice), (), dice)


def _language(dice: random.Random) -> tuple[str, ModuleType, tuple[str, ...]]:
    return ("ko", korean, KOREAN_PLACES) if dice.random() < KOREAN_SHARE else ("en", english, PLACES)


def _told(event: _Event, age_h: float, out_h: float, number: int) -> Told:
    kind, title, body = event.tell(age_h)
    host = event.dice.choice(_HOSTS)
    out_ms = START_MS + int(out_h * HOUR_MS)
    content = Content(
        url=f"https://{host}/{number}", host=host, title=title, author="Newsroom", body=body,
        published_ms=out_ms, fetched_ms=out_ms + 60_000,
    )  # fmt: skip
    return Told(event.name, kind, content)


def _closed(letter: str) -> bool:
    """Whether a Hangul syllable ends in a consonant."""
    code = ord(letter) - 0xAC00
    return 0 <= code < 11_172 and code % 28 > 0

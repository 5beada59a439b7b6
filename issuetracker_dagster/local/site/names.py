"""Invented people, places and companies. Two events of a day share hardly a name, or clustering would join them.

Names are put together from lists whose lengths have no common divisor, so that a name comes back only after their
product of events.
"""

import random
from functools import cache
from pathlib import Path

_TEXTS = Path(__file__).parent / "texts"
_ROLES = ("chief", "second", "witness", "expert")
_RIEUL = 8
_PARTICLES = {
    "은": ("은", "는"),
    "이": ("이", "가"),
    "을": ("을", "를"),
    "과": ("과", "와"),
    "으로": ("으로", "로"),
    "이라": ("이라", "라"),
    "이며": ("이며", "며"),
    "이었": ("이었", "였"),
}


class Person(str):
    """A full name; `last` is what a text goes on with."""

    __slots__ = ()

    @property
    def last(self) -> str:
        return self.rsplit(" ", 1)[-1]


class Hangul(str):
    """A Korean word that brings its particle: `{place:은}` reads `가람시는` or `다솜군은`, as its last sound wants."""

    __slots__ = ()

    def __format__(self, particle: str) -> str:
        if not particle:
            return str(self)
        closed, after_vowel = _PARTICLES[particle]
        final = (ord(self[-1]) - 0xAC00) % 28
        # 로 follows ㄹ too.
        if particle == "으로" and final == _RIEUL:
            final = 0
        return str(self) + (closed if final else after_vowel)


class NameBook:
    """Names by the running number of an event in its language; the seed shuffles the lists."""

    def __init__(self, seed: int) -> None:
        self._lists: dict[str, list[str]] = {}
        for name, words in _lists().items():
            self._lists[name] = random.Random(f"{seed}:{name}").sample(words, len(words))

    def english(self, index: int) -> dict[str, str]:
        """chief, second, witness and expert; place, region, company and rival."""
        people = {
            role: Person(
                f"{self._given(index + 977 * place)} {self._pair('surname', index + 12 * place, index * 5 + 9 * place)}"
            )
            for place, role in enumerate(_ROLES)
        }
        return {
            **people,
            "place": self._pair("place", index, index * 5),
            "region": self._pair("place", index + 20, index * 5 + 17),
            "company": self._pair("company", index, index * 2),
            "rival": self._pair("company", index + 15, index * 2 + 13),
        }

    def korean(self, index: int) -> dict[str, str]:
        """The same roles; people are named whole, as Korean news does."""
        surnames = self._lists["ko_surnames"]
        people = {
            role: Hangul(
                surnames[(index + 5 * place) % len(surnames)]
                + self._pair("ko_given", index + 9 * place, index * 5 + 7 * place)
            )
            for place, role in enumerate(_ROLES)
        }
        return {
            **people,
            "place": Hangul(self._pair("ko_place", index, index * 3) + "시군"[index % 2]),
            "region": Hangul(self._pair("ko_place", index + 20, index * 3 + 14) + "도"),
            "company": Hangul(self._pair("ko_company", index, index * 2)),
            "rival": Hangul(self._pair("ko_company", index + 15, index * 2 + 8)),
        }

    def _given(self, index: int) -> str:
        middles = self._lists["given_middles"]
        ends = self._lists["given_ends"]
        return (
            self._lists["given_starts"][index % len(self._lists["given_starts"])]
            + middles[index % len(middles)]
            + ends[index * 3 % len(ends)]
        )

    def _pair(self, kind: str, first: int, second: int) -> str:
        starts, ends = self._lists[f"{kind}_starts"], self._lists[f"{kind}_ends"]
        return starts[first % len(starts)] + ends[second % len(ends)]


@cache
def _lists() -> dict[str, list[str]]:
    lines = (_TEXTS / "names.txt").read_text(encoding="utf-8").splitlines()
    return {name: words.split() for name, _, words in (line.partition(": ") for line in lines)}

"""What `make quality` measures: every figure by name, and the least or most that it may be."""

import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from benchmarks.quality.readers import Reader, text_of_page
from benchmarks.quality.recorded import Page
from benchmarks.quality.scoring import BodyScore, body_score, mean_score, right_fields, shares

FLOORS = Path(__file__).with_name("floors.json")


class Floors(msgspec.Struct, frozen=True):
    """`least` of figures that must not fall below, `most` of those that must not rise above."""

    least: dict[str, float]
    most: dict[str, float]


class Run(msgspec.Struct):
    """One reader over one collection: a score a page by its id, the share of right fields, CPU seconds a page."""

    scores: dict[str, BodyScore] = {}
    fields: dict[str, float] = {}
    cpu_s: list[float] = []

    @property
    def body(self) -> BodyScore:
        return mean_score(list(self.scores.values()))

    @property
    def median_ms(self) -> float:
        return statistics.median(self.cpu_s) * 1000


def floors() -> Floors:
    """The floors in force."""
    return msgspec.json.decode(FLOORS.read_bytes(), type=Floors)


def runs(pages: Iterable[Page], readers: Mapping[str, Reader], tell: Callable[[str], None]) -> dict[str, Run]:
    """Every reader over the same pages, page by page, so that what else the machine does falls on all alike."""
    found = {name: Run() for name in readers}
    judged: dict[str, list[dict[str, bool]]] = {name: [] for name in readers}
    for page in pages:
        tell(page.gold.id)
        text = text_of_page(page)
        for name, reader in readers.items():
            began_s = time.process_time()
            reading = reader(page, text)
            found[name].cpu_s.append(time.process_time() - began_s)
            found[name].scores[page.gold.id] = body_score(reading.body, page.gold.body)
            if page.gold.title is not None and page.gold.date:
                judged[name].append(right_fields(reading, page.gold))
    for name, run in found.items():
        run.fields = shares(judged[name])
    return found


def korean(pages: Iterable[Page], run: Run) -> list[BodyScore]:
    """The scores of pages whose gold is mostly Hangul."""
    return [run.scores[page.gold.id] for page in pages if _is_hangul(page.gold.body)]


def broken(figures: Mapping[str, float], limits: Floors) -> list[str]:
    """A sentence for every figure out of its limit, and for every limit that nothing was measured for."""
    told = [f"{name} wasn't measured" for name in {**limits.least, **limits.most} if name not in figures]
    for name, least in limits.least.items():
        if figures.get(name, least) < least:
            told.append(f"{name} is {figures[name]:.4f}, its floor {least:.4f}")
    for name, most in limits.most.items():
        if figures.get(name, most) > most:
            told.append(f"{name} is {figures[name]:.3f}, at most {most:.3f} is allowed")
    return told


def fallen(before: Mapping[str, float], now: Mapping[str, float], by: float = 0.005) -> list[tuple[str, float, float]]:
    """Pages whose body F1 fell by more than `by`, worst fall first: id, before, now."""
    worse = [(name, before[name], f1) for name, f1 in now.items() if name in before and before[name] - f1 > by]
    return sorted(worse, key=lambda fall: fall[2] - fall[1])


def kept_pages(path: Path) -> dict[str, dict[str, float]]:
    """Body F1 by collection and page, as last accepted; empty when none was."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _is_hangul(text: str) -> bool:
    return sum("가" <= letter <= "힣" for letter in text) > 0.3 * len(text)

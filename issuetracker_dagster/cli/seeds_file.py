"""The YAML form of seeds: read with every fault named by its line, and written so that reading gives the same.

```yaml
seeds:
  - url: https://news.example.com/rss
    source: example-news
    type: feed            # article, category, feed, sitemap; default feed
    every: 30m            # default 10m, or min
    min: 10m              # bounds inside which the interval adapts; both or neither
    max: 6h
    freshness: 12h        # asked for at high priority when not fetched for so long; default none
    priority: high        # default: as the rules say
    timeout: 30s
    crawler: news
    enabled: false        # default true
```
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import yaml

from issuetracker_dagster.cli.files import NotPlainYaml, composed, value_of
from issuetracker_dagster.model.durations import exact_duration
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority, priority_from_label
from issuetracker_dagster.model.seeds import Seed, seed_faults
from issuetracker_dagster.model.urls import BadUrl, spelled
from issuetracker_dagster.settings.kinds import duration_ms


class WrongSeeds(ValueError):
    """A seed file that can't be used; `faults` are sentences, each with its line and what to write instead."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


class SeedEntry(msgspec.Struct, frozen=True):
    """What one entry of a file says: values by field of `Seed`, and the line of each (`""`: of the entry)."""

    url: str
    values: Mapping[str, object]
    lines: Mapping[str, int]


def read_seeds(text: str, watch: Callable[[list[yaml.Node]], Iterable[yaml.Node]] = iter) -> list[SeedEntry]:
    """The entries of a file; raises `WrongSeeds` with every fault of form. `watch` sees the entries go by."""
    try:
        root = composed(text)
    except NotPlainYaml as error:
        raise WrongSeeds([str(error)]) from None
    faults: list[str] = []
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    lists = [value for key, value in pairs if key.value == "seeds"]
    if len(lists) != 1 or not isinstance(lists[0], yaml.SequenceNode):
        raise WrongSeeds(["the file has no list named seeds; write 'seeds:' and below it '- url: https://...'"])
    faults += [_unknown(key, ("seeds",)) for key, _ in pairs if key.value != "seeds"]
    entries: list[SeedEntry] = []
    first: dict[str, int] = {}
    for node in watch(lists[0].value):
        entry = _entry(node, faults)
        if entry is None:
            continue
        line = first.setdefault(entry.url, entry.lines[""])
        if line != entry.lines[""]:
            faults.append(f"line {entry.lines['url']}, url: {entry.url} is in line {line} already; leave one out")
        entries.append(entry)
    if faults:
        raise WrongSeeds(faults)
    return entries


def merged(entries: Iterable[SeedEntry], known: Mapping[str, Seed], now_ms: int) -> list[Seed]:
    """The seeds that the entries describe; what one doesn't say stays as it is known, or gets the default.

    A shorter interval counts from now, a new freshness target, too. Raises `WrongSeeds` with every fault of meaning.
    """
    faults: list[str] = []
    seeds: list[Seed] = []
    for entry in entries:
        before = known.get(entry.url)
        seed = changed(
            before or Seed(url=entry.url, source="", next_due_ms=now_ms, since_ms=now_ms), entry.values, now_ms
        )
        for field, words in seed_faults(seed):
            faults.append(f"line {entry.lines.get(field, entry.lines[''])}, {field}: {words}")
        seeds.append(seed)
    if faults:
        raise WrongSeeds(faults)
    return seeds


def changed(seed: Seed, values: Mapping[str, object], now_ms: int) -> Seed:
    """The seed with these values; with bounds but no interval it begins inside them."""
    after: Seed = msgspec.structs.replace(seed, **values)
    if "interval_ms" not in values and after.min_interval_ms:
        within = min(max(after.interval_ms, after.min_interval_ms), after.max_interval_ms)
        after = msgspec.structs.replace(after, interval_ms=within or after.interval_ms)
    begins = after.enabled and (not seed.enabled or (after.freshness_ms and not seed.freshness_ms))
    return msgspec.structs.replace(
        after,
        since_ms=now_ms if begins else after.since_ms,
        next_due_ms=min(after.next_due_ms, now_ms + after.interval_ms),
    )


def written(seeds: Iterable[Seed]) -> str:
    """The file of these seeds."""
    plain = {"seeds": [_plain(seed) for seed in seeds]}
    return str(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=10_000))


def _entry(node: yaml.Node, faults: list[str]) -> SeedEntry | None:
    line = node.start_mark.line + 1
    if not isinstance(node, yaml.MappingNode):
        faults.append(f"line {line}: this isn't a seed; write '- url: https://...' and below it 'source: example'")
        return None
    values: dict[str, object] = {}
    lines = {"": line}
    for key, value in node.value:
        name = str(key.value)
        if name not in _READERS:
            faults.append(_unknown(key, tuple(_READERS)))
        elif name in lines:
            faults.append(f"line {key.start_mark.line + 1}, {name}: is there twice; leave one out")
        else:
            lines[name] = key.start_mark.line + 1
            field, read = _READERS[name]
            try:
                values[field] = read(_scalar(value))
            except (BadUrl, ValueError) as error:
                faults.append(f"line {lines[name]}, {name}: {error}")
    for name in ("url", "source"):
        if name not in lines:
            example = "https://news.example.com/rss" if name == "url" else "example-news"
            faults.append(f"line {line}, {name}: missing; write '{name}: {example}'")
    url = values.pop("url", None)
    return SeedEntry(str(url), values, lines) if url else None


def _scalar(node: yaml.Node) -> object:
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError("a list or mapping can't be here; write one value")
    return value_of(node)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{value!r} isn't text; write it in quotes")
    return value.strip()


def _url(value: object) -> str:
    try:
        return spelled(_text(value))
    except BadUrl as error:
        raise BadUrl(f"{error}; write the whole URL, such as https://news.example.com/rss") from None


def _duration(value: object) -> int:
    if value != 0 and not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; write a duration such as 90s, 10m or 6h")
    try:
        return duration_ms(value)
    except ValueError as error:
        raise ValueError(f"{value!r} isn't {error}") from None


def _type(value: object) -> TargetType:
    try:
        return TargetType(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is none of {', '.join(kind.value for kind in TargetType)}") from None


def _priority(value: object) -> int | None:
    return None if value is None else int(priority_from_label(str(value)))


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


_READERS: dict[str, tuple[str, Callable[[object], object]]] = {
    "url": ("url", _url),
    "source": ("source", _text),
    "type": ("target_type", _type),
    "every": ("interval_ms", _duration),
    "min": ("min_interval_ms", _duration),
    "max": ("max_interval_ms", _duration),
    "freshness": ("freshness_ms", _duration),
    "priority": ("priority", _priority),
    "timeout": ("timeout_ms", _duration),
    "crawler": ("crawler", _text),
    "enabled": ("enabled", _switch),
}
"""Key of the file -> field of `Seed`, and how its value is read."""


def _unknown(key: yaml.Node, known: Sequence[str]) -> str:
    if not isinstance(key, yaml.ScalarNode):
        return f"line {key.start_mark.line + 1}: a list or mapping can't be a key; there are {', '.join(known)}"
    near = difflib.get_close_matches(str(key.value), known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"line {key.start_mark.line + 1}: {str(key.value)!r} is unknown; {hint}"


def _plain(seed: Seed) -> dict[str, object]:
    found: dict[str, object] = {"url": seed.url, "source": seed.source, "type": seed.target_type.value}
    found["every"] = exact_duration(seed.interval_ms)
    bounds = ("min", seed.min_interval_ms), ("max", seed.max_interval_ms), ("freshness", seed.freshness_ms)
    found.update({name: exact_duration(ms) for name, ms in bounds if ms})
    if seed.priority is not None:
        found["priority"] = Priority(seed.priority).label
    found["timeout"] = exact_duration(seed.timeout_ms)
    if seed.crawler:
        found["crawler"] = seed.crawler
    found["enabled"] = seed.enabled
    return found

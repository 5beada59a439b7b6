"""The stored page of each seed, found under the name by which the publisher sent for it (decision 75)."""

from collections.abc import Callable, Mapping, Sequence

from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.urls import BadUrl
from issuetracker_dagster.ports.stores import RawContents


def pages_of(
    seeds: Sequence[Seed], raw_contents: RawContents, name_of: Callable[[str], str]
) -> Mapping[str, tuple[str, int]]:
    """By the URL of the seed: hash of its page's body, and when that was last fetched; what never was is left out.

    `name_of` is `Publisher.name_of`. Raises `Unavailable`.
    """
    names = {seed.url: _name(seed.url, name_of) for seed in seeds}
    seen = raw_contents.seen(set(names.values()))
    return {url: seen[name] for url, name in names.items() if name in seen}


def _name(url: str, name_of: Callable[[str], str]) -> str:
    try:
        return name_of(url)
    except BadUrl:
        return url  # it has no page, and publishing it says why

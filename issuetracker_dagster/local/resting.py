"""Seeds of the demo's hosts, which only `demo` serves: they rest while `dev` runs on the same home.

Left on they would fail one after the other and fill the DLQ with letters that tell nothing.
"""

from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from issuetracker_dagster.local import state
from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.ports.seeds import Seeds

_NAMES = frozenset(host.name for host in HOSTS)


def rest(home: Path, seeds: Seeds, now_ms: int) -> int:
    """Switch off those that are on, remember them in the state of the home; returns how many.

    Remembered before they are switched off: a stop in between then loses none of them.
    """
    with state.changing(home):
        known = state.read(home)
        on = [seed.url for seed in seeds.all() if seed.enabled and urlsplit(seed.url).hostname in _NAMES]
        if on:
            state.write(home, replace(known, resting_seeds=tuple(sorted({*known.resting_seeds, *on}))))
        return seeds.set_enabled(on, enabled=False, now_ms=now_ms)


def wake(home: Path, seeds: Seeds, now_ms: int) -> int:
    """Switch those on again that `rest` switched off, no others, and forget them; returns how many changed."""
    with state.changing(home):
        known = state.read(home)
        count = seeds.set_enabled(known.resting_seeds, enabled=True, now_ms=now_ms)
        if known.resting_seeds:
            state.write(home, replace(known, resting_seeds=()))
        return count

"""Feeds that pages announce become seeds that are off: an operator looks at them and switches on what is worth it."""

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.seeds import Seeds

_REMEMBERED = 20_000
_MOST_A_HOST = 50


class FeedOffers:
    """Offers each feed once as long as the process lives, so that a site's thousandth page asks no database.

    A host whose every page announces another feed gets 50 in. Thread-safe.
    """

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._lock = threading.Lock()
        self._offered: OrderedDict[str, None] = OrderedDict()
        self._by_host: Counter[str] = Counter()

    def offer(self, feeds: Sequence[str], page_url: str) -> None:
        """Add the feeds that a page announces; known ones stay as they are. Raises `Unavailable`."""
        host = host_of(page_url)
        new = [feed for feed in feeds if self._is_new(feed, host)]
        if not new:
            return
        self._seeds.add([seed for feed in new if (seed := _seed(feed, host))])
        with self._lock:
            self._by_host[host] += len(new)
            self._offered.update(dict.fromkeys(new))
            while len(self._offered) > _REMEMBERED:
                self._offered.popitem(last=False)

    def _is_new(self, feed: str, host: str) -> bool:
        with self._lock:
            return feed not in self._offered and self._by_host[host] < _MOST_A_HOST


def _seed(feed: str, host: str) -> Seed | None:
    """None for what no seed can be: a page isn't worth less because it announces one."""
    seed = Seed(url=feed, source=f"page:{host}", target_type=TargetType.FEED, enabled=False)
    try:
        check_seed(seed)
    except PermanentError:
        return None
    return seed

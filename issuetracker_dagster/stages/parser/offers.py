"""Feeds that pages announce become seeds that are off: an operator looks at them and switches on what is worth it."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.seeds import Seeds

_REMEMBERED = 20_000
_MOST_A_HOST = 50


class FeedOffers:
    """Offers each feed once as long as the process lives, so that a site's thousandth page asks no database.

    A host whose every page announces another feed gets 50 in, from all processes together; processes that offer at the
    same moment may add a page's feeds each beyond that. Thread-safe.
    """

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._lock = threading.Lock()
        self._offered: OrderedDict[str, None] = OrderedDict()
        self._full_hosts: OrderedDict[str, None] = OrderedDict()

    def offer(self, feeds: Sequence[str], page_url: str) -> None:
        """Add the feeds that a page announces; known ones stay as they are. Raises `Unavailable`."""
        host = host_of(page_url)
        unseen = self._unseen(feeds, host)
        if not unseen:
            return
        source = f"page:{host}"
        left = [seed for feed in unseen if (seed := _seed(feed, source))]
        room = _MOST_A_HOST - self._seeds.count_of(source)
        while left and room > 0:
            # Those that are known take no room, so others may follow them.
            some, left = left[:room], left[room:]
            room -= self._seeds.add(some)
        with self._lock:
            _remember(self._offered, unseen)
            if room <= 0:
                _remember(self._full_hosts, [host])

    def _unseen(self, feeds: Sequence[str], host: str) -> Sequence[str]:
        with self._lock:
            if host in self._full_hosts:
                return ()
            return [feed for feed in feeds if feed not in self._offered]


def _remember(known: OrderedDict[str, None], names: Iterable[str]) -> None:
    known.update(dict.fromkeys(names))
    while len(known) > _REMEMBERED:
        known.popitem(last=False)


def _seed(feed: str, source: str) -> Seed | None:
    """None for what no seed can be: a page isn't worth less because it announces one."""
    seed = Seed(url=feed, source=source, target_type=TargetType.FEED, enabled=False)
    try:
        check_seed(seed)
    except PermanentError:
        return None
    return seed

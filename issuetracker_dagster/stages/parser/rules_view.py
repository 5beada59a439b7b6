"""Rules and blacklist as the parser sees them: read from the store at most every few seconds, not once a link."""

import threading
from collections.abc import Sequence

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistEntry, ParserRule
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.stages.parser.blacklist import Blacklist
from issuetracker_dagster.stages.parser.selection import rule_for

_MOST_HOSTS = 2_000


class RulesView:
    """A short-lived copy of what the store says; a change is seen after `ttl_ms`, one made here at once."""

    def __init__(self, rules: ParserRules, clock: Clock, ttl_ms: int) -> None:
        self._rules = rules
        self._clock = clock
        self._ttl_ms = ttl_ms
        self._lock = threading.Lock()
        self._by_host: dict[tuple[str, TargetType], tuple[int, Sequence[ParserRule]]] = {}
        self._blacklist: tuple[int, Blacklist] | None = None

    def rule(self, url: str, target_type: TargetType, *, is_latest: bool = False) -> ParserRule | None:
        """The rule that holds for a URL of that type, of the latest ones if that matters. Raises `Unavailable`."""
        key = (host_of(url), target_type)
        now_ms = self._clock.now_ms()
        with self._lock:
            kept = self._by_host.get(key)
        if is_latest or kept is None or kept[0] <= now_ms:
            kept = (now_ms + self._ttl_ms, tuple(self._rules.for_host(*key)))
            with self._lock:
                if len(self._by_host) >= _MOST_HOSTS:
                    self._by_host.clear()
                self._by_host[key] = kept
        return rule_for(kept[1], url)

    def is_category(self, url: str) -> bool:
        """Whether a rule names the URL a category, more precisely than any names it an article.

        A category rule without a path says how a host's sections are read, not that all its pages are sections.
        """
        category = self.rule(url, TargetType.CATEGORY)
        if category is None or not category.path_pattern:
            return False
        article = self.rule(url, TargetType.ARTICLE)
        return article is None or len(article.path_pattern) < len(category.path_pattern)

    def blacklist(self) -> Blacklist:
        """All entries, by host. Raises `Unavailable`."""
        now_ms = self._clock.now_ms()
        with self._lock:
            kept = self._blacklist
        if kept is None or kept[0] <= now_ms:
            kept = (now_ms + self._ttl_ms, Blacklist(self._rules.blacklist()))
            with self._lock:
                self._blacklist = kept
        return kept[1]

    def add_to_blacklist(self, entry: BlacklistEntry) -> None:
        """Add an entry, seen here from now on."""
        self._rules.add_to_blacklist(entry)
        with self._lock:
            self._blacklist = None

"""One job on its way through hosts: whom it may ask, how long it may take, and what hosts are told about it."""

import logging
import uuid
from collections.abc import Callable
from types import TracebackType

import msgspec

from issuetracker_dagster.errors import NotDue, PermanentError, TransientError, Unavailable
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.model.urls import authority_of, host_of
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.hosts import HostGate
from issuetracker_dagster.ports.http import TimedOut
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.stages.fetch.options import FetchOptions
from issuetracker_dagster.stages.fetch.recent import Recent
from issuetracker_dagster.stages.fetch.robots import Robots, RobotsAnswer

logger = logging.getLogger(__name__)

_RULES_KEPT = 5_000


class Hosts:
    """What every visit shares: the gate, robots and the fetcher rules of hosts."""

    def __init__(
        self, gate: HostGate, robots: Robots | None, rules: ParserRules, clock: Clock, options: FetchOptions
    ) -> None:
        self.gate = gate
        self.robots = robots
        self.clock = clock
        self.options = options
        self._rules = rules
        self._recent: Recent[str, FetcherRule] = Recent(clock, _RULES_KEPT)

    def rule(self, url: str) -> FetcherRule:
        """The fetcher rule of the URL's host, or the default one; at most `rule_ttl_ms` old."""
        host = host_of(url)
        rule = self._recent.get(host)
        if rule is None:
            rule = self._rules.fetcher_rule(host) or self.options.default_rule
            self._recent.put(host, rule, self.options.rule_ttl_ms)
        return rule

    def forget(self, url: str) -> None:
        """The rule of the URL's host is read anew."""
        self._recent.forget(host_of(url))

    def known(self, url: str) -> "HostRules":
        """What holds for the URL's host as far as it is known now."""
        answer = self.robots.known_of(url, self.user_agent(url)) if self.robots else None
        delay_ms = answer(url).delay_ms if answer else 0
        return HostRules(_slowed(self.rule(url), delay_ms), answer)

    def user_agent(self, url: str) -> str:
        """Who we say we are to that host."""
        return self.rule(url).user_agent or self.options.user_agent


class HostRules:
    """What held for a host at one moment: its pace, and what its robots.txt lets be asked. Asks nobody any more."""

    def __init__(self, pace: FetcherRule, answer: Callable[[str], RobotsAnswer] | None) -> None:
        self.pace = pace
        self._answer = answer

    def allows(self, url: str) -> bool:
        """Whether robots.txt, as far as it is known, lets the URL of that host be asked for."""
        return self._answer is None or self._answer(url).allowed


class Visit:
    """A context that gives back every permit it took. `timeout_ms` bounds all requests for the page together."""

    def __init__(self, hosts: Hosts, timeout_ms: int) -> None:
        self._hosts = hosts
        self._timeout_ms = timeout_ms
        self._deadline: float | None = None
        self._permits: dict[str, str] = {}

    def __enter__(self) -> "Visit":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in list(self._permits):
            self._leave(host)

    def remaining_ms(self, url: str) -> int:
        """What is left of the time, which starts with the first request; raises `TimedOut`."""
        now = self._hosts.clock.monotonic()
        if self._deadline is None:
            self._deadline = now + self._timeout_ms / 1000
        left_ms = round((self._deadline - now) * 1000)
        if left_ms <= 0:
            raise TimedOut(f"{url}: {self._timeout_ms} ms were used up by redirects")
        return left_ms

    def admit(self, url: str) -> None:
        """Everything that must hold before a URL is asked: robots, then a permit of its host.

        A host is entered once a visit; a redirect inside it rides on the same permit and is charged to the host, else a
        host with a burst of one would never get past its own redirect. A robots.txt that isn't known yet is a request
        of its own, after which the host is entered anew, at the pace that it asks for.

        Raises `NotDue`, `PermanentError` `robots_disallowed`, `TransientError`.
        """
        robots, user_agent = self._hosts.robots, self._hosts.user_agent(url)
        host = authority_of(url)
        answer = robots.known(url, user_agent) if robots else RobotsAnswer()
        if answer is not None:
            self._obey(answer, url, host)
        self._enter(url, host, answer)
        if answer is None and robots is not None:
            answer = self._ask(robots, url, user_agent, host)
            self._obey(answer, url, host)
            if answer.was_asked_for or answer.delay_ms:
                # The permit is used up, or it was given at the pace of the rule while the host wants a slower one.
                self._leave(host)
                self._enter(url, host, answer)

    def _enter(self, url: str, host: str, answer: RobotsAnswer | None) -> None:
        pace = _slowed(self._hosts.rule(url), answer.delay_ms if answer else 0)
        if host in self._permits:
            self._hosts.gate.charge(host, pace)
            return
        permit_id = uuid.uuid4().hex
        self._hosts.gate.enter(host, pace, permit_id)
        self._permits[host] = permit_id

    def _leave(self, host: str) -> None:
        try:
            self._hosts.gate.leave(host, self._permits.pop(host))
        except TransientError as failed:
            # The permit runs out by itself; the page in hand is worth more than a tidy gate.
            logger.warning(f"permit of {host} not given back: {failed}", extra=action("redis.unavailable"))

    def _ask(self, robots: Robots, url: str, user_agent: str, host: str) -> RobotsAnswer:
        try:
            answer = robots.read(url, user_agent)
        except Unavailable:
            raise  # a server of ours; the host has done nothing
        except TransientError:
            self.failed(host)
            raise
        if answer.unavailable_until_ms:
            self.failed(host)
            self._hosts.gate.block(host, answer.unavailable_until_ms)
        return answer

    def _obey(self, answer: RobotsAnswer, url: str, host: str) -> None:
        if answer.unavailable_until_ms:
            raise NotDue(host, answer.unavailable_until_ms, "its robots.txt is unavailable")
        if not answer.allowed:
            raise PermanentError(f"robots.txt of {host} disallows {url}", code="robots_disallowed")

    def failed(self, host: str) -> None:
        """Tell the breaker that the host didn't answer as a working one does."""
        if self._hosts.gate.failed(host):
            logger.warning(
                f"{host} failed too often in a row, its jobs wait", extra=action("fetch.breaker_open", host=host)
            )

    def answered(self, host: str) -> None:
        """Tell the breaker that the host works."""
        self._hosts.gate.succeeded(host)

    def leave_alone(self, host: str, until_ms: int) -> None:
        """Nobody asks the host before then."""
        self._hosts.gate.block(host, until_ms)
        logger.info(f"{host} wants to be left alone", extra=action("fetch.blocked", host=host, until_ms=until_ms))


def _slowed(rule: FetcherRule, delay_ms: int) -> FetcherRule:
    """The rule at the pace of a crawl-delay: one request at a time, that far apart."""
    if delay_ms <= 0:
        return rule
    asked = max(3_600_000 // delay_ms, 1)
    pace = min(rule.requests_per_hour, asked) if rule.requests_per_hour > 0 else asked
    return msgspec.structs.replace(rule, requests_per_hour=pace, burst=1, concurrency=1)

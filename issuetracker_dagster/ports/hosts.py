"""What all workers know together of a host: when it may be asked, its robots.txt, who waits, whose pages are empty."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.queue import Lease, OutboxEntry, QueueEntry
from issuetracker_dagster.model.rules import FetcherRule


class HostGate(Protocol):
    """Rate, concurrency, blocks and breaker of each host. `host` is an authority (host:port)."""

    def enter(self, host: str, rule: FetcherRule, permit_id: str) -> None:
        """Take a permit for one request; raises `NotDue` with the earliest time at which asking again makes sense."""

    def charge(self, host: str, rule: FetcherRule) -> None:
        """A further request goes to the host under a permit already held; whoever comes next waits the longer."""

    def leave(self, host: str, permit_id: str) -> None:
        """Give the concurrency permit back."""

    def block(self, host: str, until_ms: int) -> None:
        """Nobody may ask this host before `until_ms` (Retry-After, robots unavailable)."""

    def succeeded(self, host: str) -> None:
        """Close the breaker and forget failures in a row."""

    def failed(self, host: str) -> bool:
        """Count a failure in a row; True when this one opened the breaker."""


SHARED_ROBOTS_MAX_BYTES = 32 * 1024
"""A longer robots.txt, packed, isn't shared: they lie for a day beside messages, in a server that drops nothing."""


class SharedRobots(Protocol):
    """What workers tell each other about robots.txt, so that a host is asked for it once and not by each of them."""

    def get(self, name: str) -> bytes | None:
        """What was put under that name, until its time is over."""

    def put(self, name: str, value: bytes, ttl_ms: int) -> None:
        """Keep it for so long; one of more than `SHARED_ROBOTS_MAX_BYTES` isn't kept, and none is known then."""


class Frontier(Protocol):
    """Jobs whose host isn't due, a queue a host, ordered like a stage queue."""

    def defer(self, host: str, entry: QueueEntry, due_ms: int) -> None:
        """Store the job; the host is looked at again at `due_ms` at the latest."""

    def line_up(self, host: str, entries: Sequence[QueueEntry]) -> None:
        """Store jobs behind others, which is no reason to look at the host sooner; where nobody waits it is one."""

    def waiting(self, host: str) -> bool:
        """Whether jobs wait for this host (a newcomer must then line up too)."""

    def take(self, claim_id: str, limit: int, lease_ms: int) -> Sequence[tuple[str, Lease]]:
        """The best job of each of up to `limit` due hosts, leased, with its host."""

    def ack(self, host: str, lease: Lease) -> None: ...

    def give_back(self, host: str, lease: Lease, due_ms: int) -> None:
        """The host still wasn't due: back in place, looked at again at `due_ms`."""

    def extend(self, host: str, lease: Lease, lease_ms: int) -> bool: ...

    def reap(self, limit: int = 100) -> int:
        """Put back jobs of dead workers; returns how many."""

    def size(self) -> int:
        """Jobs waiting, over all hosts (a counter, not a scan)."""

    def outbox(self, limit: int = 100) -> Sequence[tuple[str, OutboxEntry]]:
        """Jobs on their way to the DLQ (too old, delivered too often, overflow), with their hosts; they stay."""

    def outbox_remove(self, entries: Sequence[tuple[str, OutboxEntry]]) -> int:
        """Remove published outbox entries; returns how many were still there."""

    def settle_writes(self) -> None:
        """Return once every deferred job is on the server's disk, where the server can tell (WAITAOF)."""


class EmptyPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that came out without a body: the message it was, and the job that would fetch it again.

    `owner` is the message's root id, by which it is recognised when it is delivered again.
    """

    owner: str
    job: CrawlJob
    trace_id: str = ""


class EmptyPages(Protocol):
    """The pages without a body of each host, for an hour; tells once that there are enough of them to act."""

    def note(self, host: str, page: EmptyPage, *, switched: bool) -> Sequence[EmptyPage]:
        """Count the page; returns those of the last hour, at most 20, to the one whose page is the fifth.

        The same owner asking again counts once, and gets the pages again until `upgraded` (a worker died in between).
        All others get none. Of a host that is `switched` nothing is counted, unless its upgrade is still under way.
        """

    def upgraded(self, host: str) -> None:
        """What was noted of the host has been acted upon: forget it."""

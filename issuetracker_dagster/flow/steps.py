"""What happens to messages, told in one place: each step becomes figures, and a line in the trace of its message.

The wrappers in `watched` and `watched_queue` tell most of it, the publisher, the buffer and the drainer the rest; none
of them knows what becomes of it. Nothing here asks a server.
"""

import functools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import ParamSpec

from issuetracker_dagster.flow.drain_batch import Job
from issuetracker_dagster.flow.meter import Meter
from issuetracker_dagster.flow.publish import Published
from issuetracker_dagster.flow.settle import Settlement
from issuetracker_dagster.flow.trace_lines import line, line_of_member, line_of_raw, published_detail, settled_line
from issuetracker_dagster.flow.trace_log import TraceLog
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.metrics import MetricName
from issuetracker_dagster.model.priority import Priority, priority_from_headers
from issuetracker_dagster.model.queue import Claim, Lease, PushResult, QueueEntry
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.trace import Action, action
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

LABELS = {priority: priority.label for priority in Priority}
_FAULTS = ("bug_", "hung_")

P = ParamSpec("P")


def harmless(tell: Callable[P, None]) -> Callable[P, None]:
    """Have a bug logged instead of raised."""

    @functools.wraps(tell)
    def told(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            tell(*args, **kwargs)
        except Exception:
            logger.exception("a bug in what is told of messages", extra=action("telemetry.bug"))

    return told


class Steps:
    """Told by the flow of one process, from any thread. Never raises: what it is told of is worth more."""

    def __init__(self, meter: Meter, trace: TraceLog, clock: Clock) -> None:
        self._meter = meter
        self._trace = trace
        self._clock = clock

    @harmless
    def published(self, published: Sequence[Published]) -> None:
        """Crawl jobs went out for the first time, into Kafka or the buffer."""
        for label, count in _by_priority(each.message.headers.priority for each in published).items():
            self._meter.count("issuetracker_published_total", label, amount=count)
        self._trace.note(
            [
                line(each.message.headers, "message.published", each.job.at_ms, detail=published_detail(each))
                for each in published
            ]
        )

    @harmless
    def buffered(self, records: Sequence[Outgoing]) -> None:
        """First publishes were put aside."""
        at_ms = self._clock.now_ms()
        priorities = (priority_from_headers(dict(record.headers).get("priority")) for record in records)
        for label, count in _by_priority(priorities).items():
            self._meter.count("issuetracker_buffered_total", label, amount=count)
        self._trace.note([line_of_raw(record.headers, "buffer.stored", at_ms) for record in records])

    @harmless
    def drained(self, jobs: Sequence[Job]) -> None:
        """Jobs left the buffer: the broker has them."""
        at_ms = self._clock.now_ms()
        lines = []
        for label, count in _by_priority(job.message.headers.priority for job in jobs).items():
            self._meter.count("issuetracker_drained_total", label, amount=count)
        for job in jobs:
            headers, waited_ms = job.message.headers, at_ms - job.buffered_ms
            self._meter.observe("issuetracker_drain_dwell_seconds", waited_ms / 1000, LABELS[headers.priority])
            lines.append(line(headers, "drain.published", at_ms, detail=_in_the_buffer(waited_ms // 1000)))
        self._trace.note(lines)

    @harmless
    def stored(self, stage: Stage, entries: Sequence[QueueEntry], result: PushResult) -> None:
        """An intake pushed a batch into a stage's queue."""
        counts = {"added": result.added, "known": result.known, "promoted": result.promoted}
        for outcome, count in {**counts, "refused": len(result.refused)}.items():
            if count:
                self._meter.count("issuetracker_queue_pushes_total", stage.value, outcome, amount=count)
        if result.evicted:
            self._meter.count("issuetracker_evicted_total", stage.value, amount=result.evicted)
        at_ms, refused = self._clock.now_ms(), frozenset(result.refused)
        stored = [entry.member for entry in entries if entry.member not in refused]
        self._trace.note([line_of_member(member, "intake.stored", at_ms, stage) for member in stored])

    @harmless
    def claimed(self, stage: Stage, claim: Claim, acks: int) -> None:
        """A worker acknowledged and took messages in one call to a stage's queue."""
        now_ms = self._clock.now_ms()
        self.acked(stage, acks, len(claim.refused))
        for lease in claim.leases:
            self._taken(stage, lease.priority, now_ms - lease.arrival_ms)
        expired = sum(lease.deliveries > 1 for lease in claim.leases)
        if expired:
            self._meter.count("issuetracker_leases_expired_total", stage.value, amount=expired)

    @harmless
    def acked(self, stage: Stage, count: int, refused: int) -> None:
        """So many were acknowledged in a stage's queue, of which some were refused."""
        if count - refused > 0:
            self._meter.count("issuetracker_acks_total", stage.value, amount=count - refused)
        if refused:
            self._meter.count("issuetracker_acks_refused_total", stage.value, amount=refused)

    @harmless
    def nacked(self, stage: Stage) -> None:
        """A message was given back to a stage's queue for later."""
        self._meter.count("issuetracker_nacks_total", stage.value)

    @harmless
    def released(self, stage: Stage, count: int) -> None:
        """So many were given back to a stage's queue at their place."""
        if count:
            self._meter.count("issuetracker_releases_total", stage.value, amount=count)

    @harmless
    def taken(self, stage: Stage, message: Message, arrived: Lease | None) -> None:
        """A worker took a message that is in no stage's queue: from Kafka, or from the frontier under a lease."""
        since_ms = arrived.arrival_ms if arrived else message.origin.timestamp_ms if message.origin else None
        if since_ms is not None:
            self._taken(stage, message.headers.priority, self._clock.now_ms() - since_ms)

    @harmless
    def handled(self, stage: Stage, seconds: float) -> None:
        """A handler has returned or raised."""
        self._meter.observe("issuetracker_handler_seconds", seconds, stage.value)

    @harmless
    def fetched(self, host: str, outcome: str) -> None:
        """A host was asked for a page."""
        self._meter.count("issuetracker_fetches_total", host, outcome)

    @harmless
    def settled(self, stage: Stage, message: Message, settlement: Settlement, took_s: float) -> None:
        """A message was settled; nothing has been acknowledged yet."""
        headers, now_ms = message.headers, self._clock.now_ms()
        outcome, label = settlement.kind, LABELS[headers.priority]
        for fault in _FAULTS:
            if outcome.startswith(fault):
                outcome = outcome.removeprefix(fault)
                self._meter.count("issuetracker_handler_faults_total", stage.value, fault[:-1])
        self._meter.count("issuetracker_handled_total", stage.value, label, outcome)
        if stage is Stage.ENRICH and outcome == "forwarded" and headers.first_published_ms:
            waited_s = (now_ms - headers.first_published_ms) / 1000
            self._meter.observe("issuetracker_publish_to_enriched_seconds", waited_s, label)
        if outcome != "dead_lettered":  # else the letter has told
            self._trace.note((settled_line(stage, headers, settlement, outcome, now_ms, took_s),))

    @harmless
    def buried(self, letters: Sequence[Outgoing]) -> None:
        """The DLQ has these letters."""
        now_ms = self._clock.now_ms()
        for letter in letters:
            stage, reason = _note(letter, "dlq_stage"), _note(letter, "dlq_reason")
            self._meter.count("issuetracker_dead_letters_total", stage, reason)
            detail = f"{reason}: {_note(letter, 'dlq_error')}"
            self._trace.note([line_of_raw(letter.headers, "message.dead_lettered", now_ms, stage, detail)])

    @harmless
    def relayed(self, records: Sequence[Outgoing]) -> None:
        """Due retries and recrawls went back to Kafka."""
        self._went("issuetracker_relayed_total", "relay.published", records)

    @harmless
    def redriven(self, records: Sequence[Outgoing]) -> None:
        """Dead letters went round again."""
        self._went("issuetracker_redriven_total", "message.redriven", records)

    def _went(self, name: MetricName, step: Action, records: Sequence[Outgoing]) -> None:
        at_ms = self._clock.now_ms()
        for topic, count in Counter(record.topic for record in records).items():
            self._meter.count(name, str(topic), amount=count)
        self._trace.note([line_of_raw(record.headers, step, at_ms, "", f"to {record.topic}") for record in records])

    def _taken(self, stage: Stage, priority: Priority, waited_ms: float) -> None:
        label = LABELS[priority]
        self._meter.count("issuetracker_claims_total", stage.value, label)
        self._meter.observe("issuetracker_pop_latency_seconds", waited_ms / 1000, stage.value, label)


def _by_priority(priorities: Iterable[Priority]) -> dict[str, int]:
    return {LABELS[priority]: count for priority, count in Counter(priorities).items()}


@functools.lru_cache(256)
def _in_the_buffer(seconds: int) -> str:
    return f"after {about_duration(1000 * seconds)} in the buffer"


def _note(letter: Outgoing, name: str) -> str:
    """A dead-letter header; the last of its name is ours."""
    return next((value.decode("utf-8", "replace") for key, value in reversed(letter.headers) if key == name), "")

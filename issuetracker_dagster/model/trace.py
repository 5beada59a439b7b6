"""The names of log actions, all in one place, so that a log search or a counter never meets a misspelt one."""

from typing import Literal

Action = Literal[
    "message.published", "message.dropped", "message.dead_lettered", "message.retried", "message.recrawled",
    "message.redriven", "message.rejected", "message.ended", "message.came_back", "message.kept",
    "telemetry.waits", "telemetry.bug",
    "message.deferred", "message.forwarded", "publish.fallback", "publish.failed",
    "intake.stored", "intake.skipped", "intake.rewound", "intake.offsets_lost", "intake.lost_lock",
    "lease.expired", "lease.refused", "lease.extended", "lease.released",
    "queue.evicted", "queue.expired", "queue.refused", "queue.reaped", "queue.unavailable", "queue.drained_back",
    "shift.started", "shift.stopping", "shift.ended", "shift.fenced", "shift.paused", "shift.resumed",
    "handler.bug", "handler.failed", "relay.published", "relay.failed", "outbox.published",
    "seed.published", "seed.failed", "kafka.unavailable", "kafka.rebalanced", "kafka.commit_refused",
    "redis.unavailable", "redis.taken_over", "redis.data_lost", "database.unavailable",
    "fetch.blocked", "fetch.breaker_open", "render.unavailable", "render.killed", "robots.unavailable",
    "extract.too_complex", "extract.crashed", "rule.missed", "page.index",
    "enrich.step_failed", "service.started", "service.stopped", "slot.relaunched",
    "slot.zombie", "tick.skipped", "shift.unfenced", "clock.skewed",
    "buffer.stored", "buffer.trimmed", "buffer.recovered", "buffer.emptied", "drain.published", "drain.paused",
    "drain.resumed", "drain.skipped", "drain.fenced", "throttle.held", "throttle.open",
    "page.reparsed", "purge.skipped",
    "rules.refreshed", "rules.refused", "rules.unread", "host.upgraded", "seed.stale", "seed.adapted",
]  # fmt: skip


def action(name: Action, **fields: object) -> dict[str, object]:
    """The `extra` of a log line: `logger.info("…", extra=action("lease.expired", member=m))`."""
    return {"action": name, **fields}

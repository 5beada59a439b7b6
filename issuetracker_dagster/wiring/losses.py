"""What waits in Redis alone at this moment, with the marks by which its loss is noticed."""

from collections.abc import Sequence

import msgspec

from issuetracker_dagster.adapters.redis.frontier import AGENDA
from issuetracker_dagster.adapters.redis.marks import read_mark
from issuetracker_dagster.adapters.redis.retries import RETRIES
from issuetracker_dagster.model.losses import Holding
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.buffering import BUFFER_KEYS, Buffering

RETRY_SET, FRONTIER = "retries", "frontier"


def holding_of(topic: Topic) -> str:
    """The name under which the buffer of a topic is remembered."""
    return f"buffer_{topic.value.rpartition('.')[2]}"


HOLDINGS = {**{holding_of(topic): key for topic, key in BUFFER_KEYS.items()}, RETRY_SET: RETRIES, FRONTIER: AGENDA}
"""Their names, and the keys in whose slot the marks lie."""


def holdings(wiring: Buffering) -> Sequence[Holding]:
    """All of it; raises `Unavailable`."""
    counts = {holding_of(topic): buffer.state().backlog for topic, buffer in wiring.buffers.items()}
    counts |= {RETRY_SET: wiring.retry_set.size(), FRONTIER: wiring.frontier.size()}
    return [
        Holding(name, counts[name], **msgspec.structs.asdict(read_mark(wiring.redis, key)))
        for name, key in HOLDINGS.items()
    ]

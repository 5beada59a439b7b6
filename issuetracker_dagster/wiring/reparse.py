"""The parts of a reparse, from the connections of this process."""

from issuetracker_dagster.flow.reparse import Reparser
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.wiring.parts import Wiring


def reparser(wiring: Wiring) -> Reparser:
    """A reparser by the raw producer. Kafka and Redis are asked only when something is published."""
    return Reparser(
        articles=wiring.stores.stored_articles,
        waiting=lambda: parser_waits(wiring),
        publish=lambda records: wiring.producer.publish(records),
        clock=wiring.machine_clock,
    )


def parser_waits(wiring: Wiring) -> int:
    """Messages before the parser: unread in Kafka, and ready in its queue. Raises `LagUnknown`, `Unavailable`."""
    wiring.ready()
    facts = FACTS[Stage.PARSER]
    unread = wiring.lag.lag(facts.group, [topic.value for topic in facts.inputs])
    return sum(unread.values()) + wiring.queue(Stage.PARSER).depth().ready

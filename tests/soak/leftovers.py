"""Whatever still waits anywhere: in queues, frontier, retry set, buffers, outboxes, and unread in Kafka."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.snapshots import LatestBlacklist
from tests.soak.ledger import Database


def leftovers(wiring: Wiring) -> dict[str, int]:
    """How much waits where; only what isn't zero. Raises `Unavailable` and `LagUnknown`."""
    found: dict[str, int] = {}
    for stage in QUEUED_STAGES:
        depth = wiring.queue(stage).depth()
        found |= {
            f"{stage.value} ready": depth.ready,
            f"{stage.value} leased": depth.leased,
            f"{stage.value} delayed": depth.delayed,
            f"{stage.value} outbox": depth.outbox,
        }
    for topic, buffer in wiring.buffers.items():
        state = buffer.state()
        found |= {
            f"buffer {topic.value} waiting": state.waiting,
            f"buffer {topic.value} draining": state.draining,
            f"buffer {topic.value} outbox": state.outbox,
        }
    found["frontier"] = wiring.frontier.size()
    found["retry set"] = wiring.retry_set.size()
    found |= {f"lag {topic.value}": count for topic, count in wiring.lags().items()}
    return {name: count for name, count in found.items() if count}


def told(left: Mapping[str, int]) -> str:
    """In words."""
    return ", ".join(f"{name} {count}" for name, count in left.items()) or "nothing"


def database_of(wiring: Wiring, file: Path) -> Database:
    """What SQL holds, read past the product but for the blacklist, whose patterns only it can read."""
    with closing(sqlite3.connect(file, timeout=30.0)) as database:
        contents = dict(database.execute("SELECT content_id, status FROM contents"))
        stored = {url for (url,) in database.execute("SELECT requested_url FROM raw_contents")}
        urls = {url for (url,) in database.execute("SELECT url FROM raw_contents")} | stored
        doubled = [url for (url,) in database.execute("SELECT url FROM contents GROUP BY url HAVING count(*) > 1")]
    blacklist = LatestBlacklist(wiring.stores.parser_rules)()
    return Database(contents, stored, {url for url in urls if blacklist.find(url) is not None}, doubled)

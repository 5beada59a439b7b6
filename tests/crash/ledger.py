"""The ledger of a cell: which ids have to arrive where, and what the topics and the database hold in the end."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing

import msgspec
from kafka import KafkaConsumer, TopicPartition

from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring


class Expected(msgspec.Struct, frozen=True):
    """Where each id has to be in the end, and the URLs that the database has to know exactly once."""

    arrivals: Mapping[str, frozenset[str]]
    """Short topic names, by id: one of them is enough."""
    urls: frozenset[str] = frozenset()
    table: str = "contents"

    @property
    def topics(self) -> list[str]:
        return sorted({topic for topics in self.arrivals.values() for topic in topics})


class Ledger:
    """Reads on in the topics at which ids arrive. Every topic has one partition."""

    def __init__(self, wiring: Wiring, expected: Expected) -> None:
        self._wiring = wiring
        self._expected = expected
        self._arrived: Counter[tuple[str, str]] = Counter()
        self._row_ids: dict[str, set[int]] = {}
        connection = wiring.kafka
        self._topics = {connection.topic_name(topic): topic for topic in expected.topics}
        self._consumer = KafkaConsumer(**connection.consumer_options(), fetch_max_wait_ms=50)
        partitions = [TopicPartition(name, 0) for name in self._topics]
        self._consumer.assign(partitions)
        self._consumer.seek_to_beginning(*partitions)

    def read_on(self) -> None:
        """Take note of what has arrived since."""
        while batches := self._consumer.poll(timeout_ms=150):
            for partition, records in batches.items():
                for record in records:
                    self._note(self._topics[partition.topic], record)

    def missing(self) -> list[str]:
        """Ids that aren't in any topic where they belong."""
        return sorted(
            id_
            for id_, topics in self._expected.arrivals.items()
            if not any(self._arrived[id_, topic] for topic in topics)
        )

    def strangers(self) -> list[tuple[str, str]]:
        """Ids in topics where they don't belong."""
        return sorted(
            (id_, topic) for id_, topic in self._arrived if topic not in self._expected.arrivals.get(id_, frozenset())
        )

    def repeated(self) -> int:
        """Records beyond the first of an id."""
        return sum(self._arrived.values()) - len({id_ for id_, _ in self._arrived})

    def rows_amiss(self) -> list[str]:
        """URLs that the database doesn't hold exactly once, and ids that were forwarded with different rows."""
        table = self._expected.table
        column = "requested_url" if table == "raw_contents" else "url"
        file = self._wiring.settings.general.database_url.get_secret_value().removeprefix("sqlite:///")
        with closing(sqlite3.connect(file)) as database:
            rows = Counter(url for (url,) in database.execute(f"SELECT {column} FROM {table}"))  # noqa: S608
        amiss = [url for url in self._expected.urls | set(rows) if rows[url] != int(url in self._expected.urls)]
        return amiss + [id_ for id_, row_ids in self._row_ids.items() if len(row_ids) > 1]

    def close(self) -> None:
        """Let go of the broker."""
        self._consumer.close()

    def _note(self, topic: str, record: "object") -> None:
        headers: Sequence[tuple[str, bytes]] = record.headers  # type: ignore[attr-defined]
        root_id = dict(headers).get("root_id") or record.key  # type: ignore[attr-defined]
        id_ = (root_id or b"").decode()
        self._arrived[id_, topic] += 1
        facts = payload_facts(record.value)  # type: ignore[attr-defined]
        row_id = facts.content_id if topic == Topic.NORMALIZED else facts.raw_id if topic == Topic.FETCHED else 0
        if row_id:
            self._row_ids.setdefault(id_, set()).add(row_id)


def malformed(topic: str, id_: str) -> Outgoing:
    """A record that no stage can read."""
    return Outgoing(topic, id_.encode(), b"\xff\x00 no message", [])

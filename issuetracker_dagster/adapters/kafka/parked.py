"""A guard around the client's fetcher, without which a partition that was paused and resumed may never be read again.

kafka-python 3.0.12 parks records that it has fetched of a paused partition, and takes them out again only while its
in-line slot is None. An exhausted batch in that slot counts as taken, and a partition with parked records isn't fetched
either: it stands still without a word. The contract suite fails without this guard.
"""

from typing import Any


def free_exhausted_slot(consumer: Any) -> None:
    """From now on, free the in-line slot of a `KafkaConsumer` before it looks for records, if its batch is used up."""
    fetcher = consumer._fetcher
    look = fetcher.fetched_records

    def fetched_records(*args: Any, **kwargs: Any) -> Any:
        if not fetcher._next_partition_records:
            fetcher._next_partition_records = None
        return look(*args, **kwargs)

    fetcher.fetched_records = fetched_records

"""The meter: sums in memory that reach the store once, whatever the store does."""

import threading

import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.metrics import MemoryMetricStore
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow import meter as meter_module
from issuetracker_dagster.flow.meter import Meter
from issuetracker_dagster.model.readings import Batch


class Store(MemoryMetricStore):
    """A store that can be out, before it has stored a batch or after."""

    def __init__(self) -> None:
        super().__init__(FakeClock())
        self.is_out = self.loses_replies = False
        self.batches: list[Batch] = []

    def add(self, batch: Batch) -> None:
        if self.is_out:
            raise Unavailable("Redis is out")
        self.batches.append(batch)
        super().add(batch)
        if self.loses_replies:
            raise Unavailable("Redis doesn't answer in time")


@pytest.fixture
def store() -> Store:
    return Store()


def test_sums_are_handed_over_in_one_batch_and_nothing_else_is(store: Store) -> None:
    meter = Meter(store.add)
    for _ in range(3):
        meter.count("issuetracker_claims_total", "parser", "high")
    meter.count("issuetracker_acks_total", "parser", amount=2)
    meter.observe("issuetracker_handler_seconds", 0.004, "parser")
    meter.observe("issuetracker_handler_seconds", 0.005, "parser")
    meter.observe("issuetracker_handler_seconds", 10_000, "parser")
    meter.flush()
    meter.flush()
    assert len(store.batches) == 1
    timed = store.read().histogram("issuetracker_handler_seconds", stage="parser")
    assert {bound: count for bound, count in timed.buckets.items() if count} == {0.005: 2, float("inf"): 1}
    assert timed.sum_s == 10_000.009
    assert store.read().total("issuetracker_claims_total") == 3
    assert store.read().total("issuetracker_acks_total") == 2


def test_while_the_store_is_out_nothing_is_lost(store: Store) -> None:
    meter = Meter(store.add)
    store.is_out = True
    for _ in range(5):
        meter.count("issuetracker_acks_total", "parser")
        with pytest.raises(Unavailable):
            meter.flush()
    store.is_out = False
    meter.flush()
    assert store.read().total("issuetracker_acks_total") == 5


def test_a_batch_whose_reply_was_lost_is_sent_again_as_it_was_and_counts_once(store: Store) -> None:
    meter = Meter(store.add)
    meter.count("issuetracker_acks_total", "parser")
    store.loses_replies = True
    with pytest.raises(Unavailable):
        meter.flush()
    meter.count("issuetracker_acks_total", "parser")
    store.loses_replies = False
    meter.flush()
    assert store.read().total("issuetracker_acks_total") == 2
    assert store.batches[0] == store.batches[1]


def test_a_batch_that_the_store_cant_take_isnt_in_the_way_for_ever(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    meter = Meter(lambda batch: store.add(batch))
    meter.count("issuetracker_acks_total", "parser")
    with monkeypatch.context() as broken:
        broken.setattr(store, "add", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            meter.flush()
    meter.count("issuetracker_acks_total", "parser")
    meter.flush()
    assert store.read().total("issuetracker_acks_total") == 1


def test_a_clock_that_went_back_counts_as_no_time(store: Store) -> None:
    meter = Meter(store.add)
    meter.observe("issuetracker_handler_seconds", -5.0, "parser")
    meter.flush()
    assert store.read().histogram("issuetracker_handler_seconds").sum_s == 0
    assert store.read().histogram("issuetracker_handler_seconds").count == 1


def test_labels_that_a_metric_doesnt_have_are_a_bug() -> None:
    with pytest.raises(TypeError, match="stage"):
        Meter(lambda _: None).count("issuetracker_acks_total")


def test_memory_is_bounded_whatever_hosts_there_are(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meter_module, "MOST_SERIES", 10)
    meter = Meter(store.add)
    for number in range(50):
        meter.count("issuetracker_fetches_total", f"{number}.com", "fetched")
    meter.count("issuetracker_acks_total", "parser")
    meter.flush()
    by_host = store.read().by("issuetracker_fetches_total", "host")
    assert len(by_host) == 11
    assert by_host["other"] == 40
    assert store.read().total("issuetracker_acks_total") == 1


def test_a_label_is_cut_to_a_length(store: Store) -> None:
    meter = Meter(store.add)
    for end in "ab":
        meter.count("issuetracker_fetches_total", "x" * 1_000 + end, "fetched")
    meter.flush()
    assert store.read().by("issuetracker_fetches_total", "host") == {"x" * 100: 2}


def test_nothing_is_lost_between_threads_that_count_and_one_that_hands_over(store: Store) -> None:
    meter = Meter(store.add)

    def work() -> None:
        for _ in range(2_000):
            meter.count("issuetracker_acks_total", "parser")
            meter.observe("issuetracker_handler_seconds", 0.01, "parser")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        meter.flush()
    meter.flush()
    assert store.read().total("issuetracker_acks_total") == 8_000
    assert store.read().histogram("issuetracker_handler_seconds").count == 8_000

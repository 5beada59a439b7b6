"""What slots find on a shelf, and when they wake."""

import threading
import time

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.sources import Delivery
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Origin, Record

LONG_S = 30.0
"""A wait that no test sits out."""


def delivery(name: str) -> Delivery:
    message = Message(Headers(root_id=name), name.encode(), b"{}")
    return Delivery(message, Record(Origin("fetched", 0, 0, 0), name.encode(), b"{}", ()))


def test_a_slot_at_an_empty_shelf_wakes_for_what_is_put_there() -> None:
    shelf, taken = Shelf(SystemClock(), capacity=10), list[Delivery]()
    slot = threading.Thread(target=lambda: taken.extend(shelf.take(1, LONG_S)), daemon=True)
    slot.start()
    put = delivery("new")
    shelf.put([put])
    slot.join(LONG_S / 2)
    assert taken == [put]


def test_a_slot_waits_no_longer_than_until_a_delayed_message_is_due() -> None:
    shelf = Shelf(SystemClock(), capacity=10)
    late = delivery("late")
    shelf.put_later(late, delay_ms=50)
    began = time.monotonic()
    assert shelf.take(1, LONG_S) == [late]
    assert 0.05 <= time.monotonic() - began < LONG_S / 2


def test_a_slot_that_waits_already_looks_anew_when_a_message_is_delayed() -> None:
    shelf, looked = Shelf(SystemClock(), capacity=10), threading.Event()
    taken = list[Delivery]()

    def slot() -> None:
        looked.set()
        while not taken:
            taken.extend(shelf.take(1, LONG_S))

    thread = threading.Thread(target=slot, daemon=True)
    thread.start()
    assert looked.wait(5)
    late = delivery("late")
    shelf.put_later(late, delay_ms=50)
    thread.join(LONG_S / 2)
    assert taken == [late]

"""The one session of this package, with its load."""

from collections.abc import Iterator

import pytest

from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst_load import in_thread
from tests.lifecycle.load import Load, SlotWatch
from tests.lifecycle.session import AT_WORK, PATIENCE_S, Runs, Session
from tests.waiting import eventually


@pytest.fixture(scope="package")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A running `issuetracker dev`; a test that ends it starts it again."""
    made = Session(tmp_path_factory.mktemp("lifecycle"))
    try:
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture(scope="package")
def runs(session: Session) -> Iterator[Runs]:
    """Dagster's records, once all slots are filled."""
    found = Runs(session.home)
    eventually(lambda: set(found.at_work()) == AT_WORK, timeout_s=PATIENCE_S, interval_s=0.5)
    yield found
    found.instance.dispose()


@pytest.fixture(scope="package")
def parts(session: Session) -> Iterator[Wiring]:
    """The parts of a process that goes past the proxy."""
    made = session.parts()
    made.ready()
    yield made
    made.close()


@pytest.fixture(scope="package")
def load(parts: Wiring, runs: Runs) -> Iterator[Load]:
    """Pages and jobs that keep coming, from full strength on."""
    made = Load(parts)
    with in_thread(made.run):
        eventually(lambda: made.handled() > 0, timeout_s=PATIENCE_S, interval_s=0.2)
        yield made


@pytest.fixture(scope="package", autouse=True)
def watch(runs: Runs) -> Iterator[SlotWatch]:
    """Somebody who looks at the slots all the time."""
    made = SlotWatch(runs)
    with in_thread(made.run):
        yield made

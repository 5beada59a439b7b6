"""A process that indexes or redrives letters and kills itself (-9) at the chosen call: `index.record 2`, `commit 1`."""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from issuetracker_dagster.adapters.kafka.intake import KafkaIntakeReader
from issuetracker_dagster.errors import AlreadyRunning
from issuetracker_dagster.flow import redrive
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP, DeadLetterIndexer
from issuetracker_dagster.flow.redrive import RedriveOptions, Redriver, RedriveReport
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.waiting import eventually


class Mortal:
    """Stands before a part; the nth call of `method` kills the process, before or after it has happened."""

    def __init__(self, part: object, method: str, nth: int, *, after: bool) -> None:
        self._part = part
        self._method = method
        self._left = nth
        self._after = after

    def __getattr__(self, name: str) -> Any:
        found: Callable[..., Any] = getattr(self._part, name)
        return self._dying(found) if name == self._method else found

    def _dying(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: object, **named: object) -> object:
            self._left -= 1
            result = call(*args, **named) if self._left or self._after else None
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return wrapped


def once_free(run: Callable[[], RedriveReport]) -> RedriveReport:
    """A redrive that was killed holds its lock until that ends."""

    def tried() -> RedriveReport | None:
        try:
            return run()
        except AlreadyRunning:
            return None

    report = eventually(tried, timeout_s=30)
    assert report is not None
    return report


def main(what: str, method: str, nth: int, when: str) -> None:
    redrive.LOCK_MS = 1_000
    wiring = Wiring(Settings(env_file=None))
    after = when == "after"
    reader = KafkaIntakeReader(wiring.kafka, Topic.DLQ.value, DLQ_GROUP)
    index: Any = Mortal(wiring.stores.dead_letters, method, nth, after=after)
    if what == "index":
        DeadLetterIndexer(
            reader=Mortal(reader, method, nth, after=after),
            index=index,
            clock=wiring.clock,
            forget_after_ms=10**10,
            batch=50,
        ).tick(60_000)
    else:
        producer: Any = Mortal(wiring.producer, method, nth, after=after)
        redriver = Redriver(
            index=index,
            read=wiring.letter_reader.read,
            publish=producer.publish,
            clock=wiring.clock,
            locks=lambda: wiring.locks,
        )
        once_free(lambda: redriver.run(LetterFilter(), RedriveOptions(rate=1_000)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])

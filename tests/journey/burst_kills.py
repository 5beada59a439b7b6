"""When what is killed during a burst."""

import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst_load import Plan, Publishing
from tests.journey.killable import DrainerProcess, Killable
from tests.waiting import eventually

SEED = 20_250_615


class Killing:
    """Kills by how much of the burst has left the buffer, so that each falls into the drain whatever the machine."""

    def __init__(
        self,
        plan: Plan,
        wiring: Wiring,
        publishing: Publishing,
        drainer: DrainerProcess,
        redis: Killable,
        kafka: Killable,
        say: Callable[[str], None],
    ) -> None:
        self._plan = plan
        self._buffer = wiring.buffers[Topic.CRAWL_NORMAL]
        self._publishing = publishing
        self._drainer = drainer
        self._redis = redis
        self._kafka = kafka
        self._say = say
        self._dice = random.Random(SEED)
        self._kills: Counter[str] = Counter()

    def run(self) -> Counter[str]:
        parts = self._plan.drainer_kills + 2
        steps: list[tuple[float, Callable[[], None]]] = [
            (number / parts, self._kill_drainer) for number in range(1, parts - 1)
        ]
        steps += [(0.35, self._kill_kafka), (0.7, self._kill_redis)]
        for share, kill in sorted(steps, key=lambda step: step[0]):
            eventually(lambda share=share: self._gone() >= share * self._plan.jobs, timeout_s=600)  # type: ignore[misc]
            kill()
        return self._kills

    def _gone(self) -> int:
        published = len(self._publishing.published)
        with suppress(Unavailable):
            return published - self._buffer.state().backlog
        return 0

    def _kill_drainer(self) -> None:
        """While it has a batch in hand, and there at any moment of it."""
        with suppress(AssertionError, Unavailable):
            eventually(lambda: self._buffer.state().draining, timeout_s=10, interval_s=0.0005)
        time.sleep(self._dice.uniform(0, 0.01))  # the moment of the kill, not a wait
        self._drainer.kill()
        self._noted("drainer")
        self._drainer.start()

    def _kill_kafka(self) -> None:
        self._kafka.kill()
        self._noted("kafka")
        self._kafka.start()
        self._say("Kafka is back")

    def _kill_redis(self) -> None:
        """When all is published: without Redis a publisher goes past the buffer on purpose, and past the target."""
        eventually(lambda: self._publishing.seconds, timeout_s=600)
        self._redis.kill()
        self._noted("redis")
        self._redis.start()
        self._say("Valkey is back")

    def _noted(self, what: str) -> None:
        self._kills[what] += 1
        self._say(f"killed: {what}, {len(self._publishing.published):,} published")

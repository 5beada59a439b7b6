"""A burst of normal jobs into a pipeline with a slow crawler, while its drainer and its servers are killed.

Shared by the test, which asserts what the ledger says, and the benchmark, which prints it.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.stage import Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.burst_kills import Killing
from tests.journey.burst_load import LagWatch, Plan, Publishing, SlowCrawler, in_thread, relay_until
from tests.journey.drainer import LOCK_TTL_VARIABLE
from tests.journey.killable import DrainerProcess, Killable, draining_process, killable_kafka, killable_valkey
from tests.journey.ledger import Figures, everything, figures_of
from tests.waiting import eventually

LOCK_TTL_MS = 3_000


def run_burst(plan: Plan, folder: Path, say: Callable[[str], None] = lambda _: None) -> Figures:
    """Start servers in `folder`, do all of it, and read the ledger."""
    with killable_valkey(folder / "valkey") as redis, killable_kafka(folder / "kafka") as kafka, ExitStack() as stack:
        environment = environment_of(plan, redis, kafka, folder)
        upgrade(environment["DATABASE_URL"])
        wiring = stack.enter_context(wiring_of(environment, folder))
        passing = stack.enter_context(fallbacks())
        watch = LagWatch(wiring)
        crawler = SlowCrawler(wiring, plan.rate)
        stack.enter_context(in_thread(watch.run))
        stack.enter_context(in_thread(crawler.run))
        stack.enter_context(in_thread(lambda ended: relay_until(wiring, ended)))
        drainer = stack.enter_context(draining_process(environment, folder / "drainer.log"))
        eventually(wiring.buffer_switch.is_on, timeout_s=30)
        return _burst(plan, wiring, watch, passing, drainer, redis, kafka, say)


def _burst(
    plan: Plan,
    wiring: Wiring,
    watch: "LagWatch",
    passing: Counter[str],
    drainer: DrainerProcess,
    redis: Killable,
    kafka: Killable,
    say: Callable[[str], None],
) -> Figures:
    publishing = Publishing(wiring, plan)
    began = time.monotonic()
    with in_thread(publishing.run):
        kills = Killing(plan, wiring, publishing, drainer, redis, kafka, say).run()
        eventually(lambda: publishing.seconds, timeout_s=600)
        eventually(lambda: is_drained(wiring), timeout_s=30 + 3 * plan.jobs / plan.rate, interval_s=0.1)
    drain_s = time.monotonic() - began
    assert drainer.end() == 0
    say(f"drained after {drain_s:.0f} s; reading the ledger")
    return figures_of(publishing, everything(wiring, Topic.CRAWL_NORMAL), watch, passing, kills, drain_s)


def environment_of(plan: Plan, redis: Killable, kafka: Killable, folder: Path) -> dict[str, str]:
    """The settings of every process of the burst."""
    return {
        "ISSUETRACKER_HOME": str(folder / "home"),
        "KAFKA_BOOTSTRAP_SERVERS": kafka.address,
        "REDIS_URL": redis.address,
        "DATABASE_URL": f"sqlite:///{folder / 'burst.db'}",
        "PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG": str(plan.target),
        "PUBLISHER_REDIS_BUFFER_DRAIN_BATCH": str(plan.batch),
        "PUBLISHER_REDIS_BUFFER_MAX_LEN": "0",
        LOCK_TTL_VARIABLE: str(LOCK_TTL_MS),
    }


@contextmanager
def wiring_of(environment: Mapping[str, str], folder: Path) -> Iterator[Wiring]:
    """The parts of this process, its topics created."""
    file = folder / "settings.env"
    file.write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
    wiring = Wiring(Settings(env_file=file))
    wiring.ready()
    try:
        yield wiring
    finally:
        wiring.close()


@contextmanager
def fallbacks() -> Iterator[Counter[str]]:
    """How often publishers of this process went past the buffer, or published without dedupe."""
    counts: Counter[str] = Counter()

    class Counting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            counts[str(getattr(record, "action", ""))] += 1

    handler, logger = Counting(logging.WARNING), logging.getLogger("issuetracker_dagster.flow")
    logger.addHandler(handler)
    try:
        yield counts
    finally:
        logger.removeHandler(handler)


def is_drained(wiring: Wiring) -> bool:
    """Whether nothing waits in the buffer, nor in the retry set because of it."""
    try:
        state = wiring.buffers[Topic.CRAWL_NORMAL].state()
    except Unavailable:
        return False
    return not state.backlog and not state.paused

"""Finding 44: a message that ends its workers ends in the DLQ, and its neighbours don't notice."""

import threading
from collections.abc import Callable, Iterator

import pytest

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.memory.frontier import MemoryFrontier
from issuetracker_dagster.adapters.memory.readers import MemoryGroupReader
from issuetracker_dagster.errors import NotDue, TransientError, Unavailable
from issuetracker_dagster.flow import work
from issuetracker_dagster.flow.direct import DirectSource, TopicFeed
from issuetracker_dagster.flow.frontier import FetchSource
from issuetracker_dagster.flow.frontier_feed import FrontierFeed
from issuetracker_dagster.flow.handle import StageWork
from issuetracker_dagster.flow.shelf import Shelf
from issuetracker_dagster.flow.slot import Pool
from issuetracker_dagster.flow.sources import QueueSource
from issuetracker_dagster.flow.work import Crew
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueLimits, queue_entry
from issuetracker_dagster.model.stage import CRAWL_TOPICS, FACTS, Stage, Topic
from tests.flow.world import World, crawl_message, dlq_notes, message
from tests.waiting import eventually, stays

PARSERS = FACTS[Stage.PARSER].group
CRAWL = CRAWL_TOPICS[Priority.NORMAL]

Handle = Callable[[str], Outcome]


class Handling:
    """A handler made of a function, noting whom it was asked about and how many at once."""

    def __init__(self, handle: Handle) -> None:
        self.asked: list[str] = []
        self.at_work: set[str] = set()
        self.company: dict[str, set[str]] = {}
        self._handle = handle
        self._lock = threading.Lock()

    def handle(self, payload: RawContentRef | CrawlJob, context: HandlerContext) -> Outcome:
        with self._lock:
            self.asked.append(context.root_id)
            self.at_work.add(context.root_id)
            for one in self.at_work:
                self.company.setdefault(one, set()).update(self.at_work - {one})
        try:
            return self._handle(context.root_id)
        finally:
            with self._lock:
                self.at_work.discard(context.root_id)

    def close(self) -> None:
        pass


class Stand:
    """A world with crews of the parser on Kafka or a queue, or of fetch; all of it ended with the test."""

    def __init__(self) -> None:
        self.world = World(SystemClock())
        self.queue = self.world.queue(max_deliveries=100)
        self.frontier = MemoryFrontier(QueueLimits(max_deliveries=1_000), self.world.clock)
        self._closing: list[Callable[[], object]] = []

    def direct(self, handler: Handling, slots: int = 1, lease_ms: int = 60_000, grace_s: float = 2) -> Crew:
        shelf = Shelf(self.world.clock, capacity=8)
        reader = MemoryGroupReader(self.world.broker, [Topic.FETCHED.value], PARSERS)
        feed = TopicFeed(Stage.PARSER, reader, {Topic.FETCHED.value: shelf}, self.world.producer, self.world.clock)
        source = DirectSource(feed, shelf, self.world.start_counts())
        crew = self._crew(handler, Pool(source, slots), lease_ms)
        self._closing += [source.close, feed.close, lambda: crew.finish(grace_s)]
        self._reader = reader
        feed.start()
        crew.start()
        return crew

    def on_queue(self, handler: Handling, slots: int = 1, lease_ms: int = 60_000) -> Crew:
        source = QueueSource(
            Stage.PARSER,
            self.queue,
            self.world.producer,
            self.world.clock,
            alone=self.world.alone_counts(),
            lease_ms=lease_ms,
            pop_timeout_ms=20,
        )
        crew = self._crew(handler, Pool(source, slots), lease_ms)
        self._closing.append(lambda: crew.finish(2))
        crew.start()
        return crew

    def fetch(self, handler: Handling) -> Crew:
        shelf = Shelf(self.world.clock, capacity=8)
        reader = MemoryGroupReader(self.world.broker, [CRAWL.value], FACTS[Stage.FETCH].group)
        feed = TopicFeed(Stage.FETCH, reader, {CRAWL.value: shelf}, self.world.producer, self.world.clock)
        supply = FrontierFeed(self.frontier, dict.fromkeys(Priority, shelf), self.world.producer, self.world.clock)
        source = FetchSource(feed, self.frontier, shelf, self.world.start_counts(), self.world.clock)
        settler = self.world.settler(Stage.FETCH)
        doing: StageWork[CrawlJob] = StageWork(
            stage=Stage.FETCH, payload_type=CrawlJob, handler=handler, settler=settler
        )
        crew = Crew(doing, [Pool(source, 1)], self.world.clock, max_batch=1)
        self._closing += [source.close, feed.close, supply.close, lambda: crew.finish(2)]
        feed.start()
        supply.start()
        crew.start()
        return crew

    def _crew(self, handler: Handling, pool: Pool, lease_ms: int) -> Crew:
        doing: StageWork[RawContentRef] = StageWork(
            stage=Stage.PARSER,
            payload_type=RawContentRef,
            handler=handler,
            settler=self.world.settler(Stage.PARSER),
        )
        return Crew(doing, [pool], self.world.clock, lease_ms=lease_ms)

    def died(self, times: int, *root_ids: str) -> None:
        """Workers died while they handled these from Kafka."""
        for root_id in root_ids:
            for _ in range(times):
                self.world.starts.begin(f"{root_id}:0")

    def died_alone(self, times: int, root_id: str) -> None:
        """Workers died while they handled this one from the queue and nothing else."""
        for _ in range(times):
            self.world.alone_starts.begin(f"{root_id}:0")

    def lost_leases(self, times: int, *root_ids: str) -> None:
        """Workers died while they held these from the queue."""
        self.queue.push([queue_entry(message(root_id)) for root_id in root_ids])
        for time in range(times):
            claims = [self.queue.claim(f"dead{time}-{n}", 1, 1).leases for n in range(len(root_ids))]
            assert sum(map(len, claims)) == len(root_ids)
            eventually(lambda: self.queue.reap() + self.queue.depth().ready >= len(root_ids))

    def rebalance(self) -> None:
        """The partitions of `direct` go to another member, which begins with what isn't committed, and come back."""
        self._reader.give_up(frozenset(self.world.broker.partitions([Topic.FETCHED.value])))

    def reasons(self) -> dict[str, str]:
        return {
            dict(record.headers)["root_id"].decode(): dlq_notes(record)["reason"]
            for record in self.world.records(Topic.DLQ)
        }

    def committed(self) -> int:
        return sum(position.offset for position in self.world.broker.committed(PARSERS).values())

    def close(self) -> None:
        while self._closing:
            self._closing.pop()()


@pytest.fixture
def stand() -> Iterator[Stand]:
    made = Stand()
    yield made
    made.close()


def done(root_id: str) -> Outcome:
    return Outcome(note="done")


def test_44_in_direct_mode_a_message_that_cost_its_workers_their_lives_ends_in_the_dlq_unhandled(stand: Stand) -> None:
    stand.died(5, "poison")
    stand.died(4, "accused")
    stand.world.send(Topic.FETCHED, message("poison"), message("accused"), message("good"))
    handler = Handling(done)
    stand.direct(handler)
    eventually(lambda: stand.committed() == 3)
    assert stand.reasons() == {"poison": "max_deliveries"}
    assert sorted(handler.asked) == ["accused", "good"]


def test_44_in_direct_mode_only_what_was_begun_counts_and_only_until_it_is_settled(stand: Stand) -> None:
    release = threading.Event()

    def wait(root_id: str) -> Outcome:
        release.wait(10)
        return Outcome(note="done")

    stand.world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(6)])
    handler = Handling(wait)
    stand.direct(handler)
    eventually(lambda: handler.asked)
    assert dict(stand.world.starts.counts) == {f"{handler.asked[0]}:0": 1}
    release.set()
    eventually(lambda: stand.committed() == 6)
    eventually(lambda: not stand.world.starts.counts)


def test_44_a_worker_that_ends_in_order_leaves_no_count_of_what_it_gives_back(stand: Stand) -> None:
    stuck = threading.Event()

    def wait(root_id: str) -> Outcome:
        stuck.wait(10)
        return Outcome(note="done")

    stand.world.send(Topic.FETCHED, message("slow"))
    stand.direct(Handling(wait), grace_s=0.1)
    eventually(lambda: stand.world.starts.counts)
    stand.close()
    assert not stand.world.starts.counts
    stuck.set()


def test_44_on_a_queue_deaths_count_from_the_moment_that_a_message_was_alone(stand: Stand) -> None:
    """Two shared deaths and three alone are five; leases lost beside others, however many, are nobody's deaths."""
    stand.lost_leases(9, "poison", "accused", "unlucky")
    stand.died_alone(3, "poison")
    stand.died_alone(2, "accused")
    handler = Handling(done)
    stand.on_queue(handler)
    eventually(lambda: stand.queue.depth().total == 0)
    assert stand.reasons() == {"poison": "max_deliveries"}
    assert sorted(handler.asked) == ["accused", "unlucky"]
    eventually(lambda: not stand.world.alone_starts.counts)


@pytest.mark.parametrize("mode", ["queue", "direct"])
def test_44_what_happens_while_a_suspect_waits_to_be_alone_is_no_death_of_its_own(stand: Stand, mode: str) -> None:
    """The one that it waits for may be the one that ends the process."""
    deadly, waits = threading.Event(), "suspect:0"

    def wait(root_id: str) -> Outcome:
        if root_id == "deadly":
            deadly.wait(10)
        return Outcome(note="done")

    handler = Handling(wait)
    if mode == "direct":
        stand.died(2, "suspect")
        stand.world.send(Topic.FETCHED, message("deadly"))
        crew = stand.direct(handler, slots=2)
        eventually(lambda: handler.at_work == {"deadly"})
        stand.world.send(Topic.FETCHED, message("suspect"))
    else:
        stand.lost_leases(2, "suspect")
        stand.queue.push([queue_entry(message("deadly", Priority.HIGH))])
        crew = stand.on_queue(handler, slots=2)
    eventually(lambda: not crew._turns.are_open)
    counted = stand.world.starts.counts if mode == "direct" else stand.world.alone_starts.counts
    assert counted.get(waits, 0) == (2 if mode == "direct" else 0)
    deadly.set()
    eventually(lambda: "suspect" in handler.asked)
    eventually(lambda: not counted)


def test_44_a_partition_that_goes_to_another_member_takes_the_starts_of_its_messages_with_it(stand: Stand) -> None:
    """However often it changes hands while its handlers run, nobody has died of the message."""
    never = threading.Event()

    def slow(root_id: str) -> Outcome:
        never.wait(20)
        return Outcome(note="done")

    stand.world.send(Topic.FETCHED, message("slow"))
    handler = Handling(slow)
    crew = stand.direct(handler, slots=7)
    for times in range(1, 7):
        eventually(lambda times=times: len(handler.asked) == times)  # type: ignore[misc]
        assert stand.world.starts.counts["slow:0"] == 1
        stand.rebalance()
    never.set()
    eventually(lambda: crew.counts().get("done") == 7)
    eventually(lambda: not stand.world.starts.counts)
    assert stand.reasons() == {}


def test_44_a_message_whose_workers_died_twice_is_handled_alone(stand: Stand) -> None:
    pause = threading.Event()

    def work_a_while(root_id: str) -> Outcome:
        pause.wait(0.02)
        return Outcome(note="done")

    stand.died(2, "suspect")
    stand.world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(10)], message("suspect"))
    stand.world.send(Topic.FETCHED, *[message(f"n{n}") for n in range(10)])
    handler = Handling(work_a_while)
    stand.direct(handler, slots=4)
    eventually(lambda: stand.committed() == 21)
    assert "suspect" in handler.asked
    assert not handler.company["suspect"]
    assert any(handler.company.values())


def test_44_on_a_queue_too_and_a_second_one_waits_without_a_lease(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "ALONE_DELAY_MS", 50)
    release = threading.Event()

    def wait(root_id: str) -> Outcome:
        if root_id.startswith("suspect"):
            release.wait(10)
        return Outcome(note="done")

    stand.lost_leases(2, "suspect1", "suspect2")
    handler = Handling(wait)
    stand.on_queue(handler, slots=3)
    eventually(lambda: handler.at_work)
    stand.queue.push([queue_entry(message("good"))])
    eventually(lambda: stand.queue.depth().leased == 1)
    assert stays(lambda: stand.queue.depth().leased == 1 and len(handler.asked) == 1, for_s=0.3, interval_s=0.01)
    release.set()
    eventually(lambda: stand.queue.depth().total == 0)
    assert handler.company == {"suspect1": set(), "suspect2": set(), "good": set()}


def test_44_a_job_that_only_lay_on_the_shelf_of_a_dead_fetch_worker_was_never_begun(stand: Stand) -> None:
    """Its lease at the frontier was lost many times; its starts are what counts."""
    entry = queue_entry(crawl_message("https://news.example.com/a", "a"))
    stand.frontier.defer("news.example.com", entry, 0)
    claims = (f"dead{number}" for number in range(100_000))
    taken: list[str] = []

    def take() -> bool:
        taken.extend(host for host, _ in stand.frontier.take(next(claims), 1, 1))
        return len(taken) == 7

    eventually(take)
    handler = Handling(done)
    stand.fetch(handler)
    eventually(lambda: handler.asked == ["a"])
    assert stand.reasons() == {}


def test_44_a_crawl_job_that_cost_its_workers_their_lives_ends_in_the_dlq_from_the_frontier_too(stand: Stand) -> None:
    stand.died(5, "a")
    entry = queue_entry(crawl_message("https://news.example.com/a", "a"))
    stand.frontier.defer("news.example.com", entry, 0)
    handler = Handling(done)
    stand.fetch(handler)
    eventually(lambda: stand.reasons() == {"a": "max_deliveries"})
    assert handler.asked == []
    eventually(lambda: stand.frontier.size() == 0)


def test_44_a_job_that_lines_up_for_its_host_keeps_no_start(stand: Stand) -> None:
    def not_due(root_id: str) -> Outcome:
        raise NotDue("news.example.com", stand.world.clock.now_ms() + 60_000, "rate")

    stand.world.send(CRAWL, crawl_message("https://news.example.com/a", "a"))
    stand.fetch(Handling(not_due))
    eventually(lambda: stand.frontier.size() == 1)
    eventually(lambda: not stand.world.starts.counts)


def test_44_work_goes_on_while_starts_cannot_be_counted(stand: Stand, caplog: pytest.LogCaptureFixture) -> None:
    def out(*args: object, **named: object) -> int:
        raise Unavailable("Redis is out")

    stand.world.starts.begin = stand.world.starts.note = out  # type: ignore[method-assign, assignment]
    stand.world.send(Topic.FETCHED, *[message(f"m{n}") for n in range(20)])
    stand.direct(Handling(done))
    eventually(lambda: stand.committed() == 20)
    assert caplog.text.count("starts aren't counted") == 1


@pytest.mark.parametrize("mode", ["direct", "queue"])
def test_32_a_handler_that_hangs_costs_its_message_a_try_and_not_the_slot(
    stand: Stand, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "HUNG_LEASES", 2)
    monkeypatch.setattr(work, "HUNG_AT_LEAST_S", 0.0)
    never = threading.Event()

    def hang(root_id: str) -> Outcome:
        if root_id == "hangs":
            never.wait(60)
        return Outcome(note="done")

    sent = [message(root_id) for root_id in ("before", "hangs", "after")]
    handler = Handling(hang)
    if mode == "direct":
        stand.world.send(Topic.FETCHED, *sent)
        crew = stand.direct(handler, lease_ms=300, grace_s=0.2)
        eventually(lambda: stand.committed() == 3)
    else:
        stand.queue.push([queue_entry(one) for one in sent])
        crew = stand.on_queue(handler, lease_ms=300)
        eventually(lambda: stand.queue.depth().total == 0)
    assert sorted(handler.asked) == ["after", "before", "hangs"]
    (entry,) = stand.world.retry_set.due(10**15)
    assert (entry.message.headers.root_id, entry.message.headers.attempt) == ("hangs", 2)
    assert crew.counts()["hung_retried"] == 1
    never.set()
    eventually(lambda: not handler.at_work)
    assert stays(lambda: crew.counts()["done"] == 2, for_s=0.2)
    assert not stand.world.starts.counts


class Nameless(Exception):
    """Its text can't be had."""

    def __str__(self) -> str:
        raise SystemExit("not even its text")


class Quit(BaseException):
    """Past every `except Exception`."""


def recurse(depth: int = 0) -> int:
    return recurse(depth + 1) + 1


ODD = [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Quit("quit"), Nameless(), MemoryError(), StopIteration()]


@pytest.mark.parametrize("error", ODD, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("attempt", [1, 3])
def test_44_whatever_a_handler_raises_costs_its_message_a_try_and_nothing_else(
    stand: Stand, error: BaseException, attempt: int
) -> None:
    def odd(root_id: str) -> Outcome:
        if root_id == "odd":
            raise error
        return Outcome(note="done")

    ends_as(stand, Handling(odd), attempt)


@pytest.mark.parametrize(
    "returned",
    [
        None,
        "text",
        42,
        Outcome(forward="text"),  # type: ignore[arg-type]
        Outcome(forward=RawContentRef(raw_id=object(), url="u", requested_url="u", target_type=1, fetched_ms=1)),  # type: ignore[arg-type]
        Outcome(forward=CrawlJob(url="https://news.example.com/\udcff")),
        Outcome(links=42),  # type: ignore[arg-type]
        Outcome(links=("https://news.example.com",)),  # type: ignore[arg-type]
        Outcome(links=(CrawlJob(url=None),)),  # type: ignore[arg-type]
        Outcome(note=object()),  # type: ignore[arg-type]
    ],
    ids=["none", "text", "number", "no-payload", "no-json", "surrogate", "links", "no-job", "no-url", "note"],
)
@pytest.mark.parametrize("attempt", [1, 3])
def test_44_whatever_a_handler_returns_costs_its_message_a_try_and_nothing_else(
    stand: Stand, returned: Outcome, attempt: int
) -> None:
    ends_as(stand, Handling(lambda root_id: returned if root_id == "odd" else Outcome(note="done")), attempt)


def test_44_a_handler_that_recurses_without_end_costs_its_message_a_try_and_nothing_else(stand: Stand) -> None:
    def endless(root_id: str) -> Outcome:
        if root_id == "odd":
            recurse()
        return Outcome(note="done")

    ends_as(stand, Handling(endless), attempt=3)


def ends_as(stand: Stand, handler: Handling, attempt: int) -> None:
    """The odd one is retried, or dead when it was its last attempt; the good one is handled by the same slot."""
    stand.queue.push([queue_entry(message("odd", attempt=attempt)), queue_entry(message("good"))])
    crew = stand.on_queue(handler)
    eventually(lambda: stand.queue.depth().total == 0)
    expected = {"bug_retried": 1} if attempt == 1 else {"bug_dead_lettered": 1}
    assert crew.counts() == {**expected, "done": 1}
    assert stand.reasons() == ({} if attempt == 1 else {"odd": "attempts_exhausted"})
    assert stand.world.retry_set.size() == (1 if attempt == 1 else 0)


def test_a_transient_error_whose_text_is_huge_is_told_in_short(stand: Stand) -> None:
    def wordy(root_id: str) -> Outcome:
        raise TransientError("x" * 5_000_000)

    stand.queue.push([queue_entry(message("wordy", attempt=3))])
    stand.on_queue(Handling(wordy))
    eventually(lambda: stand.queue.depth().total == 0)
    assert len(dlq_notes(stand.world.records(Topic.DLQ)[0])["error"]) <= 2_000

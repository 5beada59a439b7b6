"""What waits where before a process is stopped, what has to become of it, and how much may be repeated."""

import secrets
import time

import msgspec

from issuetracker_dagster.adapters.redis.queue import PriorityZSetQueue
from issuetracker_dagster.flow.dead_letter import bury, dead_letter
from issuetracker_dagster.flow.requests import root_id_of
from issuetracker_dagster.model.headers import Headers, TargetType
from issuetracker_dagster.model.letters import KEEP_BYTES
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import CrawlJob, RawContentRef, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueLimits, queue_entry
from issuetracker_dagster.model.retry import RetryEntry
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage, Topic
from issuetracker_dagster.wiring.parts import Wiring
from tests.crash.arrows import Scene
from tests.crash.handlers import linked
from tests.crash.ledger import Expected, malformed
from tests.crash.roles import BATCH, PARENT, STAGE, publish_all, requests
from tests.waiting import eventually

WORKERS = 2
IN_HAND = 2 * WORKERS
"""Of a shift on its queue: what each slot works on, and what it has finished and not yet acknowledged."""
KINDS = ("plain", "plain", "flaky", "plain", "dead", "links")
COUNT = 24
EACH_KIND = COUNT // len(KINDS)

ALLOWED = {
    Scene.PUBLISH: BATCH,
    Scene.DRAIN: BATCH,
    Scene.INTAKE: BATCH,
    Scene.SHIFT: IN_HAND,
    # Whatever was settled since the last commit, which here may be all: each message comes once more. A link, whose
    # marker isn't confirmed yet, is another record of its page. And who fails at first is put into the topic anew by
    # each of the two that handle it; both may handle each of these again: four arrivals, which is two more.
    Scene.DIRECT: COUNT + EACH_KIND + 2 * EACH_KIND,
    # The same, and what was moved to the frontier and not committed is in both.
    Scene.FETCH: 2 * COUNT,
    # Due retries and dead letters published and not removed, and what came back of a dead worker.
    Scene.RELAY: COUNT,
    Scene.REDRIVE: BATCH,
}
"""The most that may come twice: what was in flight at the blow."""


def prepare(scene: Scene, wiring: Wiring) -> Expected:
    """Put the messages of a scene where its process finds them."""
    match scene:
        case Scene.PUBLISH:
            wiring.buffer_switch.turn(on=True)
            return _crawl_jobs()
        case Scene.DRAIN:
            wiring.buffer_switch.turn(on=True)
            publish_all(wiring, [msgspec.structs.replace(one, priority=Priority.NORMAL) for one in requests()])
            return _crawl_jobs()
        case Scene.INTAKE:
            return _in_fetched(wiring, _messages(), with_malformed=True)
        case Scene.SHIFT:
            wiring.queue(STAGE).push([queue_entry(message) for message in _messages()])
            return _parsed(_messages())
        case Scene.DIRECT:
            return _in_fetched(wiring, _messages(), with_malformed=False)
        case Scene.FETCH:
            return _to_fetch(wiring)
        case Scene.RELAY:
            return _for_the_relay(wiring)
        case Scene.REDRIVE:
            return _dead(wiring)


def _crawl_jobs() -> Expected:
    crawl = frozenset((Topic.CRAWL_HIGH.value, Topic.CRAWL_NORMAL.value))
    return Expected({root_id_of(PARENT, request.job.url): crawl for request in requests()})


def _messages(kinds: tuple[str, ...] = KINDS, count: int = COUNT) -> list[Message]:
    """Pages to parse; the name of each says what becomes of it."""
    now_ms = time.time_ns() // 1_000_000
    messages = []
    for number in range(count):
        root_id = f"{kinds[number % len(kinds)]}-{number}"
        url = _url(root_id)
        payload = RawContentRef(raw_id=1, url=url, requested_url=url, target_type=TargetType.ARTICLE, fetched_ms=now_ms)
        headers = Headers(root_id=root_id, first_published_ms=now_ms, trace_id=root_id)
        messages.append(Message(headers, root_id.encode(), encode_payload(payload)))
    return messages


def _url(root_id: str) -> str:
    return f"https://news.example.com/{root_id}"


def _parsed(messages: list[Message], buried: tuple[str, ...] = ()) -> Expected:
    arrivals: dict[str, frozenset[str]] = dict.fromkeys(buried, frozenset((Topic.DLQ.value,)))
    urls = set()
    for message in messages:
        root_id = message.headers.root_id
        if root_id.startswith("dead"):
            arrivals[root_id] = frozenset((Topic.DLQ.value,))
            continue
        arrivals[root_id] = frozenset((Topic.NORMALIZED.value,))
        urls.add(_url(root_id))
        if root_id.startswith("links"):
            arrivals[root_id_of(root_id, linked(_url(root_id)))] = frozenset((Topic.CRAWL_NORMAL.value,))
    return Expected(arrivals, frozenset(urls))


def _in_fetched(wiring: Wiring, messages: list[Message], *, with_malformed: bool) -> Expected:
    records = [Outgoing.of(Topic.FETCHED, message) for message in messages]
    bad = tuple(f"malformed-{number}" for number in range(3)) if with_malformed else ()
    for place, id_ in enumerate(bad):
        records.insert(place * 9 + 2, malformed(Topic.FETCHED, id_))
    wiring.producer.publish(records)
    return _parsed(messages, bad)


def _to_fetch(wiring: Wiring) -> Expected:
    arrivals, urls, records = {}, set(), []
    for number in range(COUNT):
        root_id, url = f"page-{number}", f"https://site{number % 3}.example.com/{number}"
        headers = Headers(root_id=root_id, priority=Priority(number % 3 + 1))
        message = Message(headers, b"host", encode_payload(CrawlJob(url=url)))
        records.append(Outgoing.of(CRAWL_TOPICS[headers.priority], message))
        arrivals[root_id] = frozenset((Topic.FETCHED.value,))
        urls.add(url)
    wiring.producer.publish(records)
    return Expected(arrivals, frozenset(urls), "raw_contents")


def _for_the_relay(wiring: Wiring) -> Expected:
    """Due retries, leases of a worker that is gone, and entries that fell out of a full queue."""
    now_ms = time.time_ns() // 1_000_000
    messages = _messages(("plain",))
    retries, queued = messages[:8], messages[8:]
    wiring.retry_set.schedule_all(
        [
            RetryEntry(now_ms - 1_000 + place, Topic.FETCHED.value, Stage.PARSER, now_ms, message)
            for place, message in enumerate(retries)
        ]
    )
    queue = PriorityZSetQueue(wiring.redis, wiring.queue(STAGE).name, QueueLimits(max_size=8))
    queue.push([queue_entry(message) for message in queued])
    queue.claim(secrets.token_hex(8), 4, 1)
    evicted = [message.headers.root_id for message in queued[:8]]
    return _parsed([message for message in messages if message.headers.root_id not in evicted], tuple(evicted))


def _dead(wiring: Wiring) -> Expected:
    """Letters in the DLQ and in its index; every other one is too large for the index, and read from Kafka."""
    messages = []
    for number, message in enumerate(_messages(("dead",))):
        padding = b" " * (number % 2 * KEEP_BYTES)
        messages.append(msgspec.structs.replace(message, value=message.value + padding))
    now_ms = time.time_ns() // 1_000_000 - 1_000  # a redrive takes up what has died before it began
    bury(wiring.producer, [dead_letter(one, STAGE, "http_404", "gone", now_ms) for one in messages])
    eventually(lambda: wiring.dead_letter_indexer.tick(1_000) and wiring.stores.dead_letters.count() == len(messages))
    return Expected({message.headers.root_id: frozenset((Topic.FETCHED.value,)) for message in messages})

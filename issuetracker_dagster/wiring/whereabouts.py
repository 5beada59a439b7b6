"""Where messages are at this moment: every place of the journey is asked, and one that can't be is named."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

from issuetracker_dagster.adapters.kafka.unread import KafkaUnread
from issuetracker_dagster.adapters.redis.whereabouts import RedisWhereabouts
from issuetracker_dagster.adapters.sql.journeys import SqlJourneys
from issuetracker_dagster.errors import IssueTrackerError, Malformed, Unavailable
from issuetracker_dagster.flow.dlq_index import DLQ_GROUP
from issuetracker_dagster.flow.move import url_of
from issuetracker_dagster.model.headers import headers_from_raw
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.queue_view import EntryView
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.model.urls import BadUrl, authority_of
from issuetracker_dagster.model.whereabouts import Kind, Place, Search
from issuetracker_dagster.ports.traces import TraceLine
from issuetracker_dagster.wiring.buffering import BUFFER_KEYS
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.roots import members_of, root_of
from issuetracker_dagster.wiring.steering import steering

MOST_RECORDS, MOST_HOSTS, MOST_LETTERS = 20_000, 1_000, 20
TOPIC_WITHIN_S = 10.0


class Whereabouts:
    """A search for messages of some roots; `url` is their page's, where it is known, `steps` what they went through."""

    def __init__(self, wiring: Wiring, root_ids: Sequence[str], url: str = "", steps: Sequence[TraceLine] = ()) -> None:
        self._wiring = wiring
        self._roots = tuple(root_ids)
        self._url = url
        members = [member for root_id in root_ids for member in members_of(root_id)]
        # A reparse is far from the others among the generations; what went wrong there waits under the next one.
        members += [f"{step.root_id}:{step.generation + further}" for step in steps for further in (0, 1)]
        self._members = list(dict.fromkeys(members))

    def search(self, told: Callable[[str], None] = lambda _: None) -> Search:
        """Ask every place; `told` hears which one is being asked. A server that was out once isn't asked again."""
        found = Search()
        out: dict[str, str] = {}
        with closing(KafkaUnread(lambda: self._wiring.kafka)) as kafka:
            for server, name, ask in self._questions(kafka):
                told(name)
                if server in out:
                    found = found.plus(Search(unasked={name: out[server]}))
                    continue
                try:
                    found = found.plus(ask())
                except IssueTrackerError as error:
                    found = found.plus(Search(unasked={name: str(error)}))
                    if isinstance(error, Unavailable):
                        out[server] = str(error)
        return found

    def _questions(self, kafka: KafkaUnread) -> Iterator[tuple[str, str, Callable[[], Search]]]:
        """Whose server, the place, and what asks it."""
        for stage in QUEUED_STAGES:
            yield "redis", f"queue {stage.value}", partial(self._queue, stage)
        yield "redis", "frontier", self._frontier
        yield "redis", "retries", self._retries
        for topic, key in BUFFER_KEYS.items():
            yield "redis", f"buffer {topic.value}", partial(self._buffer, topic, key)
        yield "sql", "dead letters", self._letters
        yield "sql", "contents", self._contents
        for facts in FACTS.values():
            for topic in facts.inputs:
                yield "kafka", f"topic {topic.value}", partial(self._topic, kafka, facts.group, topic)
        yield "kafka", f"topic {Topic.DLQ.value}", partial(self._topic, kafka, DLQ_GROUP, Topic.DLQ)

    def _queue(self, stage: Stage) -> Search:
        found = steering(self._wiring, stage).find(self._members)
        return Search(places=tuple(_entry("queue", stage.value, view) for view in found))

    def _frontier(self) -> Search:
        redis = RedisWhereabouts(self._wiring.redis)
        due = redis.hosts(MOST_HOSTS)
        # A redirect may have put it into the line of any host; that of its own may be too far behind to be listed.
        hosts = dict.fromkeys([*_authority(self._url), *due])
        places = [_entry("frontier", host, view) for host in hosts for view in redis.in_line(host, self._members)]
        return Search(places=tuple(places), incomplete=("frontier",) if len(due) == MOST_HOSTS else ())

    def _retries(self) -> Search:
        found = RedisWhereabouts(self._wiring.redis).retries(self._members)
        return Search(
            places=tuple(
                Place(
                    kind="retries",
                    name=entry.topic,
                    state="waiting",
                    root_id=entry.message.headers.root_id,
                    generation=entry.message.headers.generation,
                    priority=entry.message.headers.priority.label,
                    until_ms=entry.due_ms,
                    url=payload_facts(entry.message.value).url,
                    detail=f"failed in {entry.stage.value}, attempt {entry.message.headers.attempt} comes next",
                )
                for entry in found
            )
        )

    def _buffer(self, topic: Topic, key: str) -> Search:
        found, is_whole = RedisWhereabouts(self._wiring.redis).buffered(key, self._roots, MOST_RECORDS)
        places = []
        for job in found:
            headers = headers_from_raw(job.record.headers)
            places.append(
                Place(
                    kind="buffer",
                    name=topic.value,
                    state=job.state,
                    root_id=headers.root_id,
                    generation=headers.generation,
                    priority=headers.priority.label,
                    url=payload_facts(job.record.value).url,
                )
            )
        return Search(places=tuple(places), incomplete=() if is_whole else (f"buffer {topic.value}",))

    def _topic(self, kafka: KafkaUnread, group: str, topic: Topic) -> Search:
        found, is_whole = kafka.find(group, topic.value, self._roots, limit=MOST_RECORDS, within_s=TOPIC_WITHIN_S)
        places = tuple(place for record in found if (place := _unread(topic, record)))
        return Search(places=places, incomplete=() if is_whole else (f"topic {topic.value}",))

    def _letters(self) -> Search:
        index = self._wiring.stores.dead_letters
        letters = [
            letter for root in self._roots for letter in index.newest(LetterFilter(named=root, states=()), MOST_LETTERS)
        ]
        return Search(
            places=tuple(
                Place(
                    kind="dlq",
                    name=letter.stage,
                    state=letter.state.value,
                    root_id=root_of(letter.identity),
                    generation=int(letter.identity.rpartition(":")[2]) if letter.has_identity else None,
                    url=letter.url,
                    detail=f"letter {letter.letter_id}, {letter.reason or 'no reason'}: {letter.error}",
                )
                for letter in letters
            )
        )

    def _contents(self) -> Search:
        found = SqlJourneys(self._wiring.stores.engine).contents(self._roots, self._url)
        places = []
        for content in found:
            issue = f", issue {content.issue_id}: {content.issue_title}" if content.issue_id else ""
            code = f" ({content.code})" if content.code else ""
            places.append(
                Place(
                    kind="content",
                    name=str(content.content_id),
                    state=content.status,
                    root_id=content.root_id,
                    url=content.url,
                    detail=f"{content.title}{code}{issue}",
                )
            )
        return Search(places=tuple(places))


def _authority(url: str) -> Sequence[str]:
    """The name of its host's line, if it has one."""
    try:
        return [authority_of(url)]
    except BadUrl:
        return []


def _entry(kind: Kind, name: str, view: EntryView) -> Place:
    root_id, _, generation = view.member.rpartition(":")
    begun = f"delivered {view.deliveries} times" if view.deliveries > 1 else ""
    return Place(
        kind=kind,
        name=name,
        state=view.state,
        root_id=root_id,
        generation=int(generation),
        priority=view.priority.label if view.priority else "",
        until_ms=view.due_ms,
        url=url_of(view),
        detail=begun,
    )


def _unread(topic: Topic, record: Record) -> Place | None:
    try:
        headers = headers_from_raw(record.headers)
    except Malformed:
        return None
    return Place(
        kind="topic",
        name=topic.value,
        state="unread",
        root_id=headers.root_id,
        generation=headers.generation,
        priority=headers.priority.label,
        url=payload_facts(record.value).url,
        detail=f"partition {record.origin.partition}, offset {record.origin.offset}",
    )

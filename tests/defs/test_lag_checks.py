"""The checks on what fetch and the stages haven't read yet: by age, by missing topics, and in waiting lines."""

import uuid
from typing import Any

import dagster as dg
import pytest
from kafka import KafkaAdminClient, KafkaProducer

from issuetracker_dagster.adapters.kafka.group import KafkaGroupReader
from issuetracker_dagster.defs.frontier_checks import frontier_state
from issuetracker_dagster.defs.frontier_checks import judge_waiting as judge_frontier
from issuetracker_dagster.defs.lag_checks import (
    AGE,
    LAG,
    READERS,
    AgeState,
    age_state,
    judge_age,
    look_at_ages,
    look_at_lags,
)
from issuetracker_dagster.defs.waiting import WaitingState
from issuetracker_dagster.model.limits import Limits
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry
from issuetracker_dagster.model.stage import FACTS, Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.figures import kafka_figures
from issuetracker_dagster.wiring.parts import Wiring
from tests.waiting import eventually

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
H = 3_600_000
LIMITS = Limits(12 * H, 20 * H)


def judged(result: dg.AssetCheckResult) -> dg.AssetCheckSeverity | None:
    return None if result.passed else result.severity


@pytest.mark.parametrize(
    ("age_ms", "wanted", "told"),
    [
        (0, None, "all is read by the group issuetracker-crawler-workers of fetch"),
        (12 * H, None, "has waited 12h"),
        (12 * H + 1_000, WARN, "FETCH_LOW_WORKER_COUNT"),
        (20 * H + 1_000, ERROR, "ticks of fetch_workers"),
    ],
)
def test_a_message_that_waits_long_in_kafka_is_told_by_its_priority(
    age_ms: int, wanted: dg.AssetCheckSeverity | None, told: str
) -> None:
    result = judge_age(AgeState(Topic.CRAWL_LOW, Stage.FETCH, age_ms, LIMITS))
    assert judged(result) is wanted
    assert told in (result.description or "")
    assert result.metadata["oldest_s"].value == age_ms // 1000


@pytest.mark.parametrize(
    ("waiting", "overdue_ms", "wanted", "told"),
    [
        (100, 120_000, None, "100 crawl jobs wait"),
        (101, 0, WARN, "fetcher_rules"),
        (1_001, 0, ERROR, "fetcher_rules"),
        (1, 120_001, WARN, "fetch_workers"),
        (1, 600_001, ERROR, "fetch_workers"),
    ],
)
def test_waiting_lines_are_judged_by_their_jobs_and_by_the_host_that_is_due_longest(
    waiting: int, overdue_ms: int, wanted: dg.AssetCheckSeverity | None, told: str
) -> None:
    limits = {"limits": Limits(100, 1_000), "late_limits": Limits(120_000, 600_000)}
    result = judge_frontier(WaitingState(waiting=waiting, overdue_ms=overdue_ms, **limits))
    assert judged(result) is wanted
    assert told in (result.description or "")


@pytest.mark.services
def test_a_host_that_nobody_asks_though_it_is_due_is_overdue(on_servers: Wiring) -> None:
    assert frontier_state(on_servers).overdue_ms == 0
    now_ms = on_servers.heartbeats.now_ms()
    on_servers.frontier.defer("a.com", QueueEntry("root:0", Priority.LOW, now_ms, b"x"), now_ms - 700_000)
    on_servers.frontier.defer("b.com", QueueEntry("root:1", Priority.LOW, now_ms, b"x"), now_ms + H)
    state = frontier_state(on_servers)
    assert state.waiting == 2
    assert state.overdue_ms >= 700_000
    assert judged(judge_frontier(state)) is ERROR


def put_back(wiring: Wiring, topic: Topic, *ages_h: float) -> None:
    """Records that came so many hours ago, each in a partition of its own."""
    producer = KafkaProducer(bootstrap_servers=wiring.kafka.bootstrap)
    now_ms = wiring.clock.now_ms()
    for number, age in enumerate(ages_h):
        at_ms = now_ms - int(age * H)
        producer.send(wiring.kafka.topic_name(topic.value), b"{}", partition=number, timestamp_ms=at_ms)
    producer.flush()
    producer.close()


@pytest.mark.services
def test_the_oldest_unread_message_ages_until_its_group_has_read_it(on_servers: Wiring) -> None:
    on_servers.ready()
    assert age_state(on_servers, Topic.CRAWL_LOW).age_ms == 0
    put_back(on_servers, Topic.CRAWL_LOW, 13, 1, 21, 2)
    put_back(on_servers, Topic.CRAWL_HIGH, 0.2)
    low = age_state(on_servers, Topic.CRAWL_LOW)
    assert 21 * H <= low.age_ms < 22 * H
    events, words = look_at_ages(on_servers, None)
    known, _ = look_at_ages(on_servers, on_servers.lags())
    assert [event.passed for event in known] == [event.passed for event in events]
    told = {event.asset_key.path[-1]: event for event in events}
    assert {name: event.passed for name, event in told.items()} == {
        topic.value.replace(".", "_"): topic not in (Topic.CRAWL_LOW, Topic.CRAWL_HIGH) for topic in READERS
    }
    assert (told["crawl_low"].severity, told["crawl_high"].severity) == (ERROR, WARN)
    assert words.startswith("the oldest for 21h")
    read_all(on_servers, Topic.CRAWL_LOW)
    assert age_state(on_servers, Topic.CRAWL_LOW).age_ms == 0
    assert age_state(on_servers, Topic.CRAWL_HIGH).age_ms > 0


def read_all(wiring: Wiring, topic: Topic) -> None:
    """Have the group that reads the topic commit all of it."""
    facts = FACTS[READERS[topic]]
    reader = KafkaGroupReader(wiring.kafka, [topic.value], facts.group)
    try:
        left = wiring.lag_of(facts.group, topic)
        assert left

        def commits() -> bool:
            reader.settled(reader.poll(500, 100))
            reader.commit()
            return not wiring.lag_of(facts.group, topic)

        eventually(commits, timeout_s=30.0)
    finally:
        reader.close()


@pytest.mark.services
def test_no_age_limit_lies_beyond_kafkas_retention(
    bare_environment: Any, monkeypatch: pytest.MonkeyPatch, kafka_bootstrap: str, clean_valkey_url: str
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka_bootstrap)
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", f"{uuid.uuid4().hex}.")
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    monkeypatch.setenv("KAFKA_RETENTION", "25h")
    monkeypatch.setenv("CHECK_AGE_WARN", "high=0,normal=0,low=0")
    monkeypatch.setenv("CHECK_AGE_ERROR", "high=0,normal=0,low=0")
    wiring = Wiring(Settings(None))
    wiring.ready()
    limits = age_state(wiring, Topic.CRAWL_LOW).limits
    assert limits == Limits(12.5 * H, 22.5 * H)


@pytest.mark.services
def test_one_topic_that_is_missing_hides_no_other_and_is_told_by_itself(
    on_servers: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    assert on_servers.lags() == {}
    assert look_at_lags(on_servers, on_servers.lags()) == ([], "no topics yet")
    on_servers.ready()
    gone = Topic.VALIDATED
    admin = KafkaAdminClient(bootstrap_servers=on_servers.kafka.bootstrap)
    admin.delete_topics([on_servers.kafka.topic_name(gone.value)])
    admin.close()
    others = dict.fromkeys((topic for topic in READERS if topic is not gone), 0)
    eventually(lambda: Wiring(Settings(None)).lags() == others, timeout_s=30.0, interval_s=0.5)
    wiring = Wiring(Settings(None))
    assert kafka_figures(wiring).unread == {**others, Topic.DLQ: 0}
    events, _ = look_at_lags(wiring, wiring.lags())
    told = {event.asset_key.path[-1]: event for event in events if isinstance(event, dg.AssetCheckEvaluation)}
    assert {name for name, event in told.items() if not event.passed} == {gone.value}
    assert "no topic of validated" in (told[gone.value].description or "")
    graph = load_definitions().get_repository_def()
    for topic, passes in ((gone, False), (Topic.FETCHED, True)):
        key = dg.AssetKey(["kafka", topic.value])
        job: Any = graph.get_implicit_job_def_for_assets([key])
        chosen = {dg.AssetCheckKey(key, LAG), dg.AssetCheckKey(key, AGE)}
        result = job.get_subset(asset_selection=set(), asset_check_selection=chosen).execute_in_process(
            instance=instance
        )
        found = {each.check_name: each.passed for each in result.get_asset_check_evaluations()}
        assert found == {LAG: passes, AGE: True}

"""Topics, queues and tables as assets: lineage, checks, and what the health probe tells about them."""

import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.defs.assets import BUFFERED, TABLES, asset_specs, buffer_key, queue_key, table_key, topic_key
from issuetracker_dagster.defs.buffers import JUDGES as BUFFER_JUDGES
from issuetracker_dagster.defs.checks import JUDGES, QueueState, judge_age, judge_depth, judge_retries
from issuetracker_dagster.defs.health import EVERY_MS, HealthProbe
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import BandDepth, QueueDepth, QueueEntry
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.defs.looking import ticked

SEEDS = table_key("scheduler_entries")
RULES = table_key("parser_rules")


def upstream() -> dict[dg.AssetKey, set[dg.AssetKey]]:
    return {spec.key: {dep.asset_key for dep in spec.deps} for spec in asset_specs()}


def ancestors(key: dg.AssetKey) -> set[dg.AssetKey]:
    found: set[dg.AssetKey] = set()
    pending = [key]
    while pending:
        for above in upstream()[pending.pop()] - found:
            found.add(above)
            pending.append(above)
    return found


def test_every_buffer_topic_queue_and_table_is_an_asset() -> None:
    wanted = {topic_key(topic) for topic in Topic} | {queue_key(stage) for stage in QUEUED_STAGES}
    wanted |= {buffer_key(topic) for topic in BUFFERED}
    assert upstream().keys() == wanted | {table_key(name) for name in TABLES} | {SEEDS, RULES}


def test_everything_but_seeds_and_rules_comes_from_the_seeds_and_nothing_from_itself() -> None:
    for key in upstream():
        assert key not in ancestors(key)
        assert key in (SEEDS, RULES) or SEEDS in ancestors(key), key


def test_a_buffer_stands_between_the_seeds_and_its_topic_and_what_falls_out_goes_to_the_dlq() -> None:
    assert set(BUFFERED) == {Topic.CRAWL_NORMAL, Topic.CRAWL_LOW}
    for topic in BUFFERED:
        assert SEEDS in upstream()[buffer_key(topic)]
        assert buffer_key(topic) in upstream()[topic_key(topic)]
        assert buffer_key(topic) in upstream()[topic_key(Topic.DLQ)]
    assert not upstream()[topic_key(Topic.CRAWL_HIGH)] & {buffer_key(topic) for topic in BUFFERED}


@pytest.mark.parametrize("stage", QUEUED_STAGES)
def test_a_queue_stands_between_the_topic_that_a_stage_reads_and_what_it_writes(stage: Stage) -> None:
    assert upstream()[queue_key(stage)] == {topic_key(topic) for topic in FACTS[stage].inputs}
    assert upstream()[topic_key(FACTS[stage].output)] == {queue_key(stage)}
    assert queue_key(stage) in upstream()[topic_key(Topic.DLQ)]


def test_every_asset_has_a_description_and_a_kind_and_is_never_materialised_here(load_definitions: Any) -> None:
    graph = load_definitions().resolve_asset_graph()
    assert not graph.executable_asset_keys
    for spec in asset_specs():
        assert spec.description
        assert spec.group_name not in (None, "default"), spec.key
        assert len(spec.kinds) == 1


def test_each_queue_has_its_checks(load_definitions: Any) -> None:
    of_queues = {queue_key(stage) for stage in QUEUED_STAGES}
    checks = load_definitions().resolve_asset_graph().asset_check_keys
    assert {check for check in checks if check.asset_key in of_queues} == {
        dg.AssetCheckKey(queue_key(stage), name) for stage in QUEUED_STAGES for name in JUDGES
    }


def state(depth: QueueDepth, *, relay_is_fresh: bool = True) -> QueueState:
    return QueueState(Stage.PARSER, depth, 100, 86_400_000, relay_is_fresh)


@pytest.mark.parametrize(
    ("ready", "leased", "delayed", "passed"),
    [(80, 0, 0, True), (81, 0, 0, False), (60, 10, 10, True), (60, 11, 10, False)],
)
def test_a_queue_is_too_full_above_four_fifths_of_its_size(ready: int, leased: int, delayed: int, passed: bool) -> None:
    depth = QueueDepth({Priority.LOW: BandDepth(ready)}, leased=leased, delayed=delayed, outbox=1_000)
    result = judge_depth(state(depth))
    assert result.passed is passed
    assert result.severity is dg.AssetCheckSeverity.WARN
    assert str(ready + leased + delayed) in (result.description or "")


@pytest.mark.parametrize(("oldest_s", "passed"), [(0, True), (43_200, True), (43_201, False)])
def test_an_entry_is_too_old_after_half_its_time_to_live(oldest_s: int, passed: bool) -> None:
    depth = QueueDepth({Priority.HIGH: BandDepth(1), Priority.LOW: BandDepth(1, oldest_s * 1000)})
    assert judge_age(state(depth)).passed is passed


def test_ages_are_told_as_people_write_them() -> None:
    told = judge_age(state(QueueDepth({Priority.LOW: BandDepth(1, 5_405_000)}))).description
    assert told == "the oldest entry has waited 1h 30m; entries expire after 1d"


def test_a_silent_relay_turns_the_check_of_retries_red() -> None:
    assert judge_retries(state(QueueDepth({}))).passed is True
    red = judge_retries(state(QueueDepth({}), relay_is_fresh=False))
    assert red.passed is False
    assert red.severity is dg.AssetCheckSeverity.ERROR
    assert "retry_relay" in (red.description or "")


def observed(lag: int) -> dg.AssetObservation:
    return dg.AssetObservation(topic_key(Topic.FETCHED), metadata={"lag": lag})


def judged(passed: bool, held: int) -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=queue_key(Stage.PARSER), check_name="depth", passed=passed, metadata={"held": held}
    )


def test_the_probe_tells_only_what_changed_and_that_at_most_every_five_minutes() -> None:
    probe, clock = HealthProbe(), FakeClock()
    assert len(probe.worth_telling([observed(1), judged(True, 1)], clock)) == 2
    assert probe.worth_telling([observed(2), judged(True, 2)], clock) == []
    clock.advance(EVERY_MS)
    assert probe.worth_telling([observed(1), judged(True, 2)], clock) == [judged(True, 2)]
    assert probe.worth_telling([observed(3)], clock) == [observed(3)]


def test_the_probe_tells_at_once_when_a_check_turns() -> None:
    probe, clock = HealthProbe(), FakeClock()
    for passed in (True, False, True):
        assert probe.worth_telling([judged(passed, 1)], clock) == [judged(passed, 1)]
        assert probe.worth_telling([judged(passed, 2)], clock) == []


@pytest.fixture
def on_servers(
    bare_environment: Path, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str, kafka_bootstrap: str
) -> Wiring:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", kafka_bootstrap)
    monkeypatch.setenv("KAFKA_TOPIC_PREFIX", f"{uuid.uuid4().hex}.")
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    wiring = Wiring(Settings(None))
    upgrade(wiring.endpoints.database)
    return wiring


@pytest.mark.services
def test_the_probe_observes_every_topic_queue_and_table_of_real_servers(
    on_servers: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    on_servers.ready()
    queue = on_servers.queue(Stage.PARSER)
    queue.open()
    queue.push([QueueEntry("root:0", Priority.HIGH, 1_000, b"x")])
    data = ticked(load_definitions(), "health_probe", instance)
    observations = {
        event.asset_key: event.metadata for event in data.asset_events if isinstance(event, dg.AssetObservation)
    }
    read_topics = {topic for facts in FACTS.values() for topic in facts.inputs}
    assert observations.keys() == {
        *(topic_key(topic) for topic in (*read_topics, Topic.DLQ)),
        *(queue_key(stage) for stage in QUEUED_STAGES),
        *(buffer_key(topic) for topic in BUFFERED),
        *(table_key(name) for name in TABLES),
    }
    assert observations[topic_key(Topic.CRAWL_HIGH)]["lag"].value == 0
    assert observations[queue_key(Stage.PARSER)]["ready_high"].value == 1
    checks = [event for event in data.asset_events if isinstance(event, dg.AssetCheckEvaluation)]
    # Nobody has relayed here yet; everything else is well.
    of_queues = {queue_key(stage) for stage in QUEUED_STAGES}
    passed = {(check.asset_key, check.check_name): check.passed for check in checks}
    assert {key: value for key, value in passed.items() if key[0] in of_queues} == {
        (queue_key(stage), name): name != "retries" for stage in QUEUED_STAGES for name in JUDGES
    }
    of_buffers = {(buffer_key(topic), name) for topic in BUFFERED for name in BUFFER_JUDGES}
    assert {key: passed.get(key) for key in of_buffers} == dict.fromkeys(of_buffers, True)
    told = data.skip_message or ""
    assert "0 messages unread in Kafka" in told
    assert "0 jobs buffered" in told
    assert "1 ready for parser" in told


@pytest.mark.services
@pytest.mark.slow
def test_the_probe_still_tells_about_queues_and_tables_while_kafka_is_out(
    on_servers: Wiring, load_definitions: Any, instance: dg.DagsterInstance, closed_port: int
) -> None:
    defs = load_definitions(KAFKA_BOOTSTRAP_SERVERS=f"127.0.0.1:{closed_port}")
    data = ticked(defs, "health_probe", instance)
    assert queue_key(Stage.ENRICH) in {event.asset_key for event in data.asset_events}
    assert "KAFKA_BOOTSTRAP_SERVERS" in (data.skip_message or "")


@pytest.mark.services
def test_a_check_run_from_the_ui_looks_at_the_queue_of_the_moment(
    on_servers: Wiring, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    queue = on_servers.queue(Stage.PARSER)
    queue.open()
    queue.push([QueueEntry(f"root-{number}:0", Priority.LOW, 1_000, b"x") for number in range(9)])
    defs = load_definitions(PARSER_ZSET_MAX_SIZE="10")
    job = defs.get_repository_def().get_implicit_job_def_for_assets([queue_key(Stage.PARSER)])
    chosen = dg.AssetCheckKey(queue_key(Stage.PARSER), "depth")
    result = job.get_subset(asset_selection=set(), asset_check_selection={chosen}).execute_in_process(instance=instance)
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.passed is False
    assert evaluation.metadata["held"].value == 9

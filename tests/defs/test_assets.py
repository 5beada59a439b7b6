"""Topics, queues and tables as assets: lineage, checks, and what the health probe tells about them."""

from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.defs.assets import (
    BUFFERED,
    FRONTIER,
    RETRIES,
    TABLES,
    asset_specs,
    buffer_key,
    queue_key,
    server_key,
    table_key,
    topic_key,
)
from issuetracker_dagster.defs.buffers import JUDGES as BUFFER_JUDGES
from issuetracker_dagster.defs.checks import JUDGES
from issuetracker_dagster.defs.work_checks import INTAKE, WORKERS
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue import QueueEntry
from issuetracker_dagster.model.stage import FACTS, QUEUED_STAGES, Stage, Topic
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.defs.looking import ticked

SEEDS = table_key("scheduler_entries")
RULES = table_key("parser_rules")
SERVERS = {server_key(server) for server in ("kafka", "redis", "sql")}


def upstream() -> dict[dg.AssetKey, set[dg.AssetKey]]:
    return {spec.key: {dep.asset_key for dep in spec.deps} for spec in asset_specs(Settings(None))}


def ancestors(key: dg.AssetKey) -> set[dg.AssetKey]:
    found: set[dg.AssetKey] = set()
    pending = [key]
    while pending:
        for above in upstream()[pending.pop()] - found:
            found.add(above)
            pending.append(above)
    return found


def test_every_server_buffer_topic_queue_and_table_is_an_asset() -> None:
    wanted = {topic_key(topic) for topic in Topic} | {queue_key(stage) for stage in QUEUED_STAGES}
    wanted |= {buffer_key(topic) for topic in BUFFERED} | {RETRIES, FRONTIER}
    assert upstream().keys() == wanted | {table_key(name) for name in TABLES} | {SEEDS, RULES} | SERVERS


def test_everything_but_servers_seeds_and_rules_comes_from_the_seeds_and_nothing_from_itself() -> None:
    for key in upstream().keys() - SERVERS:
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


def test_only_reports_and_reparses_are_made_here(load_definitions: Any) -> None:
    made = {dg.AssetKey(["reports", "issue_digest"]), dg.AssetKey(["sql", "reparsed_contents"])}
    assert set(load_definitions().resolve_asset_graph().executable_asset_keys) == made


def test_each_queue_has_its_checks(load_definitions: Any) -> None:
    of_queues = {queue_key(stage) for stage in QUEUED_STAGES}
    checks = load_definitions().resolve_asset_graph().asset_check_keys
    assert {check for check in checks if check.asset_key in of_queues} == {
        dg.AssetCheckKey(queue_key(stage), name) for stage in QUEUED_STAGES for name in (*JUDGES, INTAKE)
    }


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
        *(RETRIES, FRONTIER),
    }
    assert observations[topic_key(Topic.CRAWL_HIGH)]["lag"].value == 0
    assert observations[queue_key(Stage.PARSER)]["ready_high"].value == 1
    checks = [event for event in data.asset_events if isinstance(event, dg.AssetCheckEvaluation)]
    # Nobody has relayed here yet; everything else is well.
    of_queues = {queue_key(stage) for stage in QUEUED_STAGES}
    passed = {(check.asset_key, check.check_name): check.passed for check in checks}
    assert {key: value for key, value in passed.items() if key[0] in of_queues} == {
        (queue_key(stage), name): name != "retries" for stage in QUEUED_STAGES for name in (*JUDGES, INTAKE)
    }
    assert {name for (_, name), passed in passed.items() if not passed} == {"retries", "rules_fresh"}
    assert WORKERS not in {check.check_name for check in checks}  # they get a minute to begin
    assert {key: passed.get((key, "reachable")) for key in SERVERS} == dict.fromkeys(SERVERS, True)
    of_buffers = {(buffer_key(topic), name) for topic in BUFFERED for name in BUFFER_JUDGES}
    assert {key: passed.get(key) for key in of_buffers} == dict.fromkeys(of_buffers, True)
    told = data.skip_message or ""
    assert "0 messages unread in Kafka" in told
    assert "0 jobs buffered" in told
    assert "1 ready for parser" in told


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

"""`reparse_contents`, `reparsed_contents` and `issue_digest` as the UI launches them."""

import uuid
from pathlib import Path
from typing import Any

import dagster as dg
import msgspec
import pytest
from click.testing import CliRunner

from issuetracker_dagster.cli.digest import digest
from issuetracker_dagster.cli.reparse import reparse
from issuetracker_dagster.defs import reparse as reparse_defs
from issuetracker_dagster.defs.reparse import REPARSE_JOB
from issuetracker_dagster.flow.reparse import ReparseReport
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.contracts.store_worlds import article, member, page
from tests.migrated import sqlite_at

DAY_MS = 86_400_000


@pytest.fixture
def with_pages(bare_environment: Path) -> Wiring:
    """Three stored articles of the last three days, of two sources, in SQL; no other server."""
    sqlite_at(bare_environment / "issuetracker.db")
    wiring = Wiring(Settings(env_file=None))
    today_ms = wiring.machine_clock.now_ms() // DAY_MS * DAY_MS
    for days_ago, source in enumerate(("wire", "web", "wire")):
        url = f"https://news.example.com/{days_ago}"
        stored = msgspec.structs.replace(page(url, fetched_ms=today_ms - days_ago * DAY_MS), source=source)
        wiring.stores.raw_contents.save(stored)
    return wiring


def job_metadata(defs: dg.Definitions, instance: dg.DagsterInstance, **config: object) -> dict[str, Any]:
    ops = {"ops": {"reparse_contents_op": {"config": config}}}
    result = defs.get_repository_def().get_job(REPARSE_JOB).execute_in_process(instance=instance, run_config=ops)
    metadata = result.filter_events(lambda event: event.is_successful_output)[0].step_output_data.metadata
    return {name: value.value for name, value in metadata.items()}


def test_the_job_counts_first(with_pages: Wiring, load_definitions: Any, instance: dg.DagsterInstance) -> None:
    defs = load_definitions()
    assert job_metadata(defs, instance) == {"would_read": 3, "looked_at": 3, "reached": 3}
    assert job_metadata(defs, instance, sources=["wire"], after=1)["would_read"] == 1
    assert job_metadata(defs, instance, parser_version="other")["would_read"] == 0
    assert job_metadata(defs, instance, dry_run=False, host="*.example.org") == {
        "published": 0, "looked_at": 0, "reached": 0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"host": "https://a.com/"}, "leave out scheme"),
        ({"fetched_from": "yesterday"}, "fetched_from: 'yesterday' is no time; write 2026-11-30"),
        ({"priority": "urgent"}, "priority: "),
        ({"rule": 7}, "there is no rule 7"),
    ],
)
def test_a_form_that_means_nothing_fails_and_says_what_to_write(
    with_pages: Wiring, load_definitions: Any, instance: dg.DagsterInstance, config: dict[str, object], told: str
) -> None:
    with pytest.raises(dg.Failure, match=told):
        job_metadata(load_definitions(), instance, **config)


@pytest.mark.services
def test_days_chosen_in_the_ui_are_read_again_in_one_run(
    with_pages: Wiring,
    load_definitions: Any,
    instance: dg.DagsterInstance,
    kafka_bootstrap: str,
    valkey_url: str,
) -> None:
    prefix = f"{uuid.uuid4().hex[:8]}."
    environment = {"KAFKA_BOOTSTRAP_SERVERS": kafka_bootstrap, "KAFKA_TOPIC_PREFIX": prefix, "REDIS_URL": valkey_url}
    partitions = {f"KAFKA_PARTITIONS_{name}": "1" for name in ("HIGH", "NORMAL", "LOW", "STAGE", "DLQ")}
    defs = load_definitions(**environment, **partitions)
    asset = dg.AssetKey(["sql", "reparsed_contents"])
    days = defs.get_repository_def().assets_defs_by_key[asset].partitions_def.get_partition_keys()
    first, last = days[-2:]
    job = defs.get_repository_def().get_implicit_job_def_for_assets([asset])
    chosen = {"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last}
    config = {"ops": {"sql__reparsed_contents": {"config": {"sources": ["web"]}}}}
    result = job.execute_in_process(instance=instance, tags=chosen, run_config=config, asset_selection=[asset])
    assert result.success
    found = instance.fetch_materializations(asset, limit=9).records
    assert {record.partition_key for record in found} == {first, last}
    events = [record.asset_materialization for record in found]
    assert [event.metadata["published"].value for event in events if event] == [1, 1]


def test_days_whose_run_is_terminated_end_as_canceled_and_do_not_count_as_done(
    with_pages: Wiring, load_definitions: Any, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminated:
        """Somebody terminates the run while this is at work."""

        def run(self, *_: object, **__: object) -> ReparseReport:
            (run,) = instance.get_runs()
            event = dg.DagsterEvent(event_type_value=dg.DagsterEventType.RUN_CANCELING.value, job_name=run.job_name)
            instance.report_dagster_event(event, run_id=run.run_id)
            return ReparseReport(stopped="the run is CANCELING", reached=1)

    monkeypatch.setattr(reparse_defs, "reparser", lambda _: Terminated())
    repository, asset = load_definitions().get_repository_def(), dg.AssetKey(["sql", "reparsed_contents"])
    day = repository.assets_defs_by_key[asset].partitions_def.get_partition_keys()[-1]
    job = repository.get_implicit_job_def_for_assets([asset])
    with pytest.raises(dg.DagsterExecutionInterruptedError):
        job.execute_in_process(instance=instance, partition_key=day, asset_selection=[asset])
    (run,) = instance.get_runs()
    assert run.status is dg.DagsterRunStatus.CANCELED
    assert not instance.fetch_materializations(asset, limit=1).records


def test_the_digest_is_an_asset_and_a_page(
    with_pages: Wiring, load_definitions: Any, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    stores, now_ms = with_pages.stores, with_pages.machine_clock.now_ms()
    content_id = stores.contents.save(article(1))
    stores.issues.assign(member(content_id, now_ms, title="Elbe floods <b>Dresden</b>"), None)
    result = load_definitions().get_repository_def().get_job("issue_digest").execute_in_process(instance=instance)
    (event,) = result.get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert "Elbe floods &lt;b&gt;Dresden" in str(metadata["digest"].value)
    assert metadata["issues"].value == 1
    assert "Elbe floods &lt;b&gt;Dresden" in Path(str(metadata["latest"].value)).read_text()
    said = CliRunner().invoke(digest, ["--hours", "1"]).output
    assert "1. Elbe floods <b>Dresden</b>" in said
    assert CliRunner().invoke(digest, ["--html", str(tmp_path / "d.html")]).output.endswith("d.html: 1 issues.\n")
    assert "can't be written" in CliRunner().invoke(digest, ["--html", str(tmp_path / "no" / "d.html")]).output


def test_the_command_counts_asks_and_names_what_is_wrong(with_pages: Wiring) -> None:
    def said(*words: str) -> str:
        return CliRunner().invoke(reparse, words).output

    assert "3 of 3 pages looked at would be read again." in said("--dry-run")
    assert "1 of 1 pages" in said("--dry-run", "--source", "web")
    assert "Read all 3 stored articles again?" in said()
    assert "there is no rule 9" in said("--rule", "9")
    assert "is no time; write 2026-11-30" in said("--from", "soon")
    assert "--from must be before --to" in said("--from", "2026-11-30", "--to", "2026-11-29")
    # Kafka isn't there: what was reached is told, to go on from.
    assert "go on with --after 0" in said("--yes")

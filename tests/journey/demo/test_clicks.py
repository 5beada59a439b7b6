"""What an operator starts from the page of an asset, clicked in a real browser on a running demo: a check, the digest,
a backfill of one source and day."""

import html
import re

import pytest
from playwright.sync_api import expect

from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.model.reparse import PageFilter
from tests.journey.demo.pages import PAGES, PATIENCE_MS, Screen, UiPage
from tests.journey.demo.session import Demo
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(600)]

RUN_S = 120
"""A run's start takes seconds, beside a demo's own start many."""
FEW = 5
"""Issues of which the digest is too long to be shown among the other metadata."""
REPARSED = UiPage("backfill", "/assets/sql/reparsed_contents", ("reparsed_contents", "Materialize…"))


def test_execute_has_a_check_look_at_once(demo: Demo, window: Screen) -> None:
    window.show(_page("checks"))
    before = set(_runs_of_check(demo, "leases"))
    window.page.get_by_text("leases", exact=True).first.click()
    window.button("Execute").click()
    (run_id,) = eventually(lambda: set(_runs_of_check(demo, "leases")) - before, timeout_s=RUN_S, interval_s=0.5)
    _must_succeed(demo, run_id)
    assert _runs_of_check(demo, "leases")[run_id] in ("SUCCEEDED", "FAILED"), "it was judged"
    window.page.get_by_text("Execution history").click()
    expect(window.page.locator(f"a[href*='{run_id}']").first).to_be_visible(timeout=PATIENCE_MS)


def test_materialize_renders_the_digest_on_disk_and_in_the_ui(demo: Demo, window: Screen) -> None:
    issues = demo.wiring().stores.reports.issues
    eventually(lambda: len(issues(FEW)) == FEW, timeout_s=300, interval_s=1)
    latest = demo.home / "reports" / "latest.html"
    latest.unlink(missing_ok=True)
    window.show(_page("digest"))
    before = _digested_at(demo)
    window.button("Materialize").click()
    eventually(lambda: _digested_at(demo) != before, timeout_s=RUN_S, interval_s=0.5)
    titles = [html.unescape(title) for title in re.findall(r"<h2[^>]*>(.+?)</h2>", latest.read_text())]
    assert len(titles) >= FEW
    window.show(_page("digest"))  # its metadata aren't looked up anew while it is open
    window.page.get_by_text("[Show Markdown]").click(timeout=PATIENCE_MS)
    expect(window.page.locator("li strong").first).to_have_text(titles[0], timeout=PATIENCE_MS)


def test_a_day_of_a_source_is_read_again_when_it_is_backfilled(demo: Demo, window: Screen) -> None:
    stored = demo.wiring().stores.stored_articles.count
    host = HOSTS[0].key
    eventually(lambda: stored(PageFilter(sources=(host,))), timeout_s=300, interval_s=1)
    before = set(_runs_with_partitions(demo))
    window.show(REPARSED)
    window.button("Materialize…").click()
    window.button("Latest").click()
    window.page.get_by_text("Config", exact=True).click()
    window.button("Add config").click()
    window.write_config(f"ops: {{sql__reparsed_contents: {{config: {{sources: [{host}]}}}}}}")
    window.button("Save config").click()
    window.button("Launch 1 run").click()
    (run_id,) = eventually(lambda: set(_runs_with_partitions(demo)) - before, timeout_s=RUN_S, interval_s=0.5)
    _must_succeed(demo, run_id)
    told = _told(demo, run_id)
    assert 0 < told["published"] <= told["looked_at"]
    assert told["looked_at"] <= stored(PageFilter(sources=(host,))) < stored(PageFilter()), "of no other source"


def _page(name: str) -> UiPage:
    return next(page for page in PAGES if page.name == name)


def _must_succeed(demo: Demo, run_id: str) -> None:
    eventually(lambda: demo.ui.run_status(run_id) in ("SUCCESS", "FAILURE"), timeout_s=RUN_S, interval_s=0.5)
    assert demo.ui.run_status(run_id) == "SUCCESS"


def _runs_of_check(demo: Demo, name: str) -> dict[str, str]:
    """What runs made of a check of the parser's queue, those of the health probe left out, which have no run."""
    query = """query ($key: AssetKeyInput!, $name: String!) {
        assetCheckExecutions(assetKey: $key, checkName: $name, limit: 25) { runId status } }"""
    found = demo.ui.ask(query, key={"path": ["redis", "parser_queue"]}, name=name)["assetCheckExecutions"]
    return {each["runId"]: each["status"] for each in found if each["runId"]}


def _digested_at(demo: Demo) -> list[str]:
    query = """query ($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
        assetMaterializations(limit: 1) { timestamp } } } }"""
    found = demo.ui.ask(query, key={"path": ["reports", "issue_digest"]})["assetNodeOrError"]["assetMaterializations"]
    return [each["timestamp"] for each in found]


def _runs_with_partitions(demo: Demo) -> list[str]:
    query = """{ runsOrError(limit: 100) { ... on Runs { results { runId tags { key } } } } }"""
    runs = demo.ui.ask(query)["runsOrError"]["results"]
    return [run["runId"] for run in runs if any(tag["key"].startswith("dagster/partition") for tag in run["tags"])]


def _told(demo: Demo, run_id: str) -> dict[str, int]:
    """The numbers in the metadata of what a run materialized."""
    query = """query ($id: ID!) { runOrError(runId: $id) { ... on Run { assetMaterializations {
        metadataEntries { label ... on IntMetadataEntry { intValue } } } } } }"""
    made = demo.ui.ask(query, id=run_id)["runOrError"]["assetMaterializations"]
    return {entry["label"]: entry["intValue"] for entry in made[0]["metadataEntries"] if "intValue" in entry}

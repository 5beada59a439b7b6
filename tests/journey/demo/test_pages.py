"""Each page that the operating guide sends people to, in a real browser, on a running demo."""

import pytest
from playwright.sync_api import expect

from issuetracker_dagster.model.stage import Stage
from tests.journey.demo.pages import PAGES, PATIENCE_MS, Screen, UiPage
from tests.journey.demo.session import Demo
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("wanted", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_the_guide_says(window: Screen, wanted: UiPage) -> None:
    window.show(wanted)


def test_the_lineage_opens_into_the_journey_of_a_message(window: Screen) -> None:
    window.show(next(page for page in PAGES if page.name == "lineage"))
    window.expand_lineage()
    for asset in ("parser_queue", "normalized", "retries"):
        expect(window.page.get_by_text(asset, exact=True).first).to_be_attached(timeout=PATIENCE_MS)


def test_a_click_on_a_toggle_sends_the_stage_to_kafka_and_back(demo: Demo, window: Screen) -> None:
    window.show(next(page for page in PAGES if page.name == "automation"))
    _must_become(demo, "queue")
    _toggle(window, "enrich_intake")
    _must_become(demo, "direct")
    assert demo.ui.sensors()["enrich_intake"]["status"] == "STOPPED"
    _toggle(window, "enrich_intake")
    _must_become(demo, "queue")


def test_a_dry_run_is_launched_from_the_form_and_says_what_it_would_do(demo: Demo, window: Screen) -> None:
    window.show(next(page for page in PAGES if page.name == "launchpad"))
    window.page.get_by_role("button", name="Launch Run").click()
    window.page.wait_for_url("**/runs/*", timeout=PATIENCE_MS)
    run_id = window.page.url.rstrip("/").rsplit("/", 1)[-1].split("?")[0]
    eventually(lambda: demo.ui.run_status(run_id) == "SUCCESS", timeout_s=120, interval_s=0.5)
    expect(window.page.get_by_text("RUN_SUCCESS").first).to_be_visible(timeout=PATIENCE_MS)


def _toggle(window: Screen, sensor: str) -> None:
    """A row of the list has two boxes, the one that selects it and the toggle, which is drawn by its label."""
    row = f"//*[text()='{sensor}']/ancestor::*[count(.//input[@type='checkbox'])=2][1]"
    window.page.locator(f"xpath=({row}//input)[2]").dispatch_event("click")


def _must_become(demo: Demo, mode: str) -> None:
    eventually(lambda: demo.mode(Stage.ENRICH) == mode, timeout_s=120, interval_s=0.5)

"""`issuetracker demo` as a newcomer and an operator meet it: one demo, looked at, toggled, killed, stopped and resumed.

The tests of this module build on each other and run in their order.
"""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from issuetracker_dagster.local import family
from issuetracker_dagster.local.ports import is_free
from issuetracker_dagster.model.stage import Stage
from tests.journey.demo.pages import chromium
from tests.journey.demo.session import Demo
from tests.waiting import eventually

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(600)]


def test_contents_are_enriched_and_an_issue_gets_three_sources(demo: Demo) -> None:
    began = time.monotonic()
    eventually(lambda: demo.counts().get("contents.enriched"), timeout_s=240, interval_s=1)
    issues = demo.wiring().stores.reports.issues
    eventually(lambda: any(view.issue.source_count >= 3 for view in issues(500)), timeout_s=240, interval_s=1)
    print(f"an issue with three sources {time.monotonic() - began:.0f} s after the UI was up")


def test_the_ui_has_sensors_assets_runs_and_check_results(demo: Demo) -> None:
    stages = [stage.value for stage in Stage]
    sensors = demo.ui.sensors()
    assert {f"{stage}_workers" for stage in stages} <= set(sensors)
    assert {sensors[f"{stage}_intake"]["status"] for stage in ("parser", "validate", "enrich")} == {"RUNNING"}
    assert {"kafka/fetched", "redis/parser_queue", "redis/buffer_low", "sql/issues"} <= demo.ui.asset_keys()
    at_work = {*(f"{stage}_shift" for stage in stages), "drain_backlog"}
    eventually(lambda: set(demo.ui.runs_at_work().values()) == at_work, timeout_s=120)
    eventually(lambda: demo.wiring().buffer_switch.is_on(), timeout_s=30)
    eventually(lambda: demo.ui.check_results("redis", "parser_queue").get("depth"), timeout_s=90, interval_s=1)


def test_a_browser_shows_the_toggles(demo: Demo, tmp_path: Path) -> None:
    page = subprocess.run(
        [
            *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync"),
            *("--disable-background-networking", "--disable-component-update", f"--user-data-dir={tmp_path}"),
            *("--virtual-time-budget=20000", "--dump-dom", f"{demo.ui.url}/automation"),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    for sensor in ("parser_intake", "validate_workers", "retry_relay"):
        assert sensor in page


def test_a_flag_switched_off_in_the_ui_sends_its_stage_to_kafka_and_back(demo: Demo) -> None:
    demo.ui.switch("validate_intake", on=False)
    eventually(lambda: demo.mode(Stage.VALIDATE) == "direct", timeout_s=60, interval_s=0.5)
    before = demo.counts()["contents.enriched"]
    eventually(lambda: demo.counts()["contents.enriched"] > before, timeout_s=120, interval_s=1)
    demo.ui.switch("validate_intake", on=True)
    eventually(lambda: demo.mode(Stage.VALIDATE) == "queue", timeout_s=60, interval_s=0.5)
    before = demo.counts()["contents.enriched"]
    eventually(lambda: demo.counts()["contents.enriched"] > before, timeout_s=120, interval_s=1)


def test_the_slot_of_a_killed_worker_is_filled_again(demo: Demo) -> None:
    killed = demo.beat(Stage.PARSER)
    assert killed is not None
    os.kill(int(killed.info["pid"]), signal.SIGKILL)
    began = time.monotonic()

    def refilled() -> bool:
        beat = demo.beat(Stage.PARSER)
        return beat is not None and beat.run_id != killed.run_id and beat.info["mode"] == "queue"

    eventually(refilled, timeout_s=90, interval_s=0.5)
    print(f"the slot was at work again {time.monotonic() - began:.0f} s after kill -9")
    assert killed.run_id not in demo.ui.runs_at_work()


def test_ctrl_c_ends_everything_and_a_second_start_goes_on(demo: Demo) -> None:
    before = demo.counts()
    ports = [demo.port, *(int(part) for part in _local_ports(demo))]
    assert demo.stop() == 0
    assert family.members(demo.home) == []
    assert all(is_free(port) for port in ports)
    demo.start()
    eventually(lambda: demo.mode(Stage.ENRICH) == "queue", timeout_s=120, interval_s=0.5)
    after = demo.counts()
    assert after["contents.enriched"] >= before["contents.enriched"]
    assert after["seeds"] == before["seeds"]
    eventually(lambda: demo.counts()["contents.enriched"] > after["contents.enriched"], timeout_s=180, interval_s=1)


def _local_ports(demo: Demo) -> list[str]:
    found = demo.wiring().endpoints
    return [found.kafka.rpartition(":")[2], found.redis.removesuffix("/0").rpartition(":")[2]]

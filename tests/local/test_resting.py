"""Seeds of the demo while `dev` runs on its home."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.local import children, state
from issuetracker_dagster.local.resting import rest, wake
from issuetracker_dagster.local.site import sources
from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.local.site.remembered import Remembered
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.ports.seeds import Seeds
from tests.migrated import sqlite_at

DEMO = sources.seeds(Remembered(7, 0, {host.key: 20_000 + n for n, host in enumerate(HOSTS)}))
OWN = Seed(url="https://news.example.com/rss", source="example")
NOW_MS = 1_000


@pytest.fixture
def seeds(tmp_path: Path) -> Iterator[Seeds]:
    stores = SqlStores(connect(sqlite_at(tmp_path / "issuetracker.db")))
    stores.seeds.add([*DEMO, OWN])
    yield stores.seeds
    stores.close()


def on(seeds: Seeds) -> set[str]:
    return {seed.url for seed in seeds.all() if seed.enabled}


def test_dev_switches_off_the_seeds_of_hosts_that_nobody_serves_and_no_others(tmp_path: Path, seeds: Seeds) -> None:
    assert rest(tmp_path, seeds, NOW_MS) == len(DEMO)
    assert on(seeds) == {OWN.url}
    assert rest(tmp_path, seeds, NOW_MS) == 0


def test_the_demo_switches_exactly_those_on_again(tmp_path: Path, seeds: Seeds) -> None:
    by_user = {DEMO[0].url, DEMO[3].url}
    seeds.set_enabled(by_user, enabled=False, now_ms=NOW_MS)
    rest(tmp_path, seeds, NOW_MS)
    rest(tmp_path, seeds, NOW_MS)

    assert wake(tmp_path, seeds, NOW_MS) == len(DEMO) - len(by_user)
    assert on(seeds) == {seed.url for seed in DEMO} - by_user | {OWN.url}

    seeds.set_enabled([DEMO[1].url], enabled=False, now_ms=NOW_MS)
    assert wake(tmp_path, seeds, NOW_MS) == 0
    assert DEMO[1].url not in on(seeds)


def test_a_second_dev_adds_to_what_the_first_one_remembered(tmp_path: Path, seeds: Seeds) -> None:
    rest(tmp_path, seeds, NOW_MS)
    seeds.set_enabled([DEMO[0].url], enabled=True, now_ms=NOW_MS)
    assert rest(tmp_path, seeds, NOW_MS) == 1
    assert wake(tmp_path, seeds, NOW_MS) == len(DEMO)


def test_what_rests_outlives_services_that_come_and_go(tmp_path: Path, seeds: Seeds) -> None:
    rest(tmp_path, seeds, NOW_MS)
    service = state.Service("kafka", "kafka", children.Identity(1, 1.0), (9092, 9093), "kafka.log")
    state.write(tmp_path, state.read(tmp_path).having(service))
    state.write(tmp_path, state.read(tmp_path).without("kafka").remembering("ui", 3000))
    assert wake(tmp_path, seeds, NOW_MS) == len(DEMO)


def test_a_state_file_of_an_older_version_has_nothing_that_rests(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "services.json").write_text('{"services": {}, "ports": {"ui": [3000]}}')
    assert state.read(tmp_path) == state.State(ports={"ui": (3000,)})

"""`prepare` of the demo: the site runs and the database knows it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.local import demo, family
from issuetracker_dagster.local.endpoints import Endpoints
from issuetracker_dagster.local.report import Step
from issuetracker_dagster.local.site.hosts import FORUM, HOSTS
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.ports.http import FetchRequest
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.snapshots import LatestPriorities
from tests.migrated import sqlite_at


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    family.end(tmp_path, grace_s=3)


@pytest.fixture
def endpoints(home: Path) -> Endpoints:
    return Endpoints(kafka_bootstrap="", redis_url="", database_url=sqlite_at(home / "issuetracker.db"))


@pytest.fixture
def stores(endpoints: Endpoints) -> Iterator[SqlStores]:
    opened = SqlStores(connect(endpoints.database_url))
    yield opened
    opened.close()


@pytest.mark.slow
def test_the_site_runs_as_family_and_every_seed_can_be_fetched(
    home: Path, endpoints: Endpoints, stores: SqlStores
) -> None:
    steps: list[Step] = []
    demo.prepare(endpoints, home, 7, steps.append)
    assert len(family.members(home)) == 1
    seeds = stores.seeds.all()
    assert {seed.source for seed in seeds} == {host.key for host in HOSTS}
    assert {seed.target_type for seed in seeds} == {TargetType.FEED, TargetType.SITEMAP, TargetType.CATEGORY}
    fetcher = AiohttpFetcher(allow_private_addresses=True)
    try:
        for seed in seeds:
            asked = FetchRequest(url=seed.url, user_agent="test", timeout_ms=5_000, max_bytes=1_000_000)
            assert fetcher.fetch(asked).status == 200, seed.url
    finally:
        fetcher.close()
    said = "\n".join(step.text for step in steps)
    assert all(f"http://{host.name}:" in said for host in HOSTS)
    assert family.end(home, grace_s=3) == 0


@pytest.mark.slow
def test_preparing_again_goes_on_where_it_was_and_keeps_what_the_user_changed(
    home: Path, endpoints: Endpoints, stores: SqlStores
) -> None:
    demo.prepare(endpoints, home, 7, lambda _: None)
    seeds = stores.seeds.all()
    rules = [rule for host in HOSTS for rule in stores.parser_rules.for_host(host.name, TargetType.ARTICLE)]
    pace = stores.parser_rules.fetcher_rule(FORUM.name)
    assert pace is not None
    slower = msgspec.structs.replace(pace, requests_per_hour=60)
    stores.parser_rules.save_fetcher_rule(slower)
    family.end(home, grace_s=3)

    demo.prepare(endpoints, home, 7, lambda _: None)
    assert stores.seeds.all() == seeds
    assert rules == [rule for host in HOSTS for rule in stores.parser_rules.for_host(host.name, TargetType.ARTICLE)]
    assert stores.parser_rules.fetcher_rule(FORUM.name) == slower


@pytest.mark.slow
def test_breaking_paths_are_high_archived_ones_low_and_the_rest_normal(
    endpoints: Endpoints, stores: SqlStores, home: Path
) -> None:
    demo.prepare(endpoints, home, 7, lambda _: None)
    table = LatestPriorities(stores.rule_snapshots)()
    wanted = {
        "breaking/2026/11/gale-1030.html": Priority.HIGH,
        "archive/view/950": Priority.LOW,
        "business/2026/11/deal-1030.html": Priority.NORMAL,
    }
    for host in HOSTS:
        found = {path: table.find(f"http://{host.name}:8000/{path}") for path in wanted}
        assert {path: rule.priority if rule else None for path, rule in found.items()} == wanted


def test_the_environment_is_one_that_the_settings_accept(
    home: Path, endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in demo.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    settings = Settings()
    assert settings.fetch.allow_private_addresses
    assert settings.fetch.user_agent == demo.ENVIRONMENT["FETCH_USER_AGENT"]

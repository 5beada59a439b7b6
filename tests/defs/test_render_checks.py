"""The check on rendering: who is to be rendered, and what is missing for it."""

from pathlib import Path

import dagster as dg
import pytest

from issuetracker_dagster.defs.render_checks import judge_rendering, look_at_rendering
from issuetracker_dagster.model.rules import FetcherRule
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.migrated import sqlite_at


def test_hosts_that_cant_be_rendered_are_named_with_what_is_missing() -> None:
    judged = judge_rendering([f"{number}.com" for number in range(7)], "Playwright isn't installed")
    assert not judged.passed
    assert judged.severity is dg.AssetCheckSeverity.WARN
    assert judged.description == (
        "0.com, 1.com, 2.com, 3.com, 4.com and 2 more: rules ask for rendering, and their pages are only fetched, "
        "since Playwright isn't installed"
    )


@pytest.mark.parametrize(("hosts", "missing"), [([], "anything"), ([], ""), (["a.com"], "")])
def test_all_is_well_when_nobody_asks_or_nothing_is_missing(hosts: list[str], missing: str) -> None:
    assert judge_rendering(hosts, missing).passed


def test_it_is_judged_by_the_rules_and_by_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", sqlite_at(tmp_path / "rules.db"))
    monkeypatch.setenv("FETCH_RENDER_BROWSER", str(tmp_path / "no-browser"))
    wiring = Wiring(Settings(env_file=None))
    try:
        (well,), _ = look_at_rendering(wiring)
        wiring.stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern="a.com", rendering=True))
        (missing,), said = look_at_rendering(wiring)
    finally:
        wiring.close()
    assert isinstance(well, dg.AssetCheckEvaluation)
    assert isinstance(missing, dg.AssetCheckEvaluation)
    assert (well.passed, missing.passed) == (True, False)
    assert "FETCH_RENDER_BROWSER=" in said

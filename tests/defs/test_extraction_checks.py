"""The checks on what parsing yields: how they judge, and what they see in the database."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from issuetracker_dagster.defs.extraction_checks import (
    CONTENTS,
    EXTRACTION,
    NAMED,
    RULES,
    RULES_MATCH,
    judge_extraction,
    judge_rules,
    look_at_extraction,
)
from issuetracker_dagster.model.extraction import STALE_MISSES, WINDOW_MS, HostYield, RuleYield
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.contracts.store_worlds import article, page
from tests.migrated import sqlite_at

WARN, ERROR = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR


def ruled(missed: int, used: int) -> RuleYield:
    return RuleYield(host="a.com", rule_id="7", used=used, missed=missed, samples=("https://a.com/1",))


def host(name: str = "a.com", lost: tuple[str, ...] = (), garbled: float = 0.0) -> HostYield:
    return HostYield(host=name, pages=40, lost=lost, garbled=garbled, samples=(f"https://{name}/1",))


@pytest.mark.parametrize(
    ("missed", "used", "judged"),
    [(STALE_MISSES - 1, 0, None), (STALE_MISSES, 4 * STALE_MISSES, WARN), (STALE_MISSES, 0, ERROR)],
)
def test_a_stale_rule_warns_and_one_that_finds_nothing_at_all_is_an_error(
    missed: int, used: int, judged: dg.AssetCheckSeverity | None
) -> None:
    result = judge_rules([ruled(missed, used)])
    assert (None if result.passed else result.severity) is judged
    said = result.description or ""
    for command in ("rules show 7", "rules edit 7", "reparse --rule 7 --missed"):
        assert (f"`issuetracker {command}`" in said) is bool(judged)
    assert (f"nothing on {missed} of {missed + used} pages of a.com (https://a.com/1)" in said) is bool(judged)


def test_a_rule_that_misses_a_few_of_many_pages_is_told_as_that_and_is_well() -> None:
    result = judge_rules([ruled(missed=10, used=990)])
    assert result.passed
    assert "a few pages" in (result.description or "")
    assert "nothing on 10 of 1000 pages of a.com" in (result.description or "")
    assert "layout" not in (result.description or "")


@pytest.mark.parametrize(
    ("found", "judged", "told"),
    [
        (host(), None, "40 pages of 1 hosts"),
        (host(lost=("author", "published_at")), WARN, "a.com: no author, published_at any more on 40 pages"),
        (host(lost=("body",)), ERROR, "issuetracker reparse --host a.com"),
        (host(garbled=0.025), WARN, "2.5% of the characters can't be read"),
    ],
)
def test_hosts_that_lost_fields_or_came_out_garbled_are_named_with_what_to_do(
    found: HostYield, judged: dg.AssetCheckSeverity | None, told: str
) -> None:
    result = judge_extraction([found])
    assert (None if result.passed else result.severity) is judged
    assert told in (result.description or "")


def test_only_some_hosts_are_named() -> None:
    said = judge_extraction([host(f"h{n}.com", lost=("author",)) for n in range(NAMED + 2)]).description or ""
    assert f"h{NAMED - 1}.com" in said
    assert f"h{NAMED}.com" not in said
    assert "and 2 more hosts" in said


def test_without_any_page_both_are_well() -> None:
    assert judge_rules([]).passed
    assert judge_extraction([]).passed


def test_a_host_that_changed_its_layout_turns_both_checks_by_the_probe_and_by_hand(
    bare_environment: Path, load_definitions: Any, instance: dg.DagsterInstance
) -> None:
    sqlite_at(bare_environment / "issuetracker.db")
    wiring = Wiring(Settings(None))
    now_ms = wiring.clock.now_ms()

    def fetched(number: int, at_ms: int, **sources: str) -> None:
        url = f"https://a.com/{number}"
        raw_id = wiring.stores.raw_contents.save(page(url, fetched_ms=at_ms))
        wiring.stores.contents.save(
            article(number, url=url, host="a.com", raw_id=raw_id, fetched_ms=at_ms, field_sources=sources)
        )

    for number in range(12):
        fetched(number, now_ms - 2 * WINDOW_MS, rule="used:7", author="rule")
    events, _, lost = look_at_extraction(wiring, {})
    assert all(event.passed for event in events)
    assert lost == {}
    for number in range(12, 24):
        fetched(number, now_ms - 1_000, rule="missed:7")
    events, words, lost = look_at_extraction(wiring, {})
    assert set(lost) == {"a.com"}
    told = {event.check_name: event for event in events}
    assert {name: event.passed for name, event in told.items()} == {RULES_MATCH: False, EXTRACTION: False}
    assert "no author any more" in (told[EXTRACTION].description or "")
    assert words == "12 pages parsed within 2h"
    defs = load_definitions()
    for key, name in ((RULES, RULES_MATCH), (CONTENTS, EXTRACTION)):
        job = defs.get_repository_def().get_implicit_job_def_for_assets([key])
        chosen = job.get_subset(asset_selection=set(), asset_check_selection={dg.AssetCheckKey(key, name)})
        (evaluation,) = chosen.execute_in_process(instance=instance).get_asset_check_evaluations()
        assert not evaluation.passed

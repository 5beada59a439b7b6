"""The operating guide has a row for every check, sensor, schedule and job; the README one for every command."""

import re
from pathlib import Path

from issuetracker_dagster.cli.commands import COMMANDS
from issuetracker_dagster.definitions import defs

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
FAILURES = (ROOT / "docs" / "operating-failures.md").read_text(encoding="utf-8")


def rows(heading: str) -> str:
    section = GUIDE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return "\n".join(line for line in section.splitlines() if line.startswith("|"))


def test_every_check_has_its_meaning_and_its_remedy() -> None:
    table = [line.split("|")[1:-1] for line in rows("Checks").splitlines()[2:]]
    told = {word for _, check, _, _ in table for word in re.findall(r"`(\w+)`", check)}
    assert told == {key.name for key in defs.resolve_asset_graph().asset_check_keys}
    assert all(meaning.strip() and remedy.strip() for _, _, meaning, remedy in table)


def test_every_outage_names_the_check_that_turns() -> None:
    section = FAILURES.split("\n## When something is out\n")[1].split("\n## ")[0]
    table = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("|")][2:]
    assert len(table) > 5
    graph = defs.resolve_asset_graph()
    checks = {key.name for key in graph.asset_check_keys}
    assets = {"/".join(key.path) for key in graph.get_all_asset_keys()}
    for out, turns, *_ in table:
        named = set(re.findall(r"`([\w/]+)`", turns))
        assert named <= checks | assets, out
        assert named or "the same" in turns or "none" in turns, out


def test_every_sensor_and_schedule_is_in_the_table_of_toggles() -> None:
    repository = defs.get_repository_def()
    names = {sensor.name for sensor in repository.sensor_defs}
    names |= {schedule.name for schedule in repository.schedule_defs}
    assert {name for name in names if f"`{name}`" not in rows("The toggles")} == set()


def test_every_job_is_in_the_table_of_jobs() -> None:
    jobs = {job.name for job in defs.get_repository_def().get_all_jobs() if not job.name.startswith("__")}
    first_cells = " ".join(line.split("|")[1] for line in rows("Jobs").splitlines()[2:])
    assert set(re.findall(r"`(\w+)`", first_cells)) == jobs


def test_every_command_is_in_the_readme() -> None:
    table = (ROOT / "README.md").read_text(encoding="utf-8").split("\n## Commands\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`(?:issuetracker )?(\w+)", table))
    assert set(COMMANDS) <= named

"""The forms of the launchpad: whoever opens a job finds out there what each field takes."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster._config.field import Field


@pytest.fixture
def fields(load_definitions: Any) -> dict[str, Field]:
    """Every field of every form, by job and name."""
    repository = load_definitions().get_repository_def()
    asset = dg.AssetKey(["sql", "reparsed_contents"])
    by_hand = repository.get_implicit_job_def_for_assets([asset])
    return dict(
        found
        for job in (*repository.get_all_jobs(), by_hand)
        for node in job.nodes
        for found in _of_op(job.name, node.definition)
    )


def _of_op(job: str, op: dg.OpDefinition) -> Iterator[tuple[str, Field]]:
    form = getattr(op.config_schema.config_type, "fields", {}) if op.config_schema else {}
    return ((f"{job}.{name}", field) for name, field in form.items())


def test_every_field_says_what_it_takes_and_what_it_is_when_left_out(fields: dict[str, Field]) -> None:
    for name, field in fields.items():
        said = field.description or ""
        assert len(said) > 15, name
        if field.default_provided and field.default_value in ("", []):
            assert "empty: " in said, name
        elif field.default_provided:
            left_out = str(field.default_value)
            left_out = left_out.lower() if isinstance(field.default_value, bool) else left_out
            assert left_out in said, name
            assert "default" in said or f"{left_out}: all" in said, name


def test_jobs_that_change_much_have_a_form(fields: dict[str, Field]) -> None:
    assert {name.partition(".")[0] for name in fields} >= {
        "redrive_dead_letters", "reparse_contents", "move_queue_entries", "purge_history", "issue_digest",
    }  # fmt: skip


@pytest.mark.parametrize("job", ["redrive_dead_letters", "reparse_contents", "move_queue_entries"])
def test_what_is_hard_to_undo_is_a_dry_run_at_first(fields: dict[str, Field], job: str) -> None:
    assert fields[f"{job}.dry_run"].default_value is True

"""How processes of the code location end."""

import subprocess
import sys

import pytest

GARBAGE = """
{first}
class Kept:
    def __del__(self):
        print("looked through")
kept = Kept()
kept.itself = kept
"""


@pytest.mark.parametrize(
    ("first", "said"),
    [
        ("", "looked through"),
        ("import issuetracker_dagster.definitions", ""),
    ],
)
def test_at_its_end_a_process_does_not_look_once_more_through_all_that_lives(first: str, said: str) -> None:
    program = [sys.executable, "-c", GARBAGE.format(first=first)]
    assert subprocess.run(program, capture_output=True, text=True, timeout=60, check=True).stdout.strip() == said

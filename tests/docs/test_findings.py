"""`docs/findings.md`: each promise has its tests, and they exist."""

import ast
import re
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "findings.md"
FINDINGS = 53


def rows() -> list[tuple[int, str, list[str]]]:
    """Number, promise and tests of each line of the table."""
    found = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$", PAGE.read_text(), re.MULTILINE)
    return [(int(number), promise, re.findall(r"`([^`]+)`", tests)) for number, promise, tests in found]


@cache
def functions_of(path: str) -> frozenset[str]:
    """The test functions that a file defines, none when it isn't there."""
    if not (TESTS / path).is_file():
        return frozenset()
    tree = ast.parse((TESTS / path).read_text())
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_finding_is_there_once() -> None:
    assert [number for number, _, _ in rows()] == list(range(1, FINDINGS + 1))


def test_every_finding_has_tests_that_exist() -> None:
    missing = [
        f"{number}: {test}"
        for number, _, tests in rows()
        for test in tests or ["none is named"]
        if test.partition("::")[2] not in functions_of(test.partition("::")[0])
    ]
    assert not missing

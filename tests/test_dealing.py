"""How tests are dealt out: what stays together, what goes on its own, and that a lost process is no success."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests import dealing


def scope(nodeid: str) -> str:
    return dealing.ByFile._split_scope(cast(Any, None), nodeid)


def test_tests_of_a_file_stay_together_but_long_ones_go_one_by_one() -> None:
    assert scope("tests/crash/test_a.py::test_b[c::d]") == "tests/crash/test_a.py"
    assert scope("tests/faults/test_a.py::test_b") == "tests/faults/test_a.py::test_b"
    assert scope("tests/journey/test_a.py::test_b[x]") == "tests/journey/test_a.py::test_b[x]"


@pytest.mark.parametrize(("error", "wanted"), [("killed", pytest.ExitCode.INTERNAL_ERROR), (None, pytest.ExitCode.OK)])
def test_a_process_lost_between_two_tests_fails_the_run(error: str | None, wanted: pytest.ExitCode) -> None:
    config = SimpleNamespace(stash=pytest.Stash())
    session: Any = SimpleNamespace(config=config, exitstatus=pytest.ExitCode.OK)
    dealing.pytest_testnodedown(cast(Any, SimpleNamespace(config=config)), error)
    dealing.pytest_sessionfinish(session)
    assert session.exitstatus is wanted

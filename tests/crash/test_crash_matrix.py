"""A process stopped at any arrow of the journey: nothing is lost, little is repeated.

By SIGKILL at each arrow, by the other signals at one of each process; `make crash-matrix` runs every arrow by every
signal.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pytest

from tests.crash.arrows import ARROWS, SUITE, Arrow
from tests.crash.matrix import run
from tests.crash.results import Result, Servers
from tests.crash.scenes import ALLOWED

pytestmark = [pytest.mark.services, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def matrix(
    kafka_bootstrap: str, valkey_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[Arrow, Sequence[Result]]:
    servers = Servers(kafka_bootstrap, valkey_url, tmp_path_factory.mktemp("crash"))
    results: dict[Arrow, list[Result]] = defaultdict(list)
    for result in run(servers, SUITE):
        results[result.arrow].append(result)
    return results


@pytest.mark.parametrize("arrow", ARROWS, ids=lambda arrow: arrow.title)
def test_findings_11_18_27_31_32_and_41_stopped_at_an_arrow_nothing_is_lost_and_little_repeated(
    arrow: Arrow, matrix: Mapping[Arrow, Sequence[Result]]
) -> None:
    results = matrix[arrow]
    assert [result.blow for result in results] == [blow for asked, blow in SUITE if asked is arrow]
    for result in results:
        assert not result.problem, f"{result.blow}: {result.problem}"
        assert not result.lost, result
        assert not result.strangers, result
        assert not result.amiss, result
        assert result.repeated <= ALLOWED[arrow.scene], result

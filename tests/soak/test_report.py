"""What a soak has to have seen before it may say that it held."""

import threading

import msgspec
import pytest

from tests.soak.dagster_watch import DagsterFigures
from tests.soak.ledger import Database, Ledger
from tests.soak.report import failures, report
from tests.soak.result import Result
from tests.soak.soak import noting

HELD = Result(
    minutes=1.0, planned=1, thrown=(("reboot", "1 reboot", "everything", 2.0, ""),), published=60, looks=12, refused={},
    judgement=Ledger().judge([], Database({}, (), ())), left={}, drained_s=5.0, doubles={}, silent={}, stuck_runs=(),
    lives=(), dagster=DagsterFigures({}, {}), restarts=0, bugs=(),
)  # fmt: skip


def test_a_soak_in_which_all_went_well_held() -> None:
    assert failures(HELD) == []
    assert list(report(HELD))[-1].startswith("HELD")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"published": 0}, "0 jobs"),
        ({"looks": 0}, "0 looks"),
        ({"broken": ("watch: KeyError('runs')",)}, "watch: KeyError"),
        ({"left": {"frontier": 1}}, "not empty"),
        ({"stuck_runs": ("parser_shift 0 STARTED",)}, "stuck runs"),
        ({"silent": {"parser_shift 0": 999.0}}, "no sign of life"),
        ({"thrown": (("reboot", "1 reboot", "", None, "OSError: nobody answered"),)}, "nobody answered"),
    ],
)
def test_whatever_did_not_hold_or_was_not_seen_breaks_it(change: dict[str, object], told: str) -> None:
    result = msgspec.structs.replace(HELD, **change)
    assert told in "; ".join(failures(result))
    assert list(report(result))[-1].startswith("BROKEN")


def breaks() -> None:
    raise KeyError("runs")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_part_that_ends_by_an_error_is_noted() -> None:
    broken: list[str] = []
    with noting(broken):
        thread = threading.Thread(target=breaks, name="watch")
        thread.start()
        thread.join()
    assert broken == ["watch: KeyError('runs')"]

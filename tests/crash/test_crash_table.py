"""The page of the crash matrix is that of the arrows as they are."""

from tests.crash.arrows import ARROWS, SUITE, Blow, Scene
from tests.crash.table import PAGE, rows


def test_the_committed_table_has_a_row_for_every_arrow_and_nothing_lost() -> None:
    found = list(rows(PAGE.read_text()))
    assert [(scene, name) for scene, name, _, _ in found] == [(arrow.scene.value, arrow.name) for arrow in ARROWS]
    for scene, name, cells, most in found:
        assert len(cells) == len(Blow), (scene, name)
        assert all(lost == 0 and repeated <= most for lost, repeated in cells), (scene, name, cells)


def test_the_suite_kills_at_every_arrow_and_stops_each_process_by_every_signal() -> None:
    assert [arrow for arrow, blow in SUITE if blow is Blow.KILL] == list(ARROWS)
    assert {(arrow.scene, blow) for arrow, blow in SUITE} == {(scene, blow) for scene in Scene for blow in Blow}

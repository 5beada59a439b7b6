"""Programs that the local commands start, and their logs."""

import sys
from pathlib import Path

from issuetracker_dagster.local import children
from tests.waiting import eventually

TEN_MIB = 10 * 1024 * 1024


def test_a_log_is_put_aside_when_the_next_start_finds_it_large(tmp_path: Path) -> None:
    log, aside = tmp_path / "site.log", tmp_path / "site.log.1"
    aside.write_bytes(b"of the time before\n")
    log.write_bytes(b"." * (TEN_MIB + 1))
    _say("second", log)
    assert aside.stat().st_size == TEN_MIB + 1
    _say("third", log)
    assert log.read_text() == "second\nthird\n"


def _say(word: str, log: Path) -> None:
    said = children.spawn([sys.executable, "-c", f"print('{word}')"], log=log, cwd=log.parent)
    eventually(lambda: not children.is_alive(said))

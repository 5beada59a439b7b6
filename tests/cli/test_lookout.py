"""What a look does when a server's answer is not what was expected; see `test_top` for servers that are out."""

import time
from collections.abc import Iterator

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.wiring.lookout import Asked

LONG_S = 60.0


def asked(*answers: int | Exception) -> Iterator[tuple[int | None, str]]:
    """Each answer as it shows, and why none does; a look that waits for its whole time fails the test."""
    left = iter(answers)

    def question() -> int:
        answer = next(left)
        if isinstance(answer, Exception):
            raise answer
        return answer

    server = Asked("redis", question)
    for _ in answers:
        began = time.monotonic()
        server.ask()
        server.wait(began + LONG_S)
        assert time.monotonic() - began < LONG_S / 2
        answer, view = server.latest(LONG_S)
        yield answer, view.error


def test_an_answer_that_nobody_foresaw_is_named_at_once_and_the_next_look_asks_again() -> None:
    found = list(asked(1, Unavailable("Redis is out"), 2, ValueError("redis://:secret@host"), 3))
    assert [answer for answer, _ in found] == [1, None, 2, None, 3]
    assert [error for _, error in found][:3] == ["", "Redis is out", ""]
    assert found[3][1] == "its answer isn't understood (ValueError)"

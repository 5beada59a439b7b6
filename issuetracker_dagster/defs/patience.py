"""Waiting for servers that are out when a long run begins: it waits instead of failing, and ends when it is told to."""

import logging
from collections.abc import Callable
from typing import TypeVar

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.ports.clock import Clock

logger = logging.getLogger(__name__)

T = TypeVar("T")
EVERY_S = 1.0


def once_there(clock: Clock, control: Callable[[], str | None], question: Callable[[], T]) -> T | None:
    """The answer, waited for while a server is out; None when `control` gives a reason to end meanwhile.

    A run that fails because it began in an outage costs its slot a growing pause, long after the server is back.
    """
    is_told = False
    while True:
        try:
            return question()
        except Unavailable as error:
            if not is_told:
                logger.warning("this run waits: %s", error, extra=action("shift.paused"))
                is_told = True
            if control():
                return None
            clock.sleep(EVERY_S)

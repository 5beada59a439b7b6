"""What makes a forked process one of its own: how signals end it, and where it logs."""

import logging
import os
import signal
from pathlib import Path
from types import FrameType


class interruptible:
    """SIGTERM and SIGINT raise KeyboardInterrupt where the program stands, each time."""

    def __enter__(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _interrupt)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        return kind is KeyboardInterrupt


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def write_to(log: Path) -> None:
    """Everything that this process says goes to that file."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s.%(msecs)03d %(threadName)s %(name)s %(message)s",
        datefmt="%H:%M:%S",
        force=True,
    )
    logging.getLogger("kafka").setLevel(logging.WARNING)

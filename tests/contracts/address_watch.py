"""Whom this process tries to call.

An audit hook of the interpreter sees every attempt to connect, whoever makes it, and lets none out of the machine; a
listener on all addresses of the machine sees what would have reached it.
"""

import errno
import select
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class Watch:
    """Attempts to connect to `port`, by address."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
        self.port = int(self._listener.getsockname()[1])
        self.attempts: list[str] = []

    @property
    def has_a_caller(self) -> bool:
        """Whether a connection came in."""
        return bool(select.select([self._listener], [], [], 0)[0])

    @property
    def nobody_was_called(self) -> bool:
        return not self.attempts and not self.has_a_caller

    def saw(self, address: object) -> None:
        if isinstance(address, tuple) and address[1] == self.port:
            self.attempts.append(str(address[0]))
            if not str(address[0]).startswith("127."):
                raise ConnectionRefusedError(errno.ECONNREFUSED, "tests ask nobody out there")

    def close(self) -> None:
        self._listener.close()


_watches: list[Watch] = []


def _audit(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.connect":
        for watch in _watches:
            watch.saw(args[1])


sys.addaudithook(_audit)  # stays to the end of the process, and does nothing without a watch


@contextmanager
def watching() -> Iterator[Watch]:
    """A watch on a port of its own."""
    watch = Watch()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)
        watch.close()

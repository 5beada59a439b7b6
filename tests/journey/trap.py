"""A way to Redis on which one call of one script can be held: its request, or the reply to it.

Whoever sent it then stands at exactly that point, for a test that kills or stops it there.
"""

import contextlib
import socket
import threading
from types import TracebackType
from typing import Literal
from urllib.parse import urlsplit

from issuetracker_dagster.adapters.redis.scripts import script

Side = Literal["request", "reply"]


class Trap:
    """Forwards to the server of `url`. Once `set`, one of the next calls of that script is held until `free`."""

    def __init__(self, url: str) -> None:
        self._target = ("127.0.0.1", int(urlsplit(url).port or 0))
        self._wanted: tuple[bytes, Side] | None = None
        self._calls_before = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._freed = threading.Event()
        self.caught = threading.Event()
        """Set once the call is held."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def set(self, name: str, side: Side, call: int = 1) -> None:
        """Hold the next call of that script, or the so-manieth."""
        with self._lock:
            self._wanted = script(name).digest.encode(), side
            self._calls_before = call - 1

    def free(self) -> None:
        """Let what is held go on."""
        self._freed.set()

    def __enter__(self) -> "Trap":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.free()
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._target)
                self._sockets += (near, far)
                holding = threading.Event()
                threading.Thread(target=self._requests, args=(near, far, holding), daemon=True).start()
                threading.Thread(target=self._replies, args=(far, near, holding), daemon=True).start()

    def _requests(self, near: socket.socket, far: socket.socket, holding: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                side = self._is_wanted(data)
                if side == "request":
                    self._hold()
                elif side == "reply":
                    holding.set()
                far.sendall(data)
        _end(near, far)

    def _replies(self, far: socket.socket, near: socket.socket, holding: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 16):
                if holding.is_set():
                    holding.clear()
                    self._hold()
                near.sendall(data)
        _end(near, far)

    def _is_wanted(self, data: bytes) -> Side | None:
        with self._lock:
            if self._wanted is None or self._wanted[0] not in data:
                return None
            if self._calls_before:
                self._calls_before -= 1
                return None
            side = self._wanted[1]
            self._wanted = None
            return side

    def _hold(self) -> None:
        self.caught.set()
        self._freed.wait(120)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)

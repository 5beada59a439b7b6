"""A way to a server on the loopback interface on which anything can go wrong, for any server that speaks over TCP."""

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

LOOPBACK = "127.0.0.1"


class FaultProxy:
    """Forwards to `port`. `connections` counts those that were asked for, so that a test can judge the rate of tries.

    With `advertised`, the port that a Kafka broker tells its clients is replaced by this one in its replies, since
    clients would go past the proxy otherwise.
    """

    def __init__(self, port: int, *, advertised: bool = False) -> None:
        self._target = port
        self._advertised = advertised
        self._lock = threading.Lock()
        self._is_down = False
        self._delay_s = 0.0
        self._to_lose = self._to_cut = 0
        self._sockets: set[socket.socket] = set()
        self.connections = self.lost = self.cut = 0
        self._listener = socket.create_server((LOOPBACK, 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def lead_to(self, port: int) -> None:
        """Go to another server from now on; connections to the one before end."""
        self._target = port
        self._drop_all()

    def lose(self, replies: int) -> None:
        """Swallow the next replies, whatever they answer, and cut their connections: the server has done it."""
        with self._lock:
            self._to_lose = replies

    def cut_in_mid_reply(self, replies: int) -> None:
        """Cut the connections of the next replies when half of each has come through."""
        with self._lock:
            self._to_cut = replies

    @contextmanager
    def down(self) -> Iterator[None]:
        """Inside the block each connection ends at once, those that were there too; tries are still counted."""
        self._is_down = True
        self._drop_all()
        try:
            yield
        finally:
            self._is_down = False

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Inside the block nobody listens, and whoever was connected is cut off."""
        port = self.port
        _end(self._listener)
        self._drop_all()
        try:
            yield
        finally:
            self._listener = socket.create_server((LOOPBACK, port))
            threading.Thread(target=self._accept, daemon=True).start()

    @contextmanager
    def slow(self, delay_s: float) -> Iterator[None]:
        """Inside the block each reply is late by that much."""
        self._delay_s = delay_s
        try:
            yield
        finally:
            self._delay_s = 0.0

    def __enter__(self) -> "FaultProxy":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _end(self._listener)
        self._drop_all()

    def _drop_all(self) -> None:
        with self._lock:
            dropped, self._sockets = self._sockets, set()
        _end(*dropped)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.connections += 1
                if not self._is_down:
                    self._connect(near)
                else:
                    near.close()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection((LOOPBACK, self._target), timeout=5.0)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        with self._lock:
            self._sockets |= {near, far}
        threading.Thread(target=self._requests, args=(near, far), daemon=True).start()
        threading.Thread(target=self._replies, args=(far, near), daemon=True).start()

    def _requests(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 16):
                far.sendall(data)
        self._forget(near, far)

    def _replies(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 18):
                if self._delay_s:
                    time.sleep(self._delay_s)  # the fault itself, not a wait
                through = self._through(data)
                near.sendall(self._readdressed(data[:through]))
                if through < len(data):
                    break
        self._forget(near, far)

    def _through(self, data: bytes) -> int:
        """How many bytes of this reply come through."""
        with self._lock:
            if self._to_lose:
                self._to_lose -= 1
                self.lost += 1
                return 0
            if self._to_cut:
                self._to_cut -= 1
                self.cut += 1
                return len(data) // 2
        return len(data)

    def _readdressed(self, data: bytes) -> bytes:
        if not self._advertised:
            return data
        host = LOOPBACK.encode()
        return data.replace(host + struct.pack(">i", self._target), host + struct.pack(">i", self.port))

    def _forget(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._sockets -= set(sockets)
        _end(*sockets)


def _end(*sockets: socket.socket) -> None:
    for one in sockets:
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()

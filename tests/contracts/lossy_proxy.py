"""A way to a server on which replies can be lost after the server has done what it was asked."""

import contextlib
import socket
import threading
from types import TracebackType


class LossyProxy:
    """Forwards to `port`. A reply that `lose` asks for is swallowed and its connection cut: the caller can't know."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._to_lose = 0
        self.lost = 0
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def lose(self, replies: int) -> None:
        """Lose the next replies, whatever they answer."""
        with self._lock:
            self._to_lose = replies

    def __enter__(self) -> "LossyProxy":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += (near, far)
                threading.Thread(target=self._pump, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._pump, args=(far, near, True), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, replies: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if replies and self._loses():
                    break
                sink.sendall(data)
        for one in (source, sink):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _loses(self) -> bool:
        with self._lock:
            if not self._to_lose:
                return False
            self._to_lose -= 1
            self.lost += 1
            return True

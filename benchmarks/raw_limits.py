"""The limits that the stage queue is held against: the fewest commands that could do it, encoded, on a bare socket."""

import socket
from collections.abc import Callable, Sequence
from typing import Any

import hiredis

BATCH = 100


def encoded(words: tuple[str | bytes, ...]) -> bytes:
    """One command as it goes over the wire."""
    pack: Callable[[Any], bytes] = hiredis.pack_command
    return pack(words)


class RawSocket:
    """A connection that sends encoded commands and counts replies."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._reader = hiredis.Reader()

    def call(self, commands: bytes, replies: int) -> list[object]:
        """Send and wait for that many replies."""
        self._socket.sendall(commands)
        found: list[object] = []
        while len(found) < replies:
            reply = self._reader.gets()
            if reply is False:
                self._reader.feed(self._socket.recv(1 << 18))
            else:
                found.append(reply)
        return found

    def close(self) -> None:
        self._socket.close()


def encoded_push(members: Sequence[tuple[str, str, bytes]]) -> list[bytes]:
    """ZADD + SET for each (member, score, body), a blob for each 100 of them."""
    return [
        b"".join(
            encoded(("ZADD", "limit", score, member)) + encoded(("SET", f"limit:{member}", body))
            for member, score, body in members[first : first + BATCH]
        )
        for first in range(0, len(members), BATCH)
    ]


def limit_push(raw: RawSocket, blobs: Sequence[bytes]) -> None:
    """Send the blobs, each with a wait for its replies: *limit push*, pipelined by 100."""
    for blob in blobs:
        raw.call(blob, 2 * BATCH)


def limit_pop(raw: RawSocket, batches: int) -> None:
    """ZPOPMIN 100, then MGET and UNLINK of what it returned, so many times: *limit pop*."""
    for _ in range(batches):
        (popped,) = raw.call(encoded(("ZPOPMIN", "limit", str(BATCH))), 1)
        assert isinstance(popped, list)
        assert len(popped) == 2 * BATCH
        keys = [b"limit:" + member for member in popped[::2]]
        raw.call(encoded(("MGET", *keys)) + encoded(("UNLINK", *keys)), 2)

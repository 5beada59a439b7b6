"""How clients of Kafka are opened so that an outage leaves no socket, selector or thread of theirs behind."""

import socket
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kafka.net.compat import KafkaNetClient
from kafka.net.inet import KafkaNetSocket

Client = TypeVar("Client")

CLOSING = "closing://"
"""The `proxy_url` that makes kafka-python build its sockets by `ClosingSocket`. No proxy is involved."""


class ClosingSocket(KafkaNetSocket):
    """Connects as kafka-python 3.0.12 does, and closes what was refused or timed out.

    The client itself drops such a socket with the error that holds it, a cycle that waits for a full garbage
    collection. In a process with a large heap, such as the code server, that is minutes away, so an outage with a try a
    second for each client leaves dozens of open handles.
    """

    SCHEMES = ("closing",)

    async def sock_connect(self, net: Any, sock: socket.socket, sockaddr: Any, timeout_at: float | None = None) -> Any:
        """`sock`, connected to `sockaddr`. Raises what kafka-python raises, with the socket closed."""
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)  # type: ignore[no-untyped-call]
        except BaseException:  # a cancelled task ends by GeneratorExit
            sock.close()
            raise


def opened(kind: Callable[..., Client], options: Mapping[str, Any]) -> Client:
    """A consumer, producer or admin client. Raises `KafkaError` as its constructor does, and leaves nothing open then.

    kafka-python 3.0.12 starts a thread with a selector before it looks for the brokers, and when it finds none it
    raises without an object that could be closed.
    """
    made: list[KafkaNetClient] = []

    def remembered(**configs: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**configs))
        return made[-1]

    try:
        return kind(**options, kafka_client=remembered)
    except BaseException:
        for client in made:
            client.close()
        raise

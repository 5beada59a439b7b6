"""How a producer's client is let go for good, whatever it still holds and whether or not its broker is there."""

from typing import Any

from kafka import KafkaProducer
from kafka.errors import KafkaError

END_TIMEOUT_S = 2.0
"""For its thread to notice that it is to end; it is woken for that."""


def let_go(client: KafkaProducer, timeout_s: float) -> None:
    """Deliver what it holds, waiting up to `timeout_s` for each of its batches, then end it within two seconds.

    Raises `KafkaError` if something couldn't be delivered; the client is closed then, too. Whoever waits for one of its
    records is told at once that it is not coming.
    """
    try:
        client.close(timeout=timeout_s)
    except KafkaError:
        _end(client)
        raise


def _end(client: Any) -> None:
    """What kafka-python 3.0.12 leaves out when its `close` can't flush: it raises before it ends anything.

    Its thread then goes on and connects for as long as the process lives, may deliver what counts as failed, and the
    client's finaliser tries the same close once more. No public call ends it.
    """
    client._sender.force_close()
    client._sender.join(END_TIMEOUT_S)
    # Its thread has been told to end and has nothing to deliver: there is nothing that a second close could do.
    client._closed = True

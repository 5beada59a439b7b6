"""Lua scripts by name, sent as a digest and in full only when the server doesn't know them."""

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import hiredis
import redis
from redis.exceptions import NoScriptError

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors

_INCLUDE = "-- include "


class Script:
    """One `scripts/<name>.lua`. Every call may be repeated, so a lost reply is simply asked for again.

    A line `-- include <name>` is replaced by the text of that file: Redis has no `require`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = _text(name)
        self.digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()

    def run(self, client: RedisClient, keys: Sequence[str], args: Sequence[str | bytes]) -> Any:
        """The script's reply; raises `Unavailable` on any outage. All keys must share a slot.

        NOSCRIPT (a restart, a failover, SCRIPT FLUSH) is answered with the full text, which also loads it there again.
        """
        with redis_errors(self.name):
            try:
                return _ask(client, ("EVALSHA", self.digest, str(len(keys)), *keys, *args))
            except NoScriptError:
                return _ask(client, ("EVAL", self.text, str(len(keys)), *keys, *args))


@cache
def script(name: str) -> Script:
    """The script of that name, read once a process."""
    return Script(name)


def _ask(client: RedisClient, words: tuple[str | bytes, ...]) -> Any:
    """As `command`, but past redis-py's own way of packing words and parsing replies, which costs more than the script.

    Retries are the connection's own, as for any other command. A cluster client finds the node by itself.
    """
    if not isinstance(client, redis.Redis):
        return command(client, *words)
    pack: Any = hiredis.pack_command
    packed = [pack(words)]
    pool: Any = client.connection_pool
    connection = pool.get_connection()

    def once() -> Any:
        connection.send_packed_command(packed)
        return connection.read_response()

    def after_failure(_: Exception) -> None:
        connection.disconnect()

    try:
        return connection.retry.call_with_retry(once, after_failure)
    finally:
        pool.release(connection)


def _text(name: str) -> str:
    source = files(__package__).joinpath("scripts", f"{name}.lua").read_text(encoding="utf-8")
    lines = [
        _text(line[len(_INCLUDE) :].strip()) if line.startswith(_INCLUDE) else line for line in source.splitlines()
    ]
    return "\n".join(lines)

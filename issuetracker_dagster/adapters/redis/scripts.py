"""Lua scripts by name, sent as a digest and in full only when the server doesn't know them."""

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

import hiredis
import redis
from redis.exceptions import NoScriptError, ResponseError

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors

_INCLUDE = "-- include "

Call = tuple[Sequence[str], Sequence[str | bytes]]
"""The keys and arguments of one run of a script."""

_Words = tuple[str | bytes, ...]


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

    def run_many(self, client: RedisClient, calls: Sequence[Call]) -> list[Any]:
        """The script's replies to many calls in one round trip (a cluster: one a node), in their order.

        As `run`, but no call waits for another: after `Unavailable` some were executed, perhaps, and all may be sent
        again. Only the keys of one call must share a slot.
        """
        with redis_errors(self.name):
            replies = _ask_all(client, [("EVALSHA", self.digest, *_words(call)) for call in calls])
            unknown = [place for place, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
            if unknown:
                again = _ask_all(client, [("EVAL", self.text, *_words(calls[place])) for place in unknown])
                for place, reply in zip(unknown, again, strict=True):
                    replies[place] = reply
            for reply in replies:
                if isinstance(reply, Exception):
                    raise reply
            return replies


@cache
def script(name: str) -> Script:
    """The script of that name, read once a process."""
    return Script(name)


def _words(call: Call) -> _Words:
    keys, args = call
    return (str(len(keys)), *keys, *args)


def _ask(client: RedisClient, words: _Words) -> Any:
    """As `command`, but past redis-py's own way of packing words and parsing replies, which costs more than the script.

    Retries are the connection's own, as for any other command. A cluster client finds the node by itself.
    """
    if not isinstance(client, redis.Redis):
        return command(client, *words)
    (reply,) = _exchange(client, [words])
    if isinstance(reply, Exception):
        raise reply
    return reply


def _ask_all(client: RedisClient, commands: Sequence[_Words]) -> list[Any]:
    """The reply to each, a server's refusal as the exception that it is; raises when a server can't be reached."""
    if not commands:
        return []
    if isinstance(client, redis.Redis):
        return _exchange(client, commands)
    open_pipeline: Callable[[], Any] = client.pipeline
    pipeline = open_pipeline()
    for words in commands:
        pipeline.execute_command(*words)
    replies: list[Any] = pipeline.execute(raise_on_error=False)
    return replies


def _exchange(client: redis.Redis, commands: Sequence[_Words]) -> list[Any]:
    pack: Any = hiredis.pack_command
    packed = [b"".join([pack(words) for words in commands])]  # one piece: each would be a write of its own
    pool: Any = client.connection_pool
    connection = pool.get_connection()

    def once() -> list[Any]:
        connection.send_packed_command(packed)
        return [reply_or_refusal() for _ in commands]

    def reply_or_refusal() -> Any:
        # Every reply is read, so that none is left for whoever has the connection next.
        try:
            return connection.read_response()
        except ResponseError as refusal:
            return refusal

    def after_failure(_: BaseException) -> None:
        connection.disconnect()

    try:
        return cast("list[Any]", connection.retry.call_with_retry(once, after_failure))
    except BaseException as error:
        after_failure(error)  # interrupted, its replies would go to whoever has the connection next
        raise
    finally:
        pool.release(connection)


def _text(name: str) -> str:
    source = files(__package__).joinpath("scripts", f"{name}.lua").read_text(encoding="utf-8")
    lines = [
        _text(line[len(_INCLUDE) :].strip()) if line.startswith(_INCLUDE) else line for line in source.splitlines()
    ]
    return "\n".join(lines)

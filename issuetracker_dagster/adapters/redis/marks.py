"""Marks that live and die with the data of a server, by which its loss is noticed from outside.

Keys: `{<key>}:mark`, beside what is marked, so that in a cluster each node's data has its own.
"""

import secrets

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script


class Mark(msgspec.Struct, frozen=True):
    """`mark` is random and as old as the data. `history` is the stream of writes that the server goes on with, `length`
    bytes long by now; `before` the one that it took over (empty: none), up to byte `followed`.
    """

    mark: str
    history: str
    length: int
    before: str
    followed: int


def read_mark(client: RedisClient, key: str) -> Mark:
    """The mark of the data that `key` belongs to, made when there is none; raises `Unavailable`."""
    reply = script("history_read").run(client, [f"{{{key}}}:mark"], [secrets.token_hex(8)])
    mark, history, length, before, followed = reply
    return Mark(mark.decode(), history.decode(), int(length), before.decode(), int(followed))

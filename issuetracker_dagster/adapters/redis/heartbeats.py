"""Signs of life of shifts, by which the supervisor tells the dead from the slow.

Keys: `worker:<stage>`, a HASH from slot to the latest sign of life, so that reading a stage needs no scan.
"""

from collections.abc import Sequence

import msgspec

from issuetracker_dagster.adapters.redis.client import RedisClient, command, redis_errors
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.ports.locks import Heartbeat


class _Beat(msgspec.Struct):
    run_id: str
    info: dict[str, str] = {}


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(_Beat)


class RedisHeartbeats:
    """`Heartbeats` in Redis, under the server's time. A full server still takes them."""

    def __init__(self, client: RedisClient) -> None:
        self._client = client

    def beat(self, stage: str, slot: int, run_id: str, info: dict[str, str]) -> None:
        script("heartbeat_beat").run(self._client, [_key(stage)], [str(slot), _encoder.encode(_Beat(run_id, info))])

    def alive(self, stage: str) -> Sequence[Heartbeat]:
        with redis_errors("read heartbeats"):
            found: dict[bytes, bytes] = command(self._client, "HGETALL", _key(stage))
        return tuple(sorted((_read(stage, *item) for item in found.items()), key=lambda beat: beat.slot))

    def now_ms(self) -> int:
        return int(script("server_time").run(self._client, [_key("clock")], []))


def _key(stage: str) -> str:
    return f"worker:{stage}"


def _read(stage: str, slot: bytes, value: bytes) -> Heartbeat:
    at_ms, _, packed = value.partition(b":")
    try:
        beat = _decoder.decode(packed)
        return Heartbeat(stage, int(slot), beat.run_id, int(at_ms), beat.info)
    except (ValueError, msgspec.MsgspecError) as error:
        # Leaving the slot out would look like silence, and a healthy shift would be replaced.
        raise Unavailable(f"the heartbeat {_key(stage)} {slot!r} can't be read: {error}") from error

"""Messages that nobody should send, and good ones in odd clothes between them; all from a seed."""

import json
import random
from collections.abc import Callable, Iterator

import msgspec

from issuetracker_dagster.model.stage import Stage, Topic
from tests.journey.stage_work import payload_for

GOOD_EVERY = 5
"""Each fifth message is a good one."""


class Sent(msgspec.Struct, frozen=True):
    """A record as it went out. `name` is its key and, of a good one, its root id."""

    name: str
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    is_good: bool


class RawName(str):
    """A header name that goes out as the bytes of its characters."""

    __slots__ = ()

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return super().encode("latin-1")


def messages(stage: Stage, topic: Topic, count: int, seed: int) -> Iterator[Sent]:
    """`count` messages for a topic that `stage` reads."""
    rng = random.Random(f"{seed}:{topic.value}")
    valid = json.loads(_valid(stage))
    for number in range(count):
        if number % GOOD_EVERY == 0:
            name = f"good-{topic.value}-{number}"
            yield Sent(name, _valid_of(stage, name), tuple(_odd_but_good(rng, name)), is_good=True)
            continue
        name = f"bad-{topic.value}-{number}"
        headers = [("root_id", name.encode()), *_noise(rng)]
        if rng.random() < 0.3:
            headers = [*_no_identity(rng), *_noise(rng)]
            value: bytes | None = _valid(stage) if rng.random() < 0.5 else rng.randbytes(rng.randrange(200))
        else:
            value = rng.choice(_BAD_VALUES)(rng, dict(valid))
        yield Sent(name, value, tuple(headers), is_good=False)


def _valid(stage: Stage) -> bytes:
    return _valid_of(stage, "page")


def _valid_of(stage: Stage, name: str) -> bytes:
    if stage is Stage.FETCH:
        return json.dumps({"url": f"https://{name.replace('.', '-')}.example.com/"}).encode()
    return msgspec.json.encode(payload_for(stage, name))


def _deep(rng: random.Random, valid: dict[str, object]) -> bytes:
    bracket = rng.choice([b"[", b'{"a":', b'{"url":['])
    return bracket * rng.choice([500] * 8 + [20_000, 100_000 // len(bracket)])


def _deep_inside(rng: random.Random, valid: dict[str, object]) -> bytes:
    """Well-formed, and the field that is too deep is one that nobody reads; the one before it is of a wrong type."""
    deep = "[" * 2_000 + "]" * 2_000
    return (json.dumps(valid | {"url": rng.choice([1, None, True])})[:-1] + ', "x": ' + deep + "}").encode()


def _wrong_type(rng: random.Random, valid: dict[str, object]) -> bytes:
    wrong = rng.choice([None, 1, 1.5, True, [], {}, ["https://news.example.com"], {"url": "x"}])
    return json.dumps(valid | {"url": wrong}).encode()


def _wrong_whole(rng: random.Random, valid: dict[str, object]) -> bytes:
    return json.dumps(rng.choice([None, 0, "", [], [valid], "url", True, [[[]]], {}])).encode()


def _version(rng: random.Random, valid: dict[str, object]) -> bytes:
    return json.dumps(valid | {"v": rng.choice([0, 2, -1, 2**63 - 1, 10**400, "1", None, 1.5])}).encode()


def _missing(rng: random.Random, valid: dict[str, object]) -> bytes:
    del valid["url"]
    return json.dumps(valid).encode()


def _cut(rng: random.Random, valid: dict[str, object]) -> bytes:
    whole = json.dumps(valid).encode()
    return whole[: rng.randrange(len(whole))]


def _bad_text(rng: random.Random, valid: dict[str, object]) -> bytes:
    whole = json.dumps(valid | {"url": "HERE"}).encode()
    return whole.replace(
        b"HERE", rng.choice([b"\xff\xfe", b"\x00", b"\n", b"\xed\xa0\x80", b"\\ud800\\x", b'"', b"\\"])
    )


def _encoded(rng: random.Random, valid: dict[str, object]) -> bytes:
    return json.dumps(valid).encode(rng.choice(["utf-16", "utf-32", "utf-8-sig", "utf-7", "cp037"])) + b"\x00"


_BAD_VALUES: list[Callable[[random.Random, dict[str, object]], bytes | None]] = [
    lambda rng, _: rng.randbytes(rng.randrange(1, 400)),
    lambda rng, _: rng.choice([b"", None, b"\x00", b"\x00" * 1_000, b" " * 1_000, b"\xef\xbb\xbf"]),
    lambda rng, _: b"{" + rng.randbytes(rng.choice([10, 10, 10, 20_000])),
    lambda rng, valid: json.dumps(valid).encode() + rng.choice([b"x", b"{}", b"\x00", b","]),
    lambda rng, _: rng.choice([b"NaN", b"-Infinity", b"1e400", b"-", b"'url'", b"<xml/>", b"url=1", b"\x80\x04N."]),
    _deep, _deep_inside, _wrong_type, _wrong_whole, _version, _missing, _cut, _bad_text, _encoded,
]  # fmt: skip


def _no_identity(rng: random.Random) -> list[tuple[str, bytes]]:
    return rng.choice(
        [
            [],
            [("root_id", b"")],
            [("ROOT_ID", b"wrong-case"), ("root-id", b"x")],
            [("root_id", b"\xff\xfe")],
            [("root_id", b"nul\x00inside")],
            [("root_id", b"two\nlines")],
            [("root_id", b"x" * 257)],
            [("root_id", b"x" * 5_000)],
            [("root_id", b"good"), ("root_id", b"")],
            [("root_id", "\u202eevil".encode())],
        ]
    )


_NUMBERS = [
    b"", b"0", b"1", b"2", b"3", b"4", b"-1", b"1.5", b"01", b" 1", b"1 ", b"+1", b"1_0", b"1e0", b"0x1", b"high",
    b"HIGH", b"\xff", b"\x00", b"\xc2\xb2", b"\xd9\xa1", b"9" * 16, b"9" * 17, b"9" * 5_000, b"NaN", b"inf", b"None",
]  # fmt: skip


def _noise(rng: random.Random) -> list[tuple[str, bytes]]:
    """Headers of all sorts, which no message has to be refused for."""
    found: list[tuple[str, bytes]] = [
        (name, rng.choice(_NUMBERS))
        for name in ("priority", "generation", "timeout_ms", "first_published_ms", "recrawl_count")
        if rng.random() < 0.5
    ]
    odd: list[tuple[str, bytes]] = [
        ("", b"no name"),
        ("x", b""),
        ("x" * 1_000, b"long name"),
        ("long", b"y" * 2_000),
        ("dlq_reason", b"not yet"),
        ("dlq_", b""),
        ("dlq_stage", b"parser"),
        ("dlq_at_ms", b"9" * 30),
        ("dlq_source_topic", b"dlq"),
        ("redrive_count", b"\xff"),
        ("redrive_history", b"[" * 1_500),
        ("\u0000", b"\x00"),
        ("\ud55c\uad6d", b"\xff\xff"),
        ("target_type", b"\xff"),
        ("target_type", b"article\x00"),
        ("crawler", b"\xff" * 100),
        ("trace_id", b"t" * 1_000),
        ("other", b"1"),
        (RawName("\xff\xfe"), b"name of no text"),
    ]
    found += rng.sample(odd, rng.randrange(4))
    if rng.random() < 0.02:
        found += [(f"many-{number}", b"") for number in range(500)]
    rng.shuffle(found)
    return found


def _odd_but_good(rng: random.Random, name: str) -> list[tuple[str, bytes]]:
    attempt = [("attempt", rng.choice([b"", b"-1", b"x", b"0", b"1"]))] if rng.random() < 0.3 else []
    found: list[tuple[str, bytes]] = [*_noise(rng), *attempt, ("root_id", name.encode())]
    rng.shuffle(found)
    return found

"""The kinds of values that settings take, and how a person writes them."""

import re
from collections.abc import Callable
from ipaddress import ip_address
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo
from pydantic_settings import NoDecode

T = TypeVar("T")

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_DURATION_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SIZE = re.compile(r"(\d+)\s*(B|KB|MB|GB)?", re.IGNORECASE)
_SIZE_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


MOST_DAYS = 36_500
"""A hundred years: longer ones are slips, and at some length no column takes them any more."""


def duration_ms(value: object) -> int:
    """`500ms`, `30s`, `5m`, `24h`, `7d` or 0 as milliseconds; raises ValueError that says what is accepted."""
    if isinstance(value, int):
        return value
    text = str(value).strip().lower()
    if text == "0":
        return 0
    match = _DURATION.fullmatch(text)
    if not match:
        raise ValueError("a duration such as 500ms, 30s, 5m, 24h or 7d")
    found = float(match[1]) * _DURATION_MS[match[2]]
    if found > MOST_DAYS * _DURATION_MS["d"]:
        raise ValueError(f"a duration of at most {MOST_DAYS}d")
    return int(found)


def interval_ms(value: object) -> int:
    """A duration that isn't 0, in milliseconds; raises ValueError that says what is accepted."""
    found = duration_ms(value)
    if found < 1:
        raise ValueError("a duration longer than 0, such as 500ms, 30s, 5m, 24h or 7d")
    return found


def size_bytes(value: object) -> int:
    """`10MB`, `512KB` or plain bytes; raises ValueError that says what is accepted."""
    if isinstance(value, int):
        return value
    match = _SIZE.fullmatch(str(value).strip())
    if not match:
        raise ValueError("a size such as 10MB, 512KB or a number of bytes")
    return int(match[1]) * _SIZE_BYTES[(match[2] or "").upper()]


def priority_words(value: object) -> dict[str, str]:
    """`wire=high,archive=low` as names and words; raises ValueError that says what is accepted."""
    if isinstance(value, dict):
        return value
    found: dict[str, str] = {}
    for part in str(value).split(",") if str(value).strip() else ():
        name, _, word = (piece.strip() for piece in part.rpartition("="))
        if not name or word not in ("high", "normal", "low"):
            raise ValueError(f"{part.strip()!r} isn't the name of a source with high, normal or low, such as wire=high")
        if name in found:
            raise ValueError(f"{name!r} is there twice; each source has one priority")
        found[name] = word
    return found


def _by_band(value: object, read: Callable[[str], T], wanted: str) -> dict[str, T]:
    """`high=…,normal=…,low=…` as words and what `read` makes of each; raises ValueError that says what is accepted."""
    if isinstance(value, dict):
        return value
    found: dict[str, T] = {}
    for part in str(value).split(","):
        word, _, given = (piece.strip() for piece in part.partition("="))
        if word not in ("high", "normal", "low") or word in found:
            raise ValueError(wanted)
        try:
            found[word] = read(given)
        except ValueError as error:
            raise ValueError(f"{given!r} for {word}; accepted is {wanted}") from error
    if len(found) < 3:
        raise ValueError(wanted)
    return found


def durations_by_band(value: object) -> dict[str, int]:
    """`high=5m,normal=1h,low=0` in milliseconds; raises ValueError that says what is accepted."""
    return _by_band(value, duration_ms, "a duration or 0 for each of the three, such as high=5m,normal=1h,low=12h")


def shares_by_band(value: object) -> dict[str, float]:
    """`high=0.1,normal=0.5,low=0`; raises ValueError that says what is accepted."""
    return _by_band(value, _share, "0 to 1 for each of the three, such as high=0.1,normal=0.5,low=0.8")


def counts_by_band(value: object) -> dict[str, int]:
    """`high=1000,normal=10000,low=0`; raises ValueError that says what is accepted."""
    return _by_band(value, _count, "a number or 0 for each of the three, such as high=1000,normal=10000,low=0")


def _share(text: str) -> float:
    found = float(text)
    if not 0 <= found <= 1:
        raise ValueError(text)
    return found


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(text)
    return int(text)


def address(value: object) -> str:
    """`host:port` (`[::1]:9464` for IPv6), or `off` as nothing; raises ValueError that says what is accepted."""
    text = str(value).strip()
    if text.lower() == "off":
        return ""
    host_and_port(text)
    return text


def host_and_port(text: str) -> tuple[str, int]:
    """The parts of an address; raises ValueError that says what is accepted."""
    host, _, port = text.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or (":" in bare and bare == host) or not (port.isascii() and port.isdigit()) or int(port) > 65_535:
        raise ValueError("host:port such as 127.0.0.1:9464 or [::1]:9464, or off")
    return bare, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what is served there; a name other than localhost might be anybody's."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _toggle(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() in ("", "unset") else value


def _queue_key(value: object) -> object:
    if "{" in str(value) or "}" in str(value) or not str(value).strip():
        raise ValueError("a Redis key without braces, such as parser:zset:queue")
    return value


def duration(default: str, description: str) -> Any:
    """A field of type `Duration` or `Interval`, its default in the form that people write."""
    return Field(default, description=description)


def size(default: str, description: str) -> Any:
    """A field of type `Size`, its default in the form that people write."""
    return Field(default, description=description)


def priorities(default: str, description: str) -> Any:
    """A field of type `Priorities`, its default in the form that people write."""
    return Field(default, description=description)


def bands(default: str, description: str) -> Any:
    """A field of one of the types `…ByBand`, its default in the form that people write."""
    return Field(default, description=description)


Duration = Annotated[int, BeforeValidator(duration_ms)]
Interval = Annotated[int, BeforeValidator(interval_ms)]
"""A duration of which 0 would mean without a pause, or without any time at all."""
Size = Annotated[int, BeforeValidator(size_bytes)]
Toggle = Annotated[bool | None, BeforeValidator(_toggle)]
"""None: the toggle in the UI decides; True: on by default; False: off whatever the UI says."""
Address = Annotated[str, BeforeValidator(address)]
"""Where to serve, as host:port; empty (from the word off): nowhere."""
QueueKey = Annotated[str, BeforeValidator(_queue_key)]
Priorities = Annotated[dict[str, str], NoDecode, BeforeValidator(priority_words)]
"""A priority for each of some names, as the words high, normal and low."""
DurationsByBand = Annotated[dict[str, int], NoDecode, BeforeValidator(durations_by_band)]
SharesByBand = Annotated[dict[str, float], NoDecode, BeforeValidator(shares_by_band)]
CountsByBand = Annotated[dict[str, int], NoDecode, BeforeValidator(counts_by_band)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]


def accepted(field: FieldInfo) -> str:
    """The accepted values of a setting in a few words; empty for free text."""
    if get_origin(field.annotation) is Literal:
        *first, last = get_args(field.annotation)
        return f"{', '.join(first)} or {last}"
    if field.annotation is bool:
        return "true or false"
    by_reader = {
        duration_ms: "duration: 500ms, 30s, 5m, 24h",
        interval_ms: "duration: 500ms, 30s, 5m, 24h, not 0",
        size_bytes: "size: 512KB, 10MB",
        priority_words: "NAME=high, NAME=normal or NAME=low, several with commas",
        durations_by_band: "durations as high=5m,normal=1h,low=12h; 0: never",
        shares_by_band: "0 to 1 as high=0.1,normal=0.5,low=0.8; 0: never",
        counts_by_band: "numbers as high=1000,normal=10000,low=0; 0: never",
        _toggle: "unset, true or false",
    }
    for validator in field.metadata:
        if isinstance(validator, BeforeValidator) and validator.func in by_reader:
            return by_reader[validator.func]
    bounds = {
        name: value
        for bound in field.metadata
        for name in ("ge", "le")
        if (value := getattr(bound, name, None)) is not None
    }
    if "le" in bounds:
        return f"{bounds['ge']} to {bounds['le']}"
    return f"number from {bounds['ge']}" if bounds else ""

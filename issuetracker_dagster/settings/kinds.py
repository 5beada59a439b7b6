"""The kinds of values that settings take, and how a person writes them."""

import re
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BeforeValidator, Field
from pydantic.fields import FieldInfo
from pydantic_settings import NoDecode

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


def _toggle(value: object) -> object:
    return None if isinstance(value, str) and value.strip().lower() in ("", "unset") else value


def _queue_key(value: object) -> object:
    if "{" in str(value) or "}" in str(value) or not str(value).strip():
        raise ValueError("a Redis key without braces, such as parser:zset:queue")
    return value


def duration(default: str, description: str) -> Any:
    """A field of type `Duration`, its default in the form that people write."""
    return Field(default, description=description)


def size(default: str, description: str) -> Any:
    """A field of type `Size`, its default in the form that people write."""
    return Field(default, description=description)


def priorities(default: str, description: str) -> Any:
    """A field of type `Priorities`, its default in the form that people write."""
    return Field(default, description=description)


Duration = Annotated[int, BeforeValidator(duration_ms)]
Size = Annotated[int, BeforeValidator(size_bytes)]
Toggle = Annotated[bool | None, BeforeValidator(_toggle)]
"""None: the toggle in the UI decides; True: on by default; False: off whatever the UI says."""
QueueKey = Annotated[str, BeforeValidator(_queue_key)]
Priorities = Annotated[dict[str, str], NoDecode, BeforeValidator(priority_words)]
"""A priority for each of some names, as the words high, normal and low."""
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
        size_bytes: "size: 512KB, 10MB",
        priority_words: "NAME=high, NAME=normal or NAME=low, several with commas",
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

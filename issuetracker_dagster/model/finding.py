"""What `issuetracker doctor` finds about a set-up: a judgement, the thing in words, and what to do about it."""

from enum import StrEnum

import msgspec


class Level(StrEnum):
    """`fail`: something won't work or messages may be lost; `warn`: it works, and will hurt one day."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was tested. `rule` is a stable word for scripts; `fix` is empty when all is well."""

    rule: str
    level: Level
    what: str
    fix: str = ""


def ok(rule: str, what: str) -> Finding:
    """All is well."""
    return Finding(rule=rule, level=Level.OK, what=what)


def warn(rule: str, what: str, fix: str) -> Finding:
    """It works, and will hurt one day."""
    return Finding(rule=rule, level=Level.WARN, what=what, fix=fix)


def fail(rule: str, what: str, fix: str) -> Finding:
    """Something won't work, or messages may be lost."""
    return Finding(rule=rule, level=Level.FAIL, what=what, fix=fix)

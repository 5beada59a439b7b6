"""Moments as people write them."""

from datetime import UTC, datetime


def moment_ms(text: str) -> int:
    """`2026-11-30` or `2026-11-30T08:00`, in UTC unless an offset is given, as Unix milliseconds; raises ValueError
    that says what is accepted."""
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(f"{text!r} is no time; write 2026-11-30 or 2026-11-30T08:00 (UTC)") from None
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)

"""Durations as people write and read them; what settings accept is read by `settings.kinds`."""

_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


def exact_duration(ms: int) -> str:
    """The duration in the largest unit that divides it, as settings and seed files take it: `90m`, `6h`, `0`."""
    return next((f"{ms // size}{unit}" for unit, size in _UNITS if ms and ms % size == 0), "0")


def about_duration(ms: int) -> str:
    """The duration as one reads it, in its two largest units and whole seconds: `2h 5m`, `40s`, `0s`."""
    parts: list[str] = []
    rest = max(0, ms)
    for unit, size in _UNITS[:-1]:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
        if len(parts) == 2 or (parts and not count):
            break
    return " ".join(parts) or "0s"

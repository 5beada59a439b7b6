"""How many entries a worker claims at once: about one budget of work, so that a high newcomer waits little."""

SHRINK, GROW = 0.5, 0.1
"""How much of a new figure counts: a handler that turns slow is believed soon, one that turns fast only by and by."""


class BatchSize:
    """`budget / average handler time`, between 1 and `most`. Not for several threads at once.

    It starts with 1, since an unknown handler may be a slow one, and no step more than doubles it.
    """

    def __init__(self, *, budget_ms: float, most: int) -> None:
        if budget_ms <= 0 or most < 1:
            raise ValueError(f"budget_ms {budget_ms} and most {most} must be positive")
        self._budget_ms = budget_ms
        self._most = most
        self._average_ms: float | None = None
        self._size = 1

    def next(self) -> int:
        """The size of the next claim."""
        return self._size

    def observe(self, count: int, took_ms: float) -> None:
        """`count` entries were handled in `took_ms` of one handler's time, all together."""
        if count < 1:
            return
        each_ms = max(took_ms, 0.0) / count
        if self._average_ms is None:
            self._average_ms = each_ms
        else:
            weight = SHRINK if each_ms > self._average_ms else GROW
            self._average_ms += weight * (each_ms - self._average_ms)
        fitting = (
            self._most if self._average_ms * self._most <= self._budget_ms else int(self._budget_ms / self._average_ms)
        )
        self._size = max(1, min(fitting, 2 * self._size, self._most))

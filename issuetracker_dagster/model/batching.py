"""How many messages to claim at once: about one budget of work, so that nothing waits behind a hoard."""

BUDGET_S = 0.001
"""Work that one claim may take: a message of high priority waits at most that long behind what was claimed before it."""


class BatchSizer:
    """`size` = budget / smoothed handler time, between 1 and `most`.

    Quick to shrink, slow to grow: a slow message weighs half at once, fast ones win the size back little by little, and
    it never more than doubles from one message to the next. Not thread-safe: each slot has its own.
    """

    def __init__(self, most: int = 100, budget_s: float = BUDGET_S) -> None:
        if most < 1:
            raise ValueError(f"a batch of at most {most}; at least 1")
        self._most = most
        self._budget_s = budget_s
        self._smoothed_s: float | None = None
        self._size = 1

    @property
    def size(self) -> int:
        """How many to claim now."""
        return self._size

    def observe(self, handler_s: float) -> None:
        """Take in how long one message took, in seconds."""
        if self._smoothed_s is None:
            self._smoothed_s = handler_s
        else:
            weight = 0.5 if handler_s > self._smoothed_s else 0.1
            self._smoothed_s += weight * (handler_s - self._smoothed_s)
        wanted = int(self._budget_s / max(self._smoothed_s, 1e-9))
        self._size = max(1, min(wanted, self._size * 2, self._most))

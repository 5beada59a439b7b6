"""How many examples a property gets that wants another number than Hypothesis' hundred."""

from hypothesis import settings


def examples(count: int) -> int:
    """`count`, and under the profile of `make test-fast` the same share of it as of the hundred."""
    return max(1, count * settings().max_examples // 100)

"""The bar that long commands show on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Yields what is told how many are done. Where nobody looks, there is no bar: it would leave an empty line."""
    shape = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*shape, console=console, transient=True, disable=not console.is_terminal) as progress:
        shown = progress.add_task(what, total=total)
        yield lambda done: progress.update(shown, completed=done)

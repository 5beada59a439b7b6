"""What a start or a stop says while it goes on, and how a terminal shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Phase = Literal["working", "note", "ready", "joined", "stopped", "warning"]

_MARKS = {
    "note": "·",
    "ready": "[green]✓[/green]",
    "joined": "[green]✓[/green]",
    "stopped": "[dim]■[/dim]",
    "warning": "[yellow]![/yellow]",
}


@dataclass(frozen=True)
class Step:
    """Something to show to whoever waits; only the last "working" of a service is of interest."""

    service: str
    phase: Phase
    text: str


Report = Callable[[Step], None]


def silent(_: Step) -> None:
    """A report to nobody."""


@contextmanager
def shown(console: Console) -> Iterator[Report]:
    """A report to a terminal: work in progress in one moving line, results in lines that stay.

    Where the output isn't a terminal, the first "working" of each service is a line too: a log then shows what hangs.
    """
    announced: set[str] = set()
    moving: Progress | None = None

    def rest() -> None:
        nonlocal moving
        if moving is not None:
            moving.stop()
            moving = None

    def move(text: str) -> None:
        nonlocal moving
        if moving is None:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            moving = Progress(*columns, console=console, transient=True)
            moving.add_task(text)
            moving.start()
        moving.update(moving.task_ids[0], description=text)

    def report(step: Step) -> None:
        text = f"[bold]{escape(step.service):<9}[/bold] {escape(step.text)}"
        # A terminal that was closed must not stop the cleaning up that is reported to it.
        with suppress(OSError):
            if step.phase != "working":
                rest()
                console.print(f"{_MARKS[step.phase]} {text}", highlight=False, soft_wrap=True)
            elif console.is_terminal:
                move(text)
            elif step.service not in announced:
                announced.add(step.service)
                console.print(f"  {text}", highlight=False, soft_wrap=True)

    try:
        yield report
    finally:
        with suppress(OSError):
            rest()

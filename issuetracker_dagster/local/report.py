"""What a start or a stop says while it goes on, and how a terminal shows it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

Phase = Literal["working", "ready", "joined", "stopped", "warning"]

_MARKS = {
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
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as moving:
        line = moving.add_task("")

        def report(step: Step) -> None:
            name = f"[bold]{escape(step.service):<9}[/bold]"
            text = escape(step.text)
            if step.phase != "working":
                console.print(f"{_MARKS[step.phase]} {name} {text}", highlight=False)
            elif console.is_terminal:
                moving.update(line, description=f"{name} {text}")
            elif step.service not in announced:
                announced.add(step.service)
                console.print(f"  {name} {text}", highlight=False)

        yield report

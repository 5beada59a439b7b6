"""`issuetracker top`: the whole pipeline, live, in a terminal of 80 columns and 24 lines, or as JSON."""

import sys
import time
from collections.abc import Callable

import click
import msgspec
from rich.console import Console
from rich.live import Live

from issuetracker_dagster.cli.keys import pressed
from issuetracker_dagster.cli.seed_arguments import interval
from issuetracker_dagster.cli.switched_off import SwitchedOff
from issuetracker_dagster.cli.top_table import shown
from issuetracker_dagster.model.overview import Overview
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.lookout import Lookout
from issuetracker_dagster.wiring.parts import Wiring

ONCE_S = 15.0
"""How long a single look waits for servers: a Redis or Kafka that is out says so within that time."""
_LEAST_MS = 500
Look = Callable[[float], Overview]
"""The figures of the moment, within so many seconds."""


@click.command()
@click.option(
    "--interval", "every", default="2s", show_default=True, callback=interval, help="Time between looks, such as 5s."
)
@click.option("--once", is_flag=True, help="One look, and end. Rates need two and stay empty.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object a look, with the fields in docs/operating-terminal.md."
)
def top(every: int, once: bool, as_json: bool) -> None:
    """Watch the pipeline: each stage and priority, rates, workers, what waits where, dead letters, servers.

    q or Ctrl-C ends it. A server that is out is named, and what it would tell is left empty. Rates are a second, over
    the last half minute, or since the look before when that is longer ago.
    """
    if every < _LEAST_MS:
        raise click.BadParameter(f"at least {_LEAST_MS}ms", param_hint="--interval")
    settings = Settings()
    lookout, switched_off = Lookout(Wiring(settings)), SwitchedOff(settings.home)

    def look(within_s: float) -> Overview:
        return switched_off.marked(lookout.look(within_s))

    try:
        if once:
            _print(look, ONCE_S, Console(), as_json=as_json)
        elif as_json or not sys.stdout.isatty():
            _print_on(look, every / 1000, as_json=as_json)
        else:
            _live(look, every / 1000)
    except KeyboardInterrupt:
        return
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nobody is left to be told


def _print(look: Look, within_s: float, output: Console, *, as_json: bool) -> None:
    overview = look(within_s)
    if as_json:
        click.echo(msgspec.json.encode(overview))
    else:
        output.print(shown(overview))


def _print_on(look: Look, every_s: float, *, as_json: bool) -> None:
    output = Console()
    while True:
        due = time.monotonic() + every_s
        _print(look, every_s, output, as_json=as_json)
        time.sleep(max(0.0, due - time.monotonic()))


def _live(look: Look, every_s: float) -> None:
    with pressed() as key, Live(screen=True, auto_refresh=False) as screen:
        while True:
            due = time.monotonic() + every_s
            screen.update(shown(look(every_s), every_s=every_s), refresh=True)
            # Keys that do nothing mustn't bring the next look forward.
            while (left_s := due - time.monotonic()) > 0:
                if key(left_s) == "q":
                    return

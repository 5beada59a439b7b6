"""`issuetracker dlq`: what died, why, and sending it round again."""

import click
import msgspec

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.cli.dlq_arguments import filters, meant
from issuetracker_dagster.cli.dlq_show import show_letter
from issuetracker_dagster.cli.dlq_words import age, line_of, printable, redrive_words, state_word
from issuetracker_dagster.cli.progress import bar
from issuetracker_dagster.errors import AlreadyRunning, TransientError
from issuetracker_dagster.flow.redrive import RATE, RedriveOptions, RedriveReport
from issuetracker_dagster.model.letters import Letter, LetterFilter, LetterState
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_ERROR_WIDTH = 80
_STATES = (*(state.value for state in LetterState), "all")


@click.group()
def dlq() -> None:
    """Dead letters: messages that can't go on.

    The sensor `dlq_index` notes what lies in Kafka's topic `dlq`, a few seconds behind.
    """


@dlq.command("list")
@filters
@click.option("--state", type=click.Choice(_STATES), default="open", show_default=True, help="What became of them.")
@click.option("--limit", type=click.IntRange(1), default=50, show_default=True, help="Most letters, youngest first.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def list_letters(
    stages: tuple[str, ...],
    reasons: tuple[str, ...],
    host: str,
    older_than: int | None,
    newer_than: int | None,
    state: str,
    limit: int,
    as_json: bool,
) -> None:
    """Show dead letters, youngest first.

    "exhausted" ones were redriven so often that only `redrive --force` sends them round again.
    """
    wiring = Wiring(Settings())
    now_ms, index = wiring.clock.now_ms(), wiring.stores.dead_letters
    states = () if state == "all" else (LetterState(state),)
    chosen = meant(stages, reasons, host, older_than, newer_than, now_ms)
    wanted = msgspec.structs.replace(chosen, states=states)
    found = index.newest(wanted, limit)
    if as_json:
        for letter in found:
            exhausted = {"exhausted": letter.is_exhausted}
            click.echo(msgspec.json.encode({**msgspec.structs.asdict(letter), **exhausted}))
        return
    if found:
        head = ("id", "died", "stage", "reason", "state", "redrives", "host", "identity", "error")
        for line in columns([head, *(_row(letter, now_ms) for letter in found)]):
            click.echo(line)
    count = index.count(wanted) if len(found) == limit else len(found)
    more = f"; the {limit} youngest are shown" if count > limit else ""
    click.echo(f"{count} {'dead letters' if state == 'all' else f'{state} letters'}{more}.")


def _row(letter: Letter, now_ms: int) -> tuple[str, ...]:
    return (
        str(letter.letter_id),
        f"{age(letter.at_ms, now_ms)} ago",
        letter.stage,
        line_of(letter.reason, 40),
        state_word(letter),
        str(letter.redrive_count),
        line_of(letter.host, 60),
        printable(letter.identity).replace("\n", " "),
        line_of(letter.error, _ERROR_WIDTH),
    )


@dlq.command("redrive")
@filters
@click.option("--id", "letter_ids", type=click.IntRange(1), multiple=True, help="Only these letters; repeatable.")
@click.option("--limit", type=click.IntRange(1), help="Most letters; default: all that are meant.")
@click.option("--rate", type=click.IntRange(1), default=RATE, show_default=True, help="Most letters a second.")
@click.option("--force", is_flag=True, help="Also those that were redriven too often already.")
@click.option("--dry-run", is_flag=True, help="Only say what would happen.")
@click.option("--yes", is_flag=True, help="Don't ask, which is done when no filter says which letters.")
def redrive(
    stages: tuple[str, ...],
    reasons: tuple[str, ...],
    host: str,
    older_than: int | None,
    newer_than: int | None,
    letter_ids: tuple[int, ...],
    limit: int | None,
    rate: int,
    force: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Send letters back to where they failed, with all attempts anew.

    Ended in the middle, the same command goes on where it was: no letter is lost, and at most a hundred go round twice,
    known by their identity. One at a time: while another redrive is at work this one says so and ends.
    """
    wiring = Wiring(Settings())
    wanted = meant(stages, reasons, host, older_than, newer_than, wiring.clock.now_ms())
    wanted = msgspec.structs.replace(wanted, letter_ids=letter_ids)
    options = RedriveOptions(limit=limit or 0, rate=rate, dry_run=dry_run, force=force)
    total = wiring.stores.dead_letters.count(wanted)
    chosen = stages or reasons or host or older_than or newer_than or letter_ids
    if total and not (chosen or dry_run or yes):
        most = min(total, limit or total)
        click.confirm(f"No filter is given. Redrive {most} of all {total} open letters?", abort=True)
    try:
        report = _with_progress(wiring, wanted, options, total)
    except AlreadyRunning as error:
        raise click.ClickException(str(error)) from None
    except TransientError as error:
        raise click.ClickException(
            f"{error}; what is redriven is marked, the same command goes on from there"
        ) from None
    for line in redrive_words(report, dry_run=dry_run):
        click.echo(line)


def _with_progress(wiring: Wiring, wanted: LetterFilter, options: RedriveOptions, total: int) -> RedriveReport:
    with bar("dry run" if options.dry_run else "redriving", total) as done:
        return wiring.redriver.run(wanted, options, told=lambda report: done(report.looked_at))


@dlq.command("purge", short_help="Give letters up.")
@filters
@click.option("--yes", is_flag=True, help="Don't ask.")
def purge(
    stages: tuple[str, ...],
    reasons: tuple[str, ...],
    host: str,
    older_than: int | None,
    newer_than: int | None,
    yes: bool,
) -> None:
    """Give letters up: they are no longer listed or redriven, and their pages may be removed.

    Kafka keeps them until its retention ends.
    """
    if not (stages or reasons or host or older_than or newer_than):
        raise click.UsageError("say which letters, such as --older-than 30d or --reason http_404")
    wiring = Wiring(Settings())
    now_ms, index = wiring.clock.now_ms(), wiring.stores.dead_letters
    wanted = meant(stages, reasons, host, older_than, newer_than, now_ms)
    # Those that die while the question waits for its answer aren't meant.
    wanted = msgspec.structs.replace(wanted, before_ms=wanted.before_ms or now_ms)
    count = index.count(wanted)
    if not count:
        click.echo("No open letters are meant.")
        return
    if not yes:
        click.confirm(f"Give up {count} of {index.count(LetterFilter())} open letters?", abort=True)
    click.echo(f"Purged: {index.purge(wanted, wiring.clock.now_ms())}.")


dlq.add_command(show_letter)

"""`issuetracker dlq show`: one letter with its headers, its history and its value."""

import json
from collections.abc import Iterator

import click
import msgspec

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.cli.dlq_words import age, printable, state_word
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.letters import Letter, LetterFilter
from issuetracker_dagster.model.message import Record
from issuetracker_dagster.model.redrive import EXPLAINED, Left, lives
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

BOUND = 4_000
"""Bytes of a value, and of each header, that are shown unless all are asked for."""
_MANY = 20


@click.command("show")
@click.argument("name", metavar="ID")
@click.option("--full", is_flag=True, help=f"Show values beyond {BOUND} bytes, too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def show_letter(name: str, full: bool, as_json: bool) -> None:
    """Show a letter with its headers, history and value.

    ID is the number that `dlq list` shows, or the identity or root id of a message.
    """
    wiring = Wiring(Settings())
    letter = _named(wiring, name)
    record, missing = _record(wiring, letter)
    bound = None if full else BOUND
    if as_json:
        click.echo(json.dumps(_object(letter, record, missing, bound), ensure_ascii=False, indent=2))
        return
    for line in _told(letter, record, missing, bound, wiring.clock.now_ms()):
        click.echo(line)


def _named(wiring: Wiring, name: str) -> Letter:
    index = wiring.stores.dead_letters
    found = index.get(int(name)) if name.isascii() and name.isdigit() and len(name) < 19 else None
    if found is not None:
        return found
    letters = index.newest(LetterFilter(named=name, states=()), _MANY)
    if not letters:
        raise click.ClickException(f"there is no letter {name}; `issuetracker dlq list` shows them")
    if len(letters) > 1:
        ids = ", ".join(str(letter.letter_id) for letter in letters)
        raise click.ClickException(f"{name} died more than once: show one of {ids}")
    return letters[0]


def _record(wiring: Wiring, letter: Letter) -> tuple[Record | None, str]:
    """The letter as it lies in Kafka, or why it can't be shown."""
    kept = wiring.stores.dead_letters.kept([letter.letter_id]).get(letter.letter_id)
    if kept is not None:
        return kept, ""
    try:
        record = wiring.letter_reader.read(letter)
    except Unavailable as error:
        return None, f"it is too large to be kept in the index, and {error}"
    return record, "" if record is not None else EXPLAINED[Left.GONE]


def _told(letter: Letter, record: Record | None, missing: str, bound: int | None, now_ms: int) -> Iterator[str]:
    source = f"{letter.source_topic}:{letter.source_partition}:{letter.source_offset}" if letter.source_topic else ""
    rows = [
        ("letter", str(letter.letter_id)),
        ("state", f"{state_word(letter)}{f' {age(letter.state_ms, now_ms)} ago' if letter.state_ms else ''}"),
        ("identity", printable(letter.identity)),
        ("died", f"{age(letter.at_ms, now_ms)} ago in {letter.stage}: {printable(letter.reason)}"),
        ("error", printable(letter.error)),
        ("url", printable(letter.url)),
        ("read from", printable(source) or "never was in Kafka"),
        ("lies at", f"dlq:{letter.dlq_partition}:{letter.dlq_offset}"),
        ("redriven", f"{letter.redrive_count} times before"),
    ]
    yield from columns(rows)
    if record is None:
        yield f"\nheaders and value can't be shown: {missing}"
        return
    for life in lives(record.headers):
        died = f"{printable(life.stage)}, {printable(life.reason)}: {printable(life.error)}"
        yield f"  generation {life.generation} died {age(life.at_ms, now_ms)} ago in {died}"
    yield "\nheaders"
    for name, value in record.headers:
        yield f"  {printable(name)}: {as_text(value, bound)}"
    yield f"\nkey    {as_text(record.key or b'', bound)}"
    yield f"value  {letter.value_bytes} bytes"
    yield as_text(record.value, bound)


def as_text(data: bytes, bound: int | None) -> str:
    """Bytes as text where they are text, else in hex; cut at `bound` bytes."""
    shown = data if bound is None else data[:bound]
    more = f" ... and {len(data) - len(shown)} bytes more (--full shows them)" if len(shown) < len(data) else ""
    try:
        # A cut may go through a character; only what isn't text before it is hex.
        text = shown.decode("utf-8", "strict" if not more else "ignore")
        data.decode()
    except UnicodeDecodeError:
        return f"hex {shown.hex(' ')}{more}"
    return printable(text) + more


def _object(letter: Letter, record: Record | None, missing: str, bound: int | None) -> dict[str, object]:
    told: dict[str, object] = {**msgspec.to_builtins(letter), "exhausted": letter.is_exhausted}
    if record is None:
        return {**told, "missing": missing}
    return {
        **told,
        "history": msgspec.to_builtins(lives(record.headers)),
        "headers": [[name, as_text(value, bound)] for name, value in record.headers],
        "value": as_text(record.value, bound),
    }

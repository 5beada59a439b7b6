"""`issuetracker trace`: where a message or a page is now, and where it has been."""

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import click
import msgspec
from rich.console import Console

from issuetracker_dagster.cli.arguments import page_url
from issuetracker_dagster.cli.trace_words import link_lines, place_lines, step_lines
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.urls import normalise
from issuetracker_dagster.model.whereabouts import Search
from issuetracker_dagster.ports.traces import TraceLine
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.roots import root_of, roots_at
from issuetracker_dagster.wiring.whereabouts import Whereabouts

MOST_ROOTS = 5
MOST_STEPS = 500


class Told(NamedTuple):
    """All that is known: of which roots, where they are, what they went through, and what their links did."""

    roots: Sequence[str]
    url: str
    search: Search
    steps: Sequence[TraceLine]
    links: Sequence[TraceLine]


@click.command()
@click.argument("name", metavar="ID|URL")
@click.option("--links", "with_links", is_flag=True, help="Also what became of the links that were found on the page.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def trace(name: str, with_links: bool, as_json: bool) -> None:
    """Tell where a message is and where it has been.

    ID is a root id, an identity (root id:generation) or a trace id, as the log, `dlq list` and `queue peek` show them;
    all generations of its root are told. By URL the latest messages of that page are looked for.

    Places that can't be asked are named. How urgent a URL would be, and why, tells `issuetracker why`.
    """
    wiring = Wiring(Settings())
    url, roots, unasked = "", [root_of(name)], dict[str, str]()
    if "://" in name:
        url = _page(wiring, name)
        found, unasked = roots_at(wiring, url, MOST_ROOTS)
        roots = list(found)
    told = _told(wiring, roots, url, unasked, name, with_links=with_links)
    if as_json:
        click.echo(json.dumps(_object(told), ensure_ascii=False, indent=2))
    else:
        for line in _lines(told, wiring.clock.now_ms(), with_links=with_links):
            click.echo(line)
    if not (told.steps or told.search.places):
        if _is_letter(wiring, name):
            click.echo(f"{name} is the number of a dead letter: `issuetracker dlq show {name}`", err=True)
        raise click.exceptions.Exit(1)


def _is_letter(wiring: Wiring, name: str) -> bool:
    """Whether the index of dead letters has this number, which `dlq list` shows beside each message's identity."""
    if not (name.isascii() and name.isdigit() and len(name) < 19):  # as SQL has them
        return False
    try:
        return wiring.stores.dead_letters.count(LetterFilter(letter_ids=(int(name),), states=())) > 0
    except IssueTrackerError:
        return False


def _page(wiring: Wiring, written: str) -> str:
    spelled = page_url(click.get_current_context(), click.Argument(["name"]), written)
    url = str(spelled)
    try:
        return wiring.name_of(url)
    except IssueTrackerError:
        return normalise(url)  # without the rule of its host, which the database doesn't tell


def _told(
    wiring: Wiring, roots: Sequence[str], url: str, unasked: dict[str, str], name: str, *, with_links: bool
) -> Told:
    steps: list[TraceLine] = []
    links: list[TraceLine] = []
    try:
        for root_id in roots:
            lines = wiring.stores.message_trace.of(root_id, MOST_STEPS)
            steps += [line for line in lines if line.root_id == root_id]
            links += [line for line in lines if line.root_id != root_id]
    except IssueTrackerError as error:
        unasked = {**unasked, "steps": str(error)}
    if not steps and links:
        # A trace id by itself: the messages of the trace are what was asked for.
        roots = list(dict.fromkeys(line.root_id for line in links))[-MOST_ROOTS:]
        steps, links = [line for line in links if line.root_id in roots], []
    url = url or _url_in(steps)
    search = Search(unasked=unasked)
    if roots:
        with Console(stderr=True).status(f"looking for {name}") as status:
            places = Whereabouts(wiring, roots, url, steps)
            search = search.plus(places.search(lambda place: status.update(f"looking for {name}: {place}")))
    url = url or next((place.url for place in search.places if place.url), "")
    return Told(roots, url, search, steps, links if with_links else ())


def _url_in(steps: Sequence[TraceLine]) -> str:
    """The URL under which it was published, as its first step tells it."""
    for line in steps:
        if line.action == "message.published":
            _, separator, rest = line.detail.partition(": http")
            return f"http{rest}" if separator else ""
    return ""


def _lines(told: Told, now_ms: int, *, with_links: bool) -> Iterator[str]:
    yield from place_lines(told.roots, told.url, told.search, now_ms)
    yield from step_lines(told.steps, MOST_STEPS)
    if with_links:
        yield from link_lines(told.links)


def _object(told: Told) -> dict[str, object]:
    return {
        "roots": list(told.roots),
        "url": told.url,
        "places": msgspec.to_builtins(told.search.places),
        "unasked": told.search.unasked,
        "incomplete": list(told.search.incomplete),
        "steps": msgspec.to_builtins(told.steps),
        "links": msgspec.to_builtins(told.links),
    }

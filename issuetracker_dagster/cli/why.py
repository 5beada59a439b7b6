"""`issuetracker why URL`: what would happen to a URL that is published now, and what happened to it lately."""

from collections.abc import Callable
from contextlib import suppress

import click

from issuetracker_dagster.cli.arguments import columns, page_url
from issuetracker_dagster.cli.rule_words import ANY_PATH, say
from issuetracker_dagster.cli.why_lately import Lately
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.flow.resolve import Resolution, standard_chain
from issuetracker_dagster.flow.rules import HostTable, sift
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.model.urls import normalise
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.snapshots import LatestPriorities


@click.command()
@click.argument("url", callback=page_url)
@click.option("--source", default="", help="As if the job came from this source.")
def why(url: str, source: str) -> None:
    """Explain what happens to URL when it is published.

    Whether it is known, whether it is refused, how urgent it is and why, and where it goes.

    Parts that can't be asked at the moment are named, and the others shown all the same. Where the messages of a URL
    are now, and what they went through, tells `issuetracker trace`.
    """
    wiring = Wiring(Settings())
    written, url = url, _name_of(wiring, url)
    lately = Lately(wiring, url, written)
    resolution: Resolution | None = None

    def priority() -> str:
        nonlocal resolution
        chain = standard_chain(LatestPriorities(wiring.stores.rule_snapshots), wiring.priority_by_source())
        resolution = chain.resolve(CrawlJob(url=url, source=source), None)
        return f"{resolution.priority.label}, decided by {resolution.decided_by}"

    rows = [
        ("url", url),
        ("known", _asked("Redis", lambda: _known(wiring, url))),
        ("blacklist", _asked("the database", lambda: _listed(wiring, url))),
        ("priority", _asked("the database", priority)),
        ("way", _asked("Redis", lambda: _way(wiring, url, resolution))),
        ("seed", _asked("the database", lately.seed)),
        ("published", _asked("the database", lately.published)),
        ("fetched", _asked("the database", lately.fetched)),
        ("died", _asked("the database", lately.died)),
    ]
    # Only few URLs are seeds or have died.
    say(columns([(name, told) for name, told in rows if told]))


def _name_of(wiring: Wiring, url: str) -> str:
    try:
        return wiring.name_of(url)
    except IssueTrackerError:
        return normalise(url)  # without the rule of its host, which the database doesn't tell


def _asked(whom: str, question: Callable[[], str]) -> str:
    try:
        return question()
    except IssueTrackerError as error:
        return f"can't tell, {whom} can't be asked: {error}"


def _known(wiring: Wiring, url: str) -> str:
    view = wiring.ingestion.view(url)
    if view is None:
        return "no: it would be published"
    left = about_duration(view.expires_in_ms)
    if view.pending:
        return f"its publish isn't confirmed yet; for {left} only the same parent may publish it again"
    return f"yes: published a short while ago, known for another {left}"


def _listed(wiring: Wiring, url: str) -> str:
    entry = _entry(wiring, url)
    if entry is None:
        return "not on it"
    what = "dropped" if entry.mode is BlacklistMode.DROP else "fetched for its links only"
    return f"{what}, by the entry {entry.host_pattern} {entry.path_pattern or ANY_PATH} ({entry.source})"


def _entry(wiring: Wiring, url: str) -> BlacklistEntry | None:
    entries = wiring.stores.parser_rules.blacklist()
    good, _ = sift((entry.host_pattern, entry.path_pattern, entry) for entry in entries)
    return HostTable[BlacklistEntry](good).find(url)


def _way(wiring: Wiring, url: str, resolution: Resolution | None) -> str:
    return _stopped(wiring, url) or _road(wiring, resolution)


def _stopped(wiring: Wiring, url: str) -> str:
    """Why it goes nowhere; empty when nothing is known to stop it."""
    with suppress(IssueTrackerError):  # the row of the blacklist has told
        entry = _entry(wiring, url)
        if entry is not None and entry.mode is BlacklistMode.DROP:
            return "nowhere: blacklisted"
    with suppress(IssueTrackerError):
        view = wiring.ingestion.view(url)
        if view is not None and view.pending:
            return "nowhere: another publish of it isn't confirmed yet"
        if view is not None:
            return f"nowhere: known for {about_duration(view.expires_in_ms)}; --again publishes it"
    return ""


def _road(wiring: Wiring, resolution: Resolution | None) -> str:
    if resolution is None:
        return "depends on the priority"
    topic = CRAWL_TOPICS[resolution.priority].value
    if resolution.priority is Priority.HIGH:
        return f"{topic}, at once"
    if wiring.settings.publish.publisher_redis_buffer_enabled is False:
        return f"{topic}, at once (PUBLISHER_REDIS_BUFFER_ENABLED=false)"
    try:
        is_on = wiring.buffer_switch.is_on()
    except IssueTrackerError as error:
        return f"{topic}; can't tell whether by way of the buffer, Redis can't be asked: {error}"
    return f"the buffer, then {topic}" if is_on else f"{topic}, at once (buffering is off)"

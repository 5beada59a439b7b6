"""From what people call a message to its root ids: an identity, a root id, or the URL of its page."""

import re
from collections.abc import Callable, Sequence

from issuetracker_dagster.adapters.sql.journeys import SqlJourneys
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.model.letters import LetterFilter
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.queue import QueueSteering
from issuetracker_dagster.wiring.parts import Wiring

_PLACE = re.compile("dlq:[0-9]+:[0-9]+")
"""What stands for the identity of a letter that has none: its partition and offset."""
GENERATIONS = 64
"""How many generations of a root are looked for: more than any message gets by its retries and recrawls. A
reparse has one of its own, far beyond."""


def members_of(name: str) -> Sequence[str]:
    """The identity that a name is, or those that messages of that root may have."""
    if _is_place(name) or root_of(name) != name:
        return (name,)
    return tuple(f"{name}:{number}" for number in range(GENERATIONS))


def found_by_name(queue: QueueSteering, names: Sequence[str]) -> dict[str, list[str]]:
    """The members of a queue that each of these names means; none of one that isn't there. Raises `Unavailable`."""
    return {name: [view.member for view in queue.find(members_of(name))] for name in names}


def root_of(name: str) -> str:
    """The root id in an identity; anything else as it is, such as the place that names a letter without an identity."""
    if _is_place(name):
        return name
    root_id, _, generation = name.rpartition(":")
    return root_id if root_id and generation.isascii() and generation.isdigit() else name


def _is_place(name: str) -> bool:
    return _PLACE.fullmatch(name) is not None


def roots_at(wiring: Wiring, url: str, limit: int) -> tuple[Sequence[str], dict[str, str]]:
    """Roots of a page, the latest first, and who couldn't be asked for them. `url` is the page's one name."""
    unasked: dict[str, str] = {}
    roots: list[str] = []

    def from_letters() -> Sequence[str]:
        wanted = LetterFilter(host=host_of(url), url=url, states=())
        letters = wiring.stores.dead_letters.newest(wanted, limit)
        return [letter.identity.rpartition(":")[0] for letter in letters if letter.has_identity]

    def from_marker() -> Sequence[str]:
        view = wiring.ingestion.view(url)
        return [view.owner] if view and view.owner else []

    def from_contents() -> Sequence[str]:
        return [found.root_id for found in journeys().contents((), url) if found.root_id]

    def journeys() -> SqlJourneys:
        return SqlJourneys(wiring.stores.engine)

    questions: tuple[tuple[str, Callable[[], Sequence[str]]], ...] = (
        ("known URLs", from_marker),
        ("published lately", lambda: journeys().roots_of(url, limit)),
        ("dead letters", from_letters),
        ("contents", from_contents),
    )
    for name, ask in questions:
        try:
            roots += ask()
        except IssueTrackerError as error:
            unasked[name] = str(error)
    return list(dict.fromkeys(roots))[:limit], unasked

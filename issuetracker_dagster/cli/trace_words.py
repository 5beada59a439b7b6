"""What `issuetracker trace` says in words. A message may hold anything: nothing of it reaches a terminal raw."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from issuetracker_dagster.cli.arguments import columns
from issuetracker_dagster.cli.dlq_words import line_of
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.whereabouts import Place, Search
from issuetracker_dagster.ports.traces import TraceLine

_TEXT = 200
_NOWHERE = "nowhere: it is finished, was never here, or is on its way between two places"
_NOWHERE_ASKED = "in none of the places that could be asked"
_WHERE = {
    "topic": "in the topic {name}",
    "buffer": "in the buffer before {name}",
    "queue": "in the queue of {name}",
    "frontier": "in the line of the host {name}",
    "retries": "in the retry set, on its way to {name}",
    "dlq": "a dead letter of {name}",
    "content": "content {name}",
}
_STATES = {
    ("topic", "unread"): "unread, or in the hands of a worker that reads Kafka itself",
    ("queue", "leased"): "in a worker's hands",
    ("frontier", "leased"): "in a worker's hands",
    ("queue", "outbox"): "on its way to the DLQ",
    ("buffer", "outbox"): "on its way to the DLQ",
    ("frontier", "outbox"): "on its way to the DLQ",
    ("buffer", "draining"): "in a drainer's hands",
}


def place_lines(roots: Sequence[str], url: str, search: Search, now_ms: int) -> Iterator[str]:
    """Where the messages are now, and who couldn't say."""
    rows = [("root", ", ".join(line_of(root, _TEXT) for root in roots) or "none is known")]
    if url:
        rows.append(("url", line_of(url, 2_000)))
    rows += [("now" if at == 0 else "", _place(place, now_ms)) for at, place in enumerate(search.places)]
    if not search.places:
        rows.append(("now", _NOWHERE_ASKED if search.unasked else _NOWHERE))
    names: dict[str, list[str]] = {}
    for name, error in search.unasked.items():
        names.setdefault(error, []).append(name)
    rows += [("not asked", f"{', '.join(each)}: {line_of(error, _TEXT)}") for error, each in names.items()]
    if search.incomplete:
        rows.append(("too long", f"only the beginning was looked through: {', '.join(search.incomplete)}"))
    yield from columns(rows)


def _place(place: Place, now_ms: int) -> str:
    state = _STATES.get((place.kind, place.state), place.state)
    parts = [_WHERE[place.kind].format(name=line_of(place.name, _TEXT)), state]
    if place.generation is not None:
        parts.append(f"generation {place.generation}")
    if place.priority:
        parts.append(place.priority)
    if place.until_ms:
        parts.append(_until(place.until_ms - now_ms))
    if place.detail:
        parts.append(line_of(place.detail, _TEXT))
    return ", ".join(parts)


def _until(left_ms: int) -> str:
    return f"for another {about_duration(left_ms)}" if left_ms > 0 else f"due for {about_duration(-left_ms)}"


def step_lines(steps: Sequence[TraceLine], most: int) -> Iterator[str]:
    """What happened to the messages, oldest first."""
    yield ""
    if not steps:
        yield "No steps are remembered: they are kept for the latest 200,000 of all messages."
        return
    yield f"the latest {most} steps" if len(steps) >= most else "steps"
    rows = [
        (
            f"  {_time(step.at_ms)}",
            f"{line_of(step.root_id, 24)}:{step.generation}",
            step.stage or "-",
            step.action.removeprefix("message."),
            line_of(step.detail, _TEXT),
        )
        for step in steps
    ]
    yield from columns(rows)


def link_lines(links: Sequence[TraceLine]) -> Iterator[str]:
    """The latest step of each link that was found on the page."""
    latest = {line.root_id: line for line in links}
    yield ""
    yield f"{len(latest)} messages of the same trace" + (", each with its latest step" if latest else "")
    if latest:
        yield from columns(
            [
                (
                    f"  {_time(line.at_ms)}",
                    f"{line_of(root_id, 24)}:{line.generation}",
                    line.stage or "-",
                    line.action.removeprefix("message."),
                    line_of(line.detail, _TEXT),
                )
                for root_id, line in latest.items()
            ]
        )


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]

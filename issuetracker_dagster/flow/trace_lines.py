"""The words of a message's trace: one line a step, short, and fit for any database whatever the message holds."""

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.flow.publish import Published
from issuetracker_dagster.flow.settle import Deferred, Done, Later, Settlement
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.headers import MAX_ROOT_ID, Headers, RawHeaders, headers_from_raw
from issuetracker_dagster.model.stage import FACTS, Stage
from issuetracker_dagster.model.trace import Action
from issuetracker_dagster.ports.traces import TraceLine

LONGEST_DETAIL = 300
_MOST_GENERATIONS = 2**31 - 1
"""As its column takes; a header may say more, and would cost a whole batch of lines."""
_ACTIONS: dict[str, Action] = {
    "forwarded": "message.forwarded",
    "retried": "message.retried",
    "recrawled": "message.recrawled",
    "deferred": "message.deferred",
    "came_back": "message.came_back",
    "kept": "message.kept",
}


def line(headers: Headers, action: Action, at_ms: int, stage: str = "", detail: str = "") -> TraceLine:
    """A step of the message with these headers; a trace that the message itself began needs no name of its own."""
    return TraceLine(
        root_id=headers.root_id,
        generation=min(headers.generation, _MOST_GENERATIONS),
        trace_id="" if headers.trace_id == headers.root_id else _clean(headers.trace_id, MAX_ROOT_ID),
        stage=stage,
        action=action,
        detail=_clean(detail, LONGEST_DETAIL),
        at_ms=at_ms,
    )


def line_of_raw(raw: RawHeaders, action: Action, at_ms: int, stage: str = "", detail: str = "") -> TraceLine | None:
    """A step of a record; None when it has no identity under which it could be found."""
    try:
        return line(headers_from_raw(raw), action, at_ms, stage, detail)
    except Malformed:
        return None


def line_of_member(member: str, action: Action, at_ms: int, stage: Stage) -> TraceLine:
    """A step of an entry of a stage's queue, which is named by its message's identity."""
    root_id, _, text = member.rpartition(":")
    generation = min(int(text), _MOST_GENERATIONS)
    return TraceLine(root_id=root_id, generation=generation, stage=stage.value, action=action, at_ms=at_ms)


def published_detail(published: Published) -> str:
    """`high by rule 12: https://…`."""
    job = published.job
    by = f" by {job.decided_by}" if job.decided_by else ""
    return f"{published.message.headers.priority.label}{by}: {job.url}"


def settled_line(
    stage: Stage, headers: Headers, settlement: Settlement, outcome: str, now_ms: int, took_s: float
) -> TraceLine:
    """How a stage ended with a message, and what comes next."""
    name = _ACTIONS.get(outcome) or ("message.rejected" if outcome.startswith("rejected") else "message.ended")
    parts = [] if outcome in _ACTIONS else [outcome]
    match settlement:
        case Done(due_ms=int(due_ms)):
            parts.append(f"attempt {headers.attempt} failed; again in {about_duration(due_ms - now_ms)}")
        case Later(delay_ms):
            parts.append(f"again in {about_duration(delay_ms)}")
        case Deferred(host, at_ms):
            parts.append(f"{host} isn't due for {about_duration(at_ms - now_ms)}")
        case Done() if outcome == "forwarded":
            parts.append(f"to {FACTS[stage].output.value}")
    if settlement.reason:
        parts.append(settlement.reason)
    parts.append(f"took {took_s * 1000:.0f} ms")
    return line(headers, name, now_ms, stage.value, "; ".join(parts))


def _clean(text: str, longest: int) -> str:
    text = text[:longest]
    return text if text.isprintable() else "".join(sign if sign.isprintable() else " " for sign in text)

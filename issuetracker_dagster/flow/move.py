"""Moving entries of a stage queue between bands, for an operator: the whole queue, a host, or single messages."""

from collections.abc import Callable, Iterator, Sequence

from issuetracker_dagster.errors import Malformed
from issuetracker_dagster.model.message import decode_envelope, encode_envelope
from issuetracker_dagster.model.payload import payload_facts
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.queue_view import EntryView, Move, MoveResult
from issuetracker_dagster.model.rules import host_forms
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.urls import host_of
from issuetracker_dagster.ports.queue import QueueSteering

BATCH = 500


def url_of(view: EntryView) -> str:
    """The URL that an entry's payload names; empty when it names none or doesn't decode."""
    try:
        return payload_facts(decode_envelope(view.envelope).value).url
    except Malformed:
        return ""


def ready_entries(queue: QueueSteering, band: Priority | None = None) -> Iterator[Sequence[EntryView]]:
    """All ready entries in order, a batch at a time. What arrives behind the last look is seen, too."""
    after = None
    while batch := queue.peek(band, BATCH, after):
        yield batch
        after = batch[-1].place


def move_ready(
    queue: QueueSteering,
    to: Priority,
    *,
    from_band: Priority | None = None,
    host: str = "",
    dry_run: bool = False,
    told: Callable[[MoveResult], None] = lambda _: None,
) -> MoveResult:
    """Put every ready entry of the other bands, or of `from_band`, into the band `to`; with `host`, only its entries
    (with `*.` in front: those of every host below).

    Atomic a batch: ended in the middle, the same call goes on where it was. `told` hears the counts after each batch.
    Raises `Unavailable`.
    """
    result = MoveResult()
    for band in Priority:
        if band is to or from_band not in (None, band):
            continue
        for batch in ready_entries(queue, band):
            meant = [view for view in batch if not host or host in host_forms(host_of(url_of(view)))]
            result = result.plus(_moved(queue, meant, to, dry_run=dry_run))
            told(result)
    return result


def move_members(queue: QueueSteering, members: Sequence[str], to: Priority, *, dry_run: bool = False) -> MoveResult:
    """Put these into the band `to`, those included that wait for a delay. Raises `Unavailable`."""
    views = queue.find(members)
    absent = MoveResult(gone=len(members) - len(views))
    return absent.plus(_moved(queue, views, to, dry_run=dry_run))


def move_words(result: MoveResult, stage: Stage, to: Priority, *, dry_run: bool) -> str:
    """What became of the entries, for an operator."""
    parts = [f"{'Would move' if dry_run else 'Moved'}: {result.moved} of {stage} to {to.label}."]
    for count, what in (
        (result.same, f"{result.same} {'was' if result.same == 1 else 'were'} there already."),
        (result.leased, f"In workers' hands, and left: {result.leased}."),
        (result.gone, f"Gone by now: {result.gone}."),
    ):
        if count:
            parts.append(what)
    return " ".join(parts)


def _moved(queue: QueueSteering, views: Sequence[EntryView], to: Priority, *, dry_run: bool) -> MoveResult:
    if dry_run:
        return MoveResult(
            moved=sum(view.state in ("ready", "delayed") and view.priority is not to for view in views),
            same=sum(view.state in ("ready", "delayed") and view.priority is to for view in views),
            leased=sum(view.state == "leased" for view in views),
            gone=sum(view.state == "outbox" for view in views),
        )
    moves = [Move(view.member, _with_priority(view.envelope, to)) for view in views]
    return queue.move(moves, to) if moves else MoveResult()


def _with_priority(envelope: bytes, priority: Priority) -> bytes:
    """The envelope with that priority, by which later stages and retries go; what doesn't decode stays as it is."""
    try:
        return encode_envelope(decode_envelope(envelope).evolve(priority=priority))
    except Malformed:
        return envelope

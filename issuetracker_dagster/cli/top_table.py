"""What `issuetracker top` draws: one table of stages and bands, then a line for each thing beside them."""

from collections.abc import Iterator
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from issuetracker_dagster.cli.dlq_words import line_of
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.overview import BandView, BuffersView, Overview, ServerView, StageView

_UNKNOWN = "-"
_ERROR_WIDTH = 200
_COLUMNS = ("stage", "band", "ready", "oldest", "leased", "delayed", "unread", "claims/s", "done/s", "workers")


def shown(overview: Overview, every_s: float | None = None) -> RenderableType:
    """The whole picture. At most 80 columns and 24 lines; longer error texts are cut."""
    lines = [Text("  ").join([Text(f"{name:<8}", "bold"), told]) for name, told in _lines(overview)]
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(_title(overview, every_s), _table(overview), Text(), *lines)


def _title(overview: Overview, every_s: float | None) -> Text:
    when = datetime.fromtimestamp(overview.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    keys = f"every {every_s:g} s, q ends" if every_s else ""
    return Text(f"issuetracker top  {when}  {keys}".rstrip())


def _table(overview: Overview) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold", show_edge=False)
    for at, name in enumerate(_COLUMNS):
        table.add_column(name, justify="left" if at < 2 else "right", no_wrap=True)
    for stage in overview.stages:
        for at, band in enumerate(stage.bands):
            table.add_row(*_row(stage, band, is_first=at == 0))
    return table


def _row(stage: StageView, band: BandView, *, is_first: bool) -> list[Text]:
    unread = band.unread if stage.stage == "fetch" else stage.unread if is_first else None
    of_stage = [
        _number(stage.leased),
        _number(stage.delayed),
    ]
    blank = Text()
    return [
        Text(stage.stage if is_first else "", "bold"),
        Text(band.band),
        _number(band.ready, "yellow"),
        Text(about_duration(band.oldest_age_ms).partition(" ")[0] if band.oldest_age_ms is not None else ""),
        *(of_stage if is_first else [blank, blank]),
        _number(unread, "yellow") if is_first or stage.stage == "fetch" else blank,
        _rate(band.claims_per_s),
        _rate(stage.handled_per_s) if is_first else blank,
        _workers(stage) if is_first else blank,
    ]


def _number(count: int | None, style: str = "") -> Text:
    return Text(_UNKNOWN if count is None else str(count), style if count else "dim")


def _rate(per_s: float | None) -> Text:
    if per_s is None:
        return Text(_UNKNOWN, "dim")
    return Text(f"{per_s:.1f}", "" if per_s else "dim")


def _workers(stage: StageView) -> Text:
    workers = stage.workers
    alive = _UNKNOWN if workers.alive is None else str(workers.alive)
    mode = "waits" if workers.waiting else "+".join(workers.modes)
    if workers.is_off or not workers.wanted:
        mode = "off"
    return Text(f"{alive}/{workers.wanted} {mode}".rstrip(), "red" if workers.are_missing else "")


def _lines(overview: Overview) -> Iterator[tuple[str, Text]]:
    yield "servers", Text(", ").join([_server(server) for server in overview.servers])
    for server in overview.servers:
        if not server.up:
            yield server.name, Text(line_of(server.error, _ERROR_WIDTH), "red")
    yield "buffer", _buffers(overview.buffers)
    relay = overview.relay_silent_ms
    ticked = "the relay never ticked" if relay is None else f"the relay ticked {about_duration(relay)} ago"
    waits = f"{overview.retries} messages wait for another try; {ticked}"
    yield "retries", Text(waits if overview.retries is not None else _UNKNOWN)
    yield (
        "frontier",
        Text(f"{overview.frontier} crawl jobs wait for their host" if overview.frontier is not None else _UNKNOWN),
    )
    yield "dlq", _dead_letters(overview)
    yield "rules", _rules(overview)


def _server(server: ServerView) -> Text:
    return Text(f"{server.name} up") if server.up else Text(f"{server.name} out", "red")


def _buffers(buffers: BuffersView | None) -> Text:
    if buffers is None:
        return Text(_UNKNOWN)
    silent = buffers.drain_run_silent_ms
    drainer = "never one" if silent is None else f"{about_duration(silent)} ago"
    parts = [f"{'on' if buffers.buffering else 'off'}, drain run {drainer}"]
    for buffer in buffers.topics:
        state = ", paused" if buffer.paused else ""
        oldest = f", oldest {about_duration(buffer.oldest_age_ms)}" if buffer.waiting + buffer.draining else ""
        parts.append(f"{buffer.topic} {buffer.waiting + buffer.draining}{oldest}{state}")
    return Text("; ".join(parts))


def _dead_letters(overview: Overview) -> Text:
    letters = overview.dead_letters
    outboxes = [stage.outbox for stage in overview.stages if stage.outbox]
    on_way = (overview.not_indexed or 0) + sum(outboxes)
    parts = [] if letters is None else [f"{letters.open} open, {letters.last_10_min} in 10 min"]
    if letters is not None and letters.commonest:
        name, count = next(iter(letters.commonest.items()))
        parts.append(f"most in the last hour: {line_of(name, 40)} {count}")
    if on_way:
        parts.append(f"{on_way} on their way")
    bad = letters is not None and letters.last_10_min
    return Text("; ".join(parts) or _UNKNOWN, "yellow" if bad else "")


def _rules(overview: Overview) -> Text:
    rules = overview.rules
    if rules is None:
        up = any(server.name == "database" and server.up for server in overview.servers)
        return Text("never read" if up else _UNKNOWN)
    refused = f", {rules.refused} refused" if rules.refused else ""
    checked = f"checked {about_duration(rules.checked_age_ms)} ago"
    return Text(f"version {rules.version}, {rules.rules} rules{refused}, {checked}")

"""The limit of the whole pipeline: the handlers of its stages called one after the other in one process, and nothing
else. `python -m benchmarks.bare_pages FOLDER PAGES` prints what it found as JSON.
"""

import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.recorded_pages import recorded_pages, stored
from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext, Outcome
from issuetracker_dagster.model.payload import Payload, RawContentRef
from issuetracker_dagster.ports.handler import Handler
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.parser.handler import ParserHandler
from issuetracker_dagster.stages.parser.options import ParserOptions
from issuetracker_dagster.stages.parser.pool import InProcessReader
from issuetracker_dagster.stages.validate.handler import ValidateHandler
from issuetracker_dagster.stages.validate.options import ValidateOptions

WARM_UP = 20
"""Pages before the clock runs: models and tables are loaded once a process, in shifts as here."""
STAGES = ("parser", "validate", "enrich")


class Bare(msgspec.Struct, frozen=True):
    """What the loop took: seconds of the processor in all and by stage, and how many pages went through how far."""

    pages: int
    cpu_s: float
    by_stage: dict[str, float]
    ended: dict[str, int]


def main() -> int:
    """Store the pages in a database of its own, then handle them."""
    folder, pages = Path(sys.argv[1]), int(sys.argv[2])
    url = f"sqlite:///{folder / 'bare.db'}"
    upgrade(url)
    stores = SqlStores(connect(url))
    try:
        refs = stored(recorded_pages(pages + WARM_UP), stores.raw_contents)
        print(msgspec.json.encode(_handled(refs, _handlers(stores))).decode())
    finally:
        stores.close()
    return 0


def _handlers(stores: SqlStores) -> list[Handler[Any]]:
    clock = SystemClock()
    parser = ParserHandler(
        stores.raw_contents,
        stores.contents,
        stores.parser_rules,
        InProcessReader(),
        clock,
        ParserOptions(),
        seeds=stores.seeds,  # as in the shift: feeds that pages announce are offered
    )
    return [
        parser,
        ValidateHandler(stores.contents, clock, ValidateOptions()),
        EnrichHandler(stores.contents, stores.issues, clock),
    ]


def _handled(refs: list[RawContentRef], handlers: list[Handler[Any]]) -> Bare:
    by_stage: dict[str, float] = dict.fromkeys(STAGES, 0.0)
    ended: Counter[str] = Counter()
    began = time.process_time()
    for place, ref in enumerate(refs):
        if place == WARM_UP:
            by_stage.update(dict.fromkeys(STAGES, 0.0))
            ended.clear()
            began = time.process_time()
        ended[_journey(ref, handlers, by_stage)] += 1
    return Bare(len(refs) - WARM_UP, time.process_time() - began, by_stage, dict(ended))


def _journey(ref: RawContentRef, handlers: list[Handler[Any]], by_stage: dict[str, float]) -> str:
    """How far a page comes: the stage at which it ended, or `enriched`."""
    context = HandlerContext(Headers(root_id=f"bench-{ref.raw_id}"))
    payload: Payload = ref
    for stage, handler in zip(STAGES, handlers, strict=True):
        began = time.process_time()
        try:
            outcome: Outcome = handler.handle(payload, context)
        except PermanentError:
            return stage
        finally:
            by_stage[stage] += time.process_time() - began
        if outcome.forward is None:
            return stage
        payload = outcome.forward
    return "enriched"


if __name__ == "__main__":
    sys.exit(main())

"""What of the database is purged, by the settings, and the space that its file gives back."""

from collections.abc import Callable
from pathlib import Path

from issuetracker_dagster.adapters.redis.waiting_pages import waiting_pages
from issuetracker_dagster.adapters.sql.space import give_back
from issuetracker_dagster.flow.sweeps import LetterSweep, PageHistorySweep, PageSweep
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.history import Sweep
from issuetracker_dagster.wiring.parts import Wiring


def database_sweeps(wiring: Wiring) -> list[Sweep]:
    """Sweeps for one run. Letters first: a page is free once the letter that named it is gone.

    Without Redis no page is removed, since nobody can say which of them messages wait for.
    """
    purge, stores = wiring.settings.purge, wiring.stores
    queue_key = wiring.settings.queue(Stage.PARSER.value).zset_queue_key
    return [
        LetterSweep(stores.dead_letters, purge.dead_letters_after),
        PageSweep(stores.raw_contents, lambda: waiting_pages(wiring.redis, queue_key), purge.raw_contents_after),
        PageHistorySweep(stores.raw_contents, purge.raw_contents_after),
    ]


def give_back_space(wiring: Wiring, control: Callable[[], str | None] = lambda: None) -> int:
    """Shrink the database's file where it is one (SQLite); returns by how many bytes."""
    url = wiring.stores.engine.url
    return give_back(Path(url.database or ""), control) if url.get_backend_name() == "sqlite" else 0

"""Workers of fetch in processes of their own, all of it the product's, and what is published to them.

Run as `python -m tests.journey.fetch_worker`: settings come from the environment, it works until its input is closed.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from issuetracker_dagster.local import children
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Message, Outgoing
from issuetracker_dagster.model.payload import CrawlJob, encode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import CRAWL_TOPICS, Stage
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.crews import opened_shift
from issuetracker_dagster.wiring.parts import Wiring
from tests.journey.killable import ROOT
from tests.journey.polite_site import PoliteSite


def main() -> None:
    wiring = Wiring(Settings(env_file=None))
    ended = threading.Event()

    def until_closed() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=until_closed, daemon=True).start()
    with opened_shift(
        wiring,
        Stage.FETCH,
        flag_is_on=lambda: True,
        control=lambda: "the test is over" if ended.is_set() else None,
        duration_ms=600_000,
    ) as shift:
        print(shift.run())
    wiring.close()


def crawl(site: PoliteSite, host: str, name: str, priority: Priority, round_name: str = "first") -> Outgoing:
    """A job for the page of that name."""
    headers = Headers(root_id=f"{round_name}-{host}-{name}", priority=priority)
    payload = encode_payload(CrawlJob(url=site.url(host, f"/{name}")))
    return Outgoing.of(CRAWL_TOPICS[priority], Message(headers, site.authority(host).encode(), payload))


@contextmanager
def fetch_workers(count: int, environment: Mapping[str, str], folder: Path) -> Iterator[None]:
    """That many workers; each must have ended in order when the block does."""
    logs = [folder / f"fetch-{number}.log" for number in range(count)]
    processes = []
    for log in logs:
        with log.open("wb") as out:
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.journey.fetch_worker"],
                    cwd=ROOT,
                    env={**os.environ, **environment},
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=out,
                )
            )
    try:
        yield
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        for process, log in zip(processes, logs, strict=True):
            assert process.wait(60) == 0, children.tail(log)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait(10)


if __name__ == "__main__":
    main()

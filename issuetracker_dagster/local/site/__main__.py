"""`python -m issuetracker_dagster.local.site`: the demo site alone, until it is told to end or its parent is gone."""

import argparse
import asyncio
import logging
import os
import signal
from pathlib import Path

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.local.site.hosts import HOSTS
from issuetracker_dagster.local.site.newsroom import Newsroom
from issuetracker_dagster.local.site.remembered import Remembered, settle
from issuetracker_dagster.local.site.server import SiteServer
from issuetracker_dagster.local.site.timeline import Timeline

logger = logging.getLogger("issuetracker_dagster.local.site")

_PARENT_WATCH_S = 1.0


async def serve(found: Remembered, parent: int) -> None:
    """Serve until a signal comes or `parent` (a pid) isn't this process' parent any more."""
    ending = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ending.set)
    server = SiteServer(Newsroom(Timeline(found.seed, found.epoch_ms)), found.ports, SystemClock())
    await server.start()
    for host in HOSTS:
        logger.info("%s: %s/", host.title, found.url(host.key))
    while not ending.is_set() and os.getppid() == parent:
        try:
            await asyncio.wait_for(ending.wait(), _PARENT_WATCH_S)
        except TimeoutError:
            continue
    await server.stop()


def main() -> None:
    """Read the arguments, settle ports and start time, serve."""
    parser = argparse.ArgumentParser(prog="python -m issuetracker_dagster.local.site", description=__doc__)
    parser.add_argument("--home", type=Path, default=Path(".issuetracker"), help="folder that remembers the ports")
    parser.add_argument("--seed", type=int, default=7, help="the same seed, the same stories")
    parser.add_argument("--parent", type=int, default=os.getppid(), help="pid of the parent, with which the site ends")
    given = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(serve(settle(given.home, given.seed, SystemClock().now_ms()), given.parent))


if __name__ == "__main__":
    main()

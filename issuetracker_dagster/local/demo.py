"""`issuetracker demo`: the demo news site beside the services, and all that the crawler has to know of it."""

import os
import sys
from pathlib import Path

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.local import children
from issuetracker_dagster.local.endpoints import Endpoints
from issuetracker_dagster.local.pipeline import Prepared
from issuetracker_dagster.local.ports import is_listening
from issuetracker_dagster.local.report import Report, Step
from issuetracker_dagster.local.resting import wake
from issuetracker_dagster.local.site import sources
from issuetracker_dagster.local.site.hosts import HOSTS, ODD
from issuetracker_dagster.local.site.remembered import Remembered, settle
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.snapshots import refresh_rules

_READY_S = 20.0
_PROJECT = Path(__file__).resolve().parents[2]

ENVIRONMENT = {
    "FETCH_ALLOW_PRIVATE_ADDRESSES": "true",
    "FETCH_USER_AGENT": "IssueTrackerDemo/0.1 (local news site)",
    "PARSER_PRIORITY_QUEUE_ENABLED": "true",
    "VALIDATE_PRIORITY_QUEUE_ENABLED": "true",
    "ENRICH_PRIORITY_QUEUE_ENABLED": "true",
    "PUBLISHER_REDIS_BUFFER_ENABLED": "true",
}
"""Loopback may be fetched; every stage works by priority and jobs are buffered without a click in the UI."""


def prepare(endpoints: Endpoints, home: Path, seed: int, report: Report) -> Prepared:
    """Start the site, add its seeds and rules to the migrated database, return what Dagster and its user need.

    The site belongs to the family of `dagster dev` of this home and ends with it, and by itself when this process is
    gone. Adding is idempotent; what a user changed in the database stays. Raises `StartFailed` with the end of its log.
    """
    found = settle(home.resolve(), seed, SystemClock().now_ms())
    report(Step("site", "working", "the demo news site starts"))
    site = start_site(home.resolve(), seed, found)
    try:
        new, woken = tell_database(endpoints.database_url, found, home.resolve())
    except BaseException:
        children.stop(site, grace_s=2)
        raise
    again = f", {woken} that rested during `dev` are on again" if woken else ""
    report(Step("site", "ready", f"{len(HOSTS)} hosts, a new event every 15 s; {new} new seeds{again}"))
    for host in HOSTS:
        report(Step("site", "note", f"{host.title}: {found.url(host.key, '/')}"))
    return Prepared(ENVIRONMENT, _what_to_look_at(found), (site,))


def start_site(home: Path, seed: int, found: Remembered) -> children.Identity:
    """The site as a child process that answers on every port; logs to `<home>/logs/site.log`."""
    log = home / "logs" / "site.log"
    module = "issuetracker_dagster.local.site"
    argv = [sys.executable, "-m", module, "--home", str(home), "--seed", str(seed), "--parent", str(os.getpid())]
    env = {**os.environ, children.FAMILY_MARK: str(home)}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_PROJECT), env.get("PYTHONPATH", ""))))
    site = children.spawn(argv, log=log, cwd=home, env=env)
    try:
        children.wait_ready(
            site,
            lambda: all(is_listening(port) for port in found.ports.values()),
            name="the demo news site",
            log=log,
            timeout_s=_READY_S,
        )
    except BaseException:
        children.stop(site, grace_s=2)
        raise
    return site


def tell_database(database_url: str, found: Remembered, home: Path) -> tuple[int, int]:
    """Add seeds, parser, fetcher and blacklist rules of the site, wake the seeds that rested while nobody served it.

    Returns how many seeds were new and how many were woken. The rules are in force before the first seed can be due.
    """
    stores = SqlStores(connect(database_url))
    try:
        for rule in sources.parser_rules():
            stores.parser_rules.save(rule)
        for pace in sources.fetcher_rules():
            known = stores.parser_rules.fetcher_rule(pace.host_pattern)
            if known is None or known.host_pattern != pace.host_pattern:
                stores.parser_rules.save_fetcher_rule(pace)
        for entry in sources.blacklist():
            stores.parser_rules.add_to_blacklist(entry)
        refresh_rules(stores, Settings().publish.priority_rules_load_limit)
        return stores.seeds.add(sources.seeds(found)), wake(home, stores.seeds, SystemClock().now_ms())
    finally:
        stores.close()


def _what_to_look_at(found: Remembered) -> tuple[str, ...]:
    return (
        "In the UI: Automation shows the sensors at work, Runs the shifts, Catalog the topics, queues and tables. "
        "Queues, buffers, rules, seeds and the DLQ have checks. First issues with three sources: within two minutes.",
        "In a second terminal: `issuetracker status` for the queues, `issuetracker report` for contents and issues.",
        f"Slow, broken and endless pages are linked from {found.url(ODD.key, '/odd/')}",
    )

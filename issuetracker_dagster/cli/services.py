"""`issuetracker up|down|dev|demo`: the services of the home folder, with or without Dagster beside them."""

import dataclasses
import sys

import click
from rich.console import Console

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.local import demo as demo_site
from issuetracker_dagster.local import foreground
from issuetracker_dagster.local.alone import other
from issuetracker_dagster.local.endpoints import Endpoints
from issuetracker_dagster.local.exporter import start_exporter
from issuetracker_dagster.local.pipeline import Prepared
from issuetracker_dagster.local.report import Report, Step, shown
from issuetracker_dagster.local.resting import rest
from issuetracker_dagster.local.services import LocalServices
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.snapshots import refresh_rules

console = Console(stderr=True)


def services_of(settings: Settings) -> LocalServices:
    """The local services of the configured home; what the settings place elsewhere is left alone."""
    return LocalServices(
        settings.home,
        kafka_bootstrap=settings.kafka.bootstrap_servers,
        redis_url=settings.redis.url.get_secret_value(),
        database_url=settings.general.database_url.get_secret_value(),
    )


@click.command()
def up() -> None:
    """Start Kafka, Valkey and the database in the background, and keep them until `down`."""
    with shown(console) as report:
        found = foreground.up(services_of(Settings()), report)
    prepare(found)
    running = other(Settings().home)
    if running is None:
        hint = "`issuetracker dev` or `dagster dev` runs the pipeline, `issuetracker down` ends it."
    else:
        hint = f"The pipeline runs already ({running.who}) and stops what it started at its end: {running.end_it}."
    console.print(f"Everything is up. {hint}", highlight=False, soft_wrap=True)


@click.command()
def down() -> None:
    """Stop the services of this home folder; their data stays."""
    with shown(console) as report:
        stopped = foreground.down(services_of(Settings()), report)
    console.print(f"Stopped: {', '.join(stopped)}." if stopped else "Nothing was running.")


_port = click.option("--port", type=click.IntRange(1, 65535), help="Port of the web UI; default 3000 or a free one.")
_host = click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address of the web UI, which has no log-in."
)


@click.command()
@_host
@_port
def dev(host: str, port: int | None) -> None:
    """Start what is missing, migrate, and run `dagster dev` in the foreground; Ctrl-C stops all of it.

    `issuetracker -v dev` also shows Dagster's lines about each tick and run.
    """
    with shown(console) as report:

        def prepare_own(found: Endpoints) -> Prepared:
            prepare(found)
            rest_demo(found, report)
            return Prepared()

        code = _in_foreground("dev", prepare_own, host, port, report)
    sys.exit(code)


@click.command()
@_host
@_port
@click.option(
    "--seed", default=7, show_default=True, help="Seed of the generated stories; the same seed, the same site."
)
def demo(host: str, port: int | None, seed: int) -> None:
    """Like `dev`, with a news site of its own on loopback, its seeds and rules, and all flags on."""
    with shown(console) as report:

        def prepare_demo(found: Endpoints) -> Prepared:
            prepare(found)
            return demo_site.prepare(found, Settings().home, seed, report)

        code = _in_foreground("demo", prepare_demo, host, port, report)
    sys.exit(code)


def _in_foreground(command: str, prepare: foreground.Prepare, host: str, port: int | None, report: Report) -> int:
    verbose = bool(click.get_current_context().find_root().params.get("verbose"))
    settings = Settings()
    services = services_of(settings)

    def prepare_all(found: Endpoints) -> Prepared:
        prepared = prepare(found)
        environment = {**found.environment(), "ISSUETRACKER_HOME": str(services.home)}
        exporter = start_exporter(services.home, environment, settings.general.metrics_addr, report)
        return dataclasses.replace(prepared, beside=(*prepared.beside, *exporter))

    return foreground.dev(
        services, prepare=prepare_all, host=host, port=port, verbose=verbose, command=command, report=report
    )


def prepare(found: Endpoints) -> None:
    """Bring the database up to date, and the priority rules that publishers use."""
    upgrade(found.database_url)
    stores = SqlStores(connect(found.database_url))
    try:
        refresh_rules(stores, Settings().publish.priority_rules_load_limit)
    finally:
        stores.close()


def rest_demo(found: Endpoints, report: Report) -> None:
    """Switch off the seeds of the demo's hosts, which nobody serves now, and say so."""
    stores = SqlStores(connect(found.database_url))
    try:
        count = rest(Settings().home.resolve(), stores.seeds, SystemClock().now_ms())
    finally:
        stores.close()
    if count:
        report(Step("seeds", "note", f"{count} that only `demo` serves are switched off; it switches them on again"))

"""`issuetracker publish` and `issuetracker seeds`: what gets crawled."""

import secrets

import click
from rich.console import Console
from rich.table import Table

from issuetracker_dagster.flow.publish import Request
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority, priority_from_label
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.model.urls import BadUrl, normalise
from issuetracker_dagster.settings.kinds import duration_ms
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_kinds = click.Choice([kind.value for kind in TargetType])


def _url(context: click.Context, parameter: click.Parameter, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    del context, parameter
    try:
        return normalise(value) if isinstance(value, str) else tuple(normalise(url) for url in value)
    except BadUrl as error:
        raise click.BadParameter(f"{error}; write the whole URL, such as https://news.example.com/a") from None


def _priority(context: click.Context, parameter: click.Parameter, value: str | None) -> Priority | None:
    del context, parameter
    try:
        return priority_from_label(value) if value else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _duration(context: click.Context, parameter: click.Parameter, value: str) -> int:
    del context, parameter
    try:
        found = duration_ms(value)
    except ValueError as error:
        raise click.BadParameter(f"{value!r} isn't {error}") from None
    if found <= 0:
        raise click.BadParameter(f"{value!r} is no interval; give one such as 90s, 10m or 6h")
    return found


@click.command()
@click.argument("urls", nargs=-1, required=True, callback=_url)
@click.option("--priority", callback=_priority, help="high, normal or low; default: as the rules say.")
@click.option("--type", "kind", type=_kinds, default=TargetType.ARTICLE.value, show_default=True, help="What it is.")
@click.option("--source", default="manual", show_default=True, help="Name of who asks, for rules and reports.")
@click.option("--again", is_flag=True, help="Publish even if the URL was published a short while ago.")
def publish(urls: tuple[str, ...], priority: Priority | None, kind: str, source: str, again: bool) -> None:
    """Publish crawl jobs for URLS."""
    parent = f"cli:{secrets.token_hex(8)}"
    report = Wiring(Settings()).publisher.publish(
        Request(
            job=CrawlJob(url=url, source=source, target_type=TargetType(kind), unconditional=again),
            parent=parent,
            priority=priority,
            dedupe=not again,
        )
        for url in urls
    )
    for message in report.published:
        headers = message.headers
        click.echo(f"{headers.root_id}  {CRAWL_TOPICS[headers.priority].value}")
    if report.known:
        click.echo(f"{report.known} known already; --again publishes all the same", err=True)
    if report.blacklisted:
        click.echo(f"{report.blacklisted} on the blacklist", err=True)


@click.group()
def seeds() -> None:
    """Entry URLs that are crawled at intervals."""


@seeds.command("add")
@click.argument("url", callback=_url)
@click.option("--source", required=True, help="Name of the source, for rules and reports.")
@click.option("--type", "kind", type=_kinds, default=TargetType.FEED.value, show_default=True, help="What it is.")
@click.option("--every", default="10m", show_default=True, callback=_duration, help="Interval, such as 90s, 10m, 6h.")
@click.option("--priority", callback=_priority, help="high, normal or low; default: as the rules say.")
def add_seed(url: str, source: str, kind: str, every: int, priority: Priority | None) -> None:
    """Crawl URL every so often, beginning now."""
    seed = Seed(
        url=url,
        source=source,
        target_type=TargetType(kind),
        interval_ms=every,
        priority=int(priority) if priority else None,
    )
    click.echo("Added." if Wiring(Settings()).stores.seeds.add([seed]) else "It was there already.")


@seeds.command("list")
def list_seeds() -> None:
    """Show every seed and when it is due."""
    wiring = Wiring(Settings())
    now_ms = wiring.clock.now_ms()
    table = Table("source", "type", "every", "due in", "priority", "url")
    for seed in wiring.stores.seeds.all():
        due_in = max(0, seed.next_due_ms - now_ms) // 1000
        priority = Priority(seed.priority).label if seed.priority else "by rule"
        interval = f"{seed.interval_ms // 1000} s"
        table.add_row(seed.source, seed.target_type.value, interval, f"{due_in} s", priority, seed.url)
    Console().print(table)

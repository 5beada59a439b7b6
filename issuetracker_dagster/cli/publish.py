"""`issuetracker publish`: crawl these URLs now."""

import secrets

import click

from issuetracker_dagster.cli.arguments import page_url, priority_word
from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import CrawlJob, decode_payload
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.stage import CRAWL_TOPICS
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_kinds = click.Choice([kind.value for kind in TargetType])


@click.command()
@click.argument("urls", nargs=-1, required=True, callback=page_url)
@click.option("--priority", callback=priority_word, help="high, normal or low; default: as the rules say.")
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
        url = decode_payload(CrawlJob, message.value).url
        click.echo(f"{headers.root_id}  {CRAWL_TOPICS[headers.priority].value}  {url}")
    if report.known:
        click.echo(f"{report.known} known already; --again publishes all the same", err=True)
    if report.blacklisted:
        click.echo(f"{report.blacklisted} on the blacklist", err=True)

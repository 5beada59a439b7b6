"""`issuetracker seeds add|edit|enable|disable|remove`: one seed, or all of a source."""

import click

from issuetracker_dagster.cli.arguments import page_url
from issuetracker_dagster.cli.seed_arguments import given, named, values_of_seed
from issuetracker_dagster.cli.seed_lists import interval_words
from issuetracker_dagster.cli.seeds_file import changed
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_SOURCE_HELP = "Who publishes the page, such as example-news; for rules and reports."
_names = click.argument("names", nargs=-1, metavar="[URL|ID]...")
_sources = click.option("--source", "sources", multiple=True, metavar="NAME", help="All seeds of this source.")


@click.command("add")
@click.argument("url", callback=page_url)
@click.option("--source", required=True, metavar="NAME", help=_SOURCE_HELP)
@values_of_seed
@click.option("--off", is_flag=True, help="Leave it switched off; `seeds enable` switches it on.")
def add_seed(url: str, off: bool, **options: object) -> None:
    """Crawl URL every so often, beginning now.

    With --min and --max the interval adapts: shorter when the page changes, longer when it rests.
    """
    wiring = Wiring(Settings())
    now_ms = wiring.clock.now_ms()
    seed = Seed(url=url, source="", enabled=not off, next_due_ms=now_ms, since_ms=now_ms)
    seed = _checked(changed(seed, given(**options), now_ms))  # type: ignore[arg-type]
    click.echo("Added." if wiring.stores.seeds.add([seed]) else "It was there already; `seeds edit` changes it.")


@click.command("edit")
@click.argument("name", metavar="URL|ID")
@click.option("--source", metavar="NAME", help=_SOURCE_HELP)
@values_of_seed
def edit_seed(name: str, **options: object) -> None:
    """Change a seed; what isn't given stays.

    A shorter interval counts from now. --min 0 --max 0 takes the bounds away, --freshness 0 the target.
    """
    values = given(**options)  # type: ignore[arg-type]
    if not values:
        raise click.UsageError("nothing to change; give what is new, such as --every 30m")
    wiring = Wiring(Settings())
    (seed,) = named(wiring.stores.seeds, [name], ())
    after = _checked(changed(seed, values, wiring.clock.now_ms()))
    wiring.stores.seeds.put([after])
    click.echo(f"{after.url}: every {interval_words(after)}")


@click.command("enable")
@_names
@_sources
def enable_seeds(names: tuple[str, ...], sources: tuple[str, ...]) -> None:
    """Switch seeds on; their pages count as fresh from now."""
    _switch(names, sources, on=True)


@click.command("disable")
@_names
@_sources
def disable_seeds(names: tuple[str, ...], sources: tuple[str, ...]) -> None:
    """Switch seeds off.

    Jobs that are on their way already are still crawled.
    """
    _switch(names, sources, on=False)


def _switch(names: tuple[str, ...], sources: tuple[str, ...], *, on: bool) -> None:
    wiring = Wiring(Settings())
    chosen = named(wiring.stores.seeds, names, sources)
    urls = [seed.url for seed in chosen]
    count = wiring.stores.seeds.set_enabled(urls, enabled=on, now_ms=wiring.clock.now_ms())
    before = f" ({len(chosen) - count} were before)" if count < len(chosen) else ""
    click.echo(f"{count} switched {'on' if on else 'off'}{before}.")


@click.command("remove")
@_names
@_sources
@click.option("--yes", is_flag=True, help="Don't ask.")
def remove_seeds(names: tuple[str, ...], sources: tuple[str, ...], yes: bool) -> None:
    """Delete seeds; their pages and contents stay."""
    wiring = Wiring(Settings())
    chosen = named(wiring.stores.seeds, names, sources)
    if not yes:
        for seed in chosen[:10]:
            click.echo(seed.url)
        click.confirm(f"Delete {'this seed' if len(chosen) == 1 else f'these {len(chosen)} seeds'}?", abort=True)
    click.echo(f"{wiring.stores.seeds.remove([seed.url for seed in chosen])} removed.")


def _checked(seed: Seed) -> Seed:
    try:
        check_seed(seed)
    except PermanentError as error:
        raise click.UsageError(str(error)) from None
    return seed

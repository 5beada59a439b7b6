"""What several commands take and how they print: URLs, hosts, priorities, columns that can be copied whole."""

from collections.abc import Sequence

import click
from rich.cells import cell_len

from issuetracker_dagster.model.priority import Priority, priority_from_label
from issuetracker_dagster.model.rules import check_host
from issuetracker_dagster.model.urls import BadUrl, host_of, spelled

RULE_ID = click.IntRange(1, 2**63 - 1)
"""As large as a column holds."""


def page_url(context: click.Context, parameter: click.Parameter, value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """Callback of an argument that takes URLs of pages: in one form, with all their parameters."""
    del context, parameter
    try:
        return spelled(value) if isinstance(value, str) else tuple(spelled(url) for url in value)
    except BadUrl as error:
        raise click.BadParameter(f"{error}; write the whole URL, such as https://news.example.com/a") from None


def priority_word(context: click.Context, parameter: click.Parameter, value: str | None) -> Priority | None:
    """Callback of an option that takes `high`, `normal` or `low`."""
    del context, parameter
    try:
        return priority_from_label(value) if value else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def host_name(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Callback of an option that takes a host or `*.` and a domain."""
    del context, parameter
    try:
        return check_host(value.lower()) if value else ""
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def host_or_url(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Callback of an option that takes a host, `*.` and a domain, or a URL, of which it takes the host.

    In whatever spelling: what is stored has hosts as URLs have them once they are parsed.
    """
    del context, parameter
    if not value:
        return value
    given = value.strip()
    front = "*." if given.startswith("*.") else ""
    found = host_of(given if "//" in given else f"http://{given.removeprefix(front)}/")
    if not found or given.startswith("/"):
        raise click.BadParameter(
            f"{value!r} has no host in it; give news.example.com, *.example.com or a whole URL, such as "
            "https://news.example.com/a"
        )
    return front + found


def columns(rows: Sequence[Sequence[str]], *, right: frozenset[int] = frozenset()) -> list[str]:
    """Lines with aligned columns, two blanks between them and none at the end; columns of `right` end together.

    Nothing is wrapped or cut, unlike in a table: expressions and URLs are here to be copied.
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(cell, widths[at], at in right) for at, cell in enumerate(row)).rstrip() for row in rows]


def _padded(cell: str, width: int, to_the_right: bool) -> str:
    blanks = " " * (width - cell_len(cell))
    return blanks + cell if to_the_right else cell + blanks

"""`issuetracker try URL|FILE`: what each stage makes of one page, without storing or publishing anything."""

import mimetypes
from pathlib import Path

import click
import msgspec

from issuetracker_dagster.cli.arguments import RULE_ID
from issuetracker_dagster.cli.rule_sets import rules_of_file
from issuetracker_dagster.cli.rule_words import named, say
from issuetracker_dagster.cli.running_flags import as_running
from issuetracker_dagster.cli.try_words import trial_lines
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.local import family
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.urls import BadUrl, spelled
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.stages.parser.selection import rule_for
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.trial import Trial
from issuetracker_dagster.wiring.trial_rules import RuleBook, TrialRules

PRIVATE_ADDRESS, PRIVATE_SETTING = "private_address", "FETCH_ALLOW_PRIVATE_ADDRESSES"
_kinds = click.Choice([kind.value for kind in TargetType])


@click.command("try")
@click.argument("page", metavar="URL|FILE")
@click.option("--url", "place", help="Where the page of FILE was found.")
@click.option("--as", "kind", type=_kinds, default=TargetType.ARTICLE.value, show_default=True, help="Read it as that.")
@click.option("--rule", "rule_id", type=RULE_ID, metavar="ID", help="Read it by this rule, on or off.")
@click.option(
    "--rules-from",
    "rules_file",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="As if the rules of this file, as `rules import` takes it, were stored.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def try_(page: str, place: str | None, kind: str, rule_id: int | None, rules_file: str | None, as_json: bool) -> None:
    """Show what fetch, parser, validate and enrich make of one page.

    A URL is fetched as a worker does it: robots.txt and the guard of addresses hold, the latter as the Dagster of this
    home has it, if one runs. A FILE holds the page as a server
    sent it. Nothing is stored or published. Neither Kafka nor Redis is asked; without a database there are no rules.

    Ends with 1 when a stage refuses the page.
    """
    if rule_id is not None and rules_file is not None:
        raise click.UsageError("--rule and --rules-from exclude each other")
    settings = Settings()
    file = None if "://" in page else _file(page)
    url = _place(page, place, is_file=file is not None)
    wiring = Wiring(settings)
    wanted = rules_of_file(rules_file) if rules_file is not None else None
    book = RuleBook(wiring, wanted, rules_file or "")
    only = None if rule_id is None else _rule(book, rule_id, url, TargetType(kind))
    rules = TrialRules(book.stored, url, listed=book.listed, only=only)
    allowed = file is None and _private_allowed(settings)
    trial = Trial(wiring, rules, book, url, TargetType(kind), allow_private_addresses=allowed)
    if file is None:
        tried = trial.of_url()
    else:
        body = _body(file, settings.fetch.max_bytes)
        tried = trial.of_file(body, mimetypes.guess_type(file.name)[0] or "")
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(tried), indent=2))
    else:
        say(trial_lines(tried))
        if tried.refused is not None and tried.refused.code == PRIVATE_ADDRESS:
            click.echo(f"The workers may be allowed to: {PRIVATE_SETTING}=true before this command asks it as well.")
    if tried.refused is not None:
        raise click.exceptions.Exit(1)


def _private_allowed(settings: Settings) -> bool:
    """As the Dagster that runs on this home has it: a `demo` allows it to its own workers alone."""
    own = settings.fetch.allow_private_addresses
    return own or bool(as_running(family.code_environment(settings.home), PRIVATE_SETTING, own))


def _file(page: str) -> Path:
    file = Path(page)
    if not file.is_file():
        raise click.BadParameter(
            f"{page!r} is neither the URL of a page, such as https://news.example.com/a, nor a file",
            param_hint="'URL|FILE'",
        )
    return file


def _place(page: str, place: str | None, *, is_file: bool) -> str:
    if is_file and place is None:
        raise click.UsageError("say with --url where the page of FILE was found: rules and links go by it")
    if not is_file and place is not None:
        raise click.UsageError("--url goes with a FILE; a URL is where it is")
    try:
        return spelled(place or page)
    except BadUrl as error:
        hint = "'--url'" if is_file else "'URL|FILE'"
        reason = f"{error}; write the whole URL, such as https://news.example.com/a"
        raise click.BadParameter(reason, param_hint=hint) from None


def _body(file: Path, most: int) -> bytes:
    try:
        with file.open("rb") as opened:
            body = opened.read(most + 1)
    except OSError as error:
        raise click.ClickException(f"{file} can't be read: {error.strerror}") from None
    if len(body) > most:
        raise click.ClickException(f"{file} has more than {most} bytes, the most that is fetched (FETCH_MAX_BYTES)")
    return body


def _rule(book: RuleBook, rule_id: int, url: str, kind: TargetType) -> ParserRule:
    """That rule as if it were on; raises `Unavailable`, and `ClickException` when it can't be about the page."""
    if not book.is_stored:
        raise Unavailable(f"--rule {rule_id} needs the rules, which are {book.told}")
    rule = book.stored.get(rule_id)
    if rule is None:
        raise click.ClickException(f"there is no rule {rule_id}; `issuetracker rules list` shows them")
    if rule.fault:
        raise click.ClickException(f"rule {rule_id} can't be used: {rule.fault}")
    if rule.target_type is not kind:
        raise click.ClickException(
            f"rule {rule_id} is about {rule.target_type.value}s: add --as {rule.target_type.value}"
        )
    switched_on = msgspec.structs.replace(rule, enabled=True)
    if rule_for([switched_on], url) is None:
        raise click.ClickException(f"rule {rule_id} isn't about this page but about {named(rule)}")
    return switched_on

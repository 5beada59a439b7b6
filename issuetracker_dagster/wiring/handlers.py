"""The handler of each stage, built from the parts and the settings.

Each builder imports its own stage, so that a worker run doesn't pay the start-up time and the memory of the others.
"""

from typing import TYPE_CHECKING, Any

from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.handler import Handler
from issuetracker_dagster.ports.language_model import LanguageModel
from issuetracker_dagster.wiring.parts import Wiring

if TYPE_CHECKING:
    from issuetracker_dagster.stages.fetch.options import FetchOptions
    from issuetracker_dagster.stages.validate.options import ValidateOptions


def build_handler(stage: Stage, wiring: Wiring) -> Handler[Any]:
    """A new handler; whoever asked for it closes it."""
    builders = {Stage.FETCH: _fetch, Stage.PARSER: _parser, Stage.VALIDATE: _validate, Stage.ENRICH: _enrich}
    return builders[stage](wiring)


def fetch_options(wiring: Wiring) -> "FetchOptions":
    """The limits of fetching, from the settings."""
    from issuetracker_dagster.stages.fetch.options import FetchOptions

    fetch = wiring.settings.fetch
    return FetchOptions(
        user_agent=fetch.user_agent,
        timeout_ms=fetch.timeout,
        max_bytes=fetch.max_bytes,
        max_redirects=fetch.max_redirects,
        robots=fetch.robots,
        default_rule=wiring.default_fetcher_rule,
    )


def _fetch(wiring: Wiring) -> Handler[Any]:
    from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
    from issuetracker_dagster.stages.fetch.handler import FetchHandler
    from issuetracker_dagster.stages.fetch.robots import Robots
    from issuetracker_dagster.wiring.rendering import build_renderer

    options = fetch_options(wiring)
    fetcher = AiohttpFetcher(allow_private_addresses=wiring.settings.fetch.allow_private_addresses)
    renderer = build_renderer(wiring.settings)
    stores = wiring.stores
    robots = Robots(fetcher, wiring.clock, options, stores.seeds, wiring.shared_robots)
    gate = wiring.host_gate
    raw_contents, rules = stores.raw_contents, stores.parser_rules
    return FetchHandler(fetcher, gate, robots, raw_contents, rules, wiring.clock, options, renderer)


def _parser(wiring: Wiring) -> Handler[Any]:
    from issuetracker_dagster.stages.parser.handler import ParserHandler
    from issuetracker_dagster.stages.parser.options import ParserOptions
    from issuetracker_dagster.stages.parser.pool import ExtractionPool

    options = ParserOptions()
    pool = ExtractionPool(options)
    pool.start()
    stores = wiring.stores
    return ParserHandler(
        stores.raw_contents,
        stores.contents,
        stores.parser_rules,
        pool,
        wiring.clock,
        options,
        name_of=wiring.name_of,
        seeds=stores.seeds,
    )


def validate_options(wiring: Wiring) -> "ValidateOptions":
    """The limits of validating, from the settings."""
    from issuetracker_dagster.stages.validate.options import ValidateOptions

    verdict = wiring.settings.verdict
    return ValidateOptions(**{name: getattr(verdict, name) for name in type(verdict).model_fields})


def _validate(wiring: Wiring) -> Handler[Any]:
    from issuetracker_dagster.stages.validate.handler import ValidateHandler

    return ValidateHandler(wiring.stores.contents, wiring.clock, validate_options(wiring))


def _enrich(wiring: Wiring) -> Handler[Any]:
    from issuetracker_dagster.stages.enrich.handler import EnrichHandler
    from issuetracker_dagster.stages.enrich.options import EnrichOptions

    stores = wiring.stores
    return EnrichHandler(stores.contents, stores.issues, wiring.clock, EnrichOptions(), _language_model(wiring))


def _language_model(wiring: Wiring) -> LanguageModel | None:
    """The configured provider; None keeps enrich offline."""
    llm = wiring.settings.language_model
    if not llm.base_url:
        return None
    from issuetracker_dagster.adapters.http.language_model import HttpLanguageModel

    return HttpLanguageModel(llm.base_url, llm.model, llm.api_key.get_secret_value(), llm.timeout / 1000, wiring.clock)

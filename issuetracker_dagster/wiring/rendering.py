"""The browser of fetch, built from the settings where the machine has what it needs."""

from issuetracker_dagster.adapters.browser.installed import missing
from issuetracker_dagster.adapters.browser.options import RenderOptions
from issuetracker_dagster.ports.rendering import Renderer
from issuetracker_dagster.settings.load import Settings


def render_options(settings: Settings) -> RenderOptions:
    """The limits of rendering, from the settings."""
    fetch = settings.fetch
    return RenderOptions(
        pages=fetch.render_pages,
        browser=fetch.render_browser,
        sandbox=fetch.render_sandbox,
        restart_after=fetch.render_restart_after,
        max_traffic=fetch.render_max_bytes,
        max_memory=fetch.render_max_memory,
    )


def missing_for_rendering(settings: Settings) -> str:
    """What keeps pages from being rendered on this machine, and what helps; empty when nothing does."""
    return missing(render_options(settings))


def build_renderer(settings: Settings, *, allow_private_addresses: bool | None = None) -> Renderer | None:
    """A new renderer, which starts its browser for the first page; None where something is missing.

    `allow_private_addresses` is as in the settings unless it is given.
    """
    options = render_options(settings)
    if missing(options):
        return None
    from issuetracker_dagster.adapters.browser.renderer import BrowserRenderer
    from issuetracker_dagster.adapters.http.addresses import AddressPolicy, CheckedResolver, system_lookup

    own = settings.fetch.allow_private_addresses
    policy = AddressPolicy(allow_private=own if allow_private_addresses is None else allow_private_addresses)
    return BrowserRenderer(options, CheckedResolver(policy, system_lookup))

"""What rendering needs and this machine hasn't. Nothing is imported from the extra here, nothing started."""

import importlib.util
import os
import shutil
from pathlib import Path

from issuetracker_dagster.adapters.browser.options import RenderOptions

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_CHANNELS = ("chrome", "chrome-beta", "chromium", "msedge", "msedge-beta")


def missing(options: RenderOptions) -> str:
    """What is missing and what helps, as the end of a sentence; empty when pages can be rendered."""
    if options.pages < 1:
        return "FETCH_RENDER_PAGES is 0, which switches rendering off"
    if importlib.util.find_spec("playwright") is None:
        return "Playwright isn't installed: pip install 'issuetracker-dagster[render]'"
    if options.browser not in ("", *_CHANNELS) and not _is_program(options.browser):
        return f"FETCH_RENDER_BROWSER={options.browser} is neither a program nor one of {', '.join(_CHANNELS)}"
    if not options.browser and not browser_path(options) and not _has_download():
        return (
            "no Chromium is on this machine: install one (`apt install chromium`, `playwright install chromium`), or "
            "say by FETCH_RENDER_BROWSER where it is"
        )
    if options.sandbox and hasattr(os, "geteuid") and os.geteuid() == 0:
        return (
            "Chromium has no sandbox for root: run workers as another user, or set FETCH_RENDER_SANDBOX=false where "
            "the container is wall enough"
        )
    return ""


def browser_path(options: RenderOptions) -> str:
    """The program to start; empty for a channel and for what Playwright has downloaded itself."""
    if options.browser:
        return "" if options.browser in _CHANNELS else options.browser
    return next(filter(None, map(shutil.which, _NAMES)), "")


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _has_download() -> bool:
    """Whether `playwright install chromium` was here; where it puts things on Linux and macOS."""
    folders = [Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "/nowhere"))]
    home = Path(os.path.expanduser("~"))  # stays as it is for the user of a container, who may have none
    if home.is_absolute():
        folders += [home / ".cache" / "ms-playwright", home / "Library" / "Caches" / "ms-playwright"]
    return any(True for folder in folders for _ in folder.glob("chromium*"))

"""The pages of the Dagster UI as an operator sees them: in a headless Chromium."""

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

PATIENCE_MS = 60_000
"""The UI asks its server several times for one page, and beside the demo's start both are slow."""
LOCATION = "/locations/issuetracker"


@dataclass(frozen=True)
class UiPage:
    """A page by its path, and words that are on it when it is whole."""

    name: str
    path: str
    words: tuple[str, ...]


PAGES = (
    UiPage("automation", "/automation", ("parser_intake", "fetch_workers", "drain_backlog", "Every minute")),
    UiPage("sensor", f"{LOCATION}/sensors/parser_intake", ("parser_intake", "Tick")),
    UiPage("schedule", f"{LOCATION}/schedules/drain_backlog", ("drain_backlog", "Every minute")),
    UiPage("runs", "/runs", ("parser_shift", "enrich_shift")),
    UiPage("jobs", "/jobs", ("redrive_dead_letters", "reparse_contents", "move_queue_entries")),
    UiPage("launchpad", f"{LOCATION}/jobs/redrive_dead_letters/playground", ("dry_run", "Launch Run")),
    UiPage("lineage", "/asset-groups", ("fetch", "parser", "validate", "enrich", "dead_letters", "retries")),
    UiPage("catalog", "/assets", ("kafka / crawl_high", "Kafka, which carries the messages")),
    UiPage("queue", "/assets/redis/parser_queue?view=overview", ("parser:zset:queue", "parser")),
    UiPage("checks", "/assets/redis/parser_queue?view=checks", ("depth", "age", "leases", "intake")),
    UiPage("plots", "/assets/redis/parser_queue?view=events", ("Observed",)),
    UiPage("digest", "/assets/reports/issue_digest?view=overview", ("issue_digest",)),
)


class Screen:
    """One window of the browser, at the UI of a demo."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self._url = url

    def show(self, wanted: UiPage) -> None:
        """Open the page and wait until its words are there."""
        self.page.goto(self._url + wanted.path)
        for word in wanted.words:
            expect(self.page.get_by_text(word).first).to_be_visible(timeout=PATIENCE_MS)

    def expand_lineage(self) -> None:
        """Open all groups of the lineage graph, as the key that the UI names for it does."""
        self.page.keyboard.press("Alt+e")
        expect(self.page.get_by_text("parser_queue").first).to_be_visible(timeout=PATIENCE_MS)

    def button(self, text: str) -> Locator:
        """The first button with just this text; its name for the screen reader begins with that of its icon."""
        return self.page.get_by_role("button").filter(has_text=re.compile(f"^{re.escape(text)}$")).first

    def write_config(self, text: str) -> None:
        """Put `text` into the editor that is open, in place of what is there."""
        editor = self.page.locator(".CodeMirror").first
        editor.click(timeout=PATIENCE_MS)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)
        expect(editor).to_contain_text(text.split()[-1].strip("[]"))


@contextlib.contextmanager
def screen(url: str) -> Iterator[Screen]:
    """A fresh window on the UI at `url`."""
    with sync_playwright() as playwright:
        browser: Browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        with contextlib.closing(browser):
            yield Screen(browser.new_page(viewport={"width": 1440, "height": 900}), url)


def chromium() -> str:
    """The browser of this machine. Without one a test is skipped, in CI it fails."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None and not os.environ.get("CI"):
        pytest.skip("no Chromium on this machine")
    assert found is not None, "Chromium is needed"
    return found

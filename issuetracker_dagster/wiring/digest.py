"""Where the digest's page is kept."""

import os
from datetime import UTC, datetime
from pathlib import Path

FOLDER = "reports"
LATEST = "latest.html"


def keep_page(home: Path, page: str, made_ms: int) -> Path:
    """Write the page as the digest of its day (UTC) and as the latest; returns the former's path.

    A reader never meets half of one: each is written beside and moved into place.
    """
    folder = home / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    day = datetime.fromtimestamp(made_ms / 1000, UTC).strftime("%Y-%m-%d")
    for name in (f"digest-{day}.html", LATEST):
        replace_text(folder / name, page)
    return folder / f"digest-{day}.html"


def replace_text(path: Path, text: str) -> None:
    """Put the text in the file's place at once."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)

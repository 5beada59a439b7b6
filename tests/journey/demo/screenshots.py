"""`make screenshots`: starts a demo of its own, waits until there is something to see, and writes docs/images."""

import os
import tempfile
from pathlib import Path

from tests.journey.demo.pages import PAGES, Screen, screen
from tests.journey.demo.session import POINTERS, ROOT, Demo
from tests.waiting import eventually

IMAGES = ROOT / "docs" / "images"
SHOWN = ("automation", "lineage", "checks", "launchpad")


def main() -> None:
    """The pictures of the operating guide, made anew."""
    for name in POINTERS:
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ISSUETRACKER_HOME"] = str(Path(folder) / "home")
        demo = Demo(Path(folder) / "home")
        try:
            print("starting a demo")
            demo.start()
            print("waiting for issues and checks, some minutes")
            eventually(lambda: demo.counts().get("issues", 0) >= 3, timeout_s=300, interval_s=1)
            eventually(lambda: demo.ui.check_results("redis", "parser_queue").get("depth"), timeout_s=300, interval_s=1)
            with screen(demo.ui.url) as window:
                _take_all(window)
        finally:
            demo.end()


def _take_all(window: Screen) -> None:
    IMAGES.mkdir(exist_ok=True)
    for page in PAGES:
        if page.name in SHOWN:
            window.show(page)
            path = IMAGES / f"{page.name}.png"
            path.write_bytes(_settled(window))
            print(path.relative_to(ROOT))


def _settled(window: Screen) -> bytes:
    """A picture that stays the same for two seconds: plots and the graph are drawn after their words are there."""
    shots = [b""]

    def same() -> bool:
        shots.append(window.page.screenshot(animations="disabled"))
        return shots[-1] == shots[-2]

    eventually(same, timeout_s=60, interval_s=2)
    return shots[-1]


if __name__ == "__main__":
    main()

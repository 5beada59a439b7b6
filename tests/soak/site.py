"""The soak's own pages: as many distinct stories as are asked for, and pages whose end is known beforehand.

The number of a page says what it is, so that everybody who knows the number knows what has to become of it.
"""

import json
import random
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from issuetracker_dagster.local.ports import LOOPBACK

HOSTS = ("soak-a.localhost", "soak-b.localhost", "soak-c.localhost")
LINKS = 3
_TOLD_AT_ONCE = 6
"""Stories about one event: they share its words, so that issues form as they do in the wild."""
_VOWELS, _CONSONANTS = "aeiou", "bdfgklmnprstvz"


class Page(StrEnum):
    """What a number stands for."""

    STORY = "story"
    LIST = "list"
    """Links to `LINKS` stories that nothing else links to."""
    FLAKY = "flaky"
    """Answers 503 once, then it is a story."""
    GONE = "gone"
    SHOUTED = "shouted"
    """A story in capitals, which validate rejects."""
    MOVED = "moved"
    """Redirects to a story."""


_ODD = (Page.LIST, Page.FLAKY, Page.GONE, Page.SHOUTED, Page.MOVED)
_EVERY = 20


def page_of(number: int) -> Page:
    """What the page of that number is: a quarter of them are odd."""
    place = number % _EVERY
    return _ODD[place] if place < len(_ODD) else Page.STORY


def path_of(number: int) -> str:
    """Its path."""
    return f"/{page_of(number).value}/{number}"


def links_of(number: int) -> list[str]:
    """Paths that a list links to."""
    return [f"/linked/{number}-{place}-{1000 + number}.html" for place in range(LINKS)]


class Site:
    """Serves inside the block, for each of `HOSTS`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()
        site = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, location, text = site.answer(self.path)
                body = text.encode()
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """The ledger tells what was asked."""

        self._server = _Server((LOOPBACK, 0), Answers)

    def url(self, path: str, host: int = 0) -> str:
        """The address of a path."""
        return f"http://{HOSTS[host % len(HOSTS)]}:{self._server.server_address[1]}{path}"

    def asked(self, path: str) -> int:
        """How often that path was asked for."""
        with self._lock:
            return self._asked[path]

    def answer(self, path: str) -> tuple[int, str, str]:
        """Status, where to, and the page."""
        with self._lock:
            self._asked[path] += 1
            first = self._asked[path] == 1
        kind, _, rest = path.strip("/").partition("/")
        if kind in {"linked", "moved-to"}:
            return 200, "", _story(path, int(rest.split("-")[0]))
        if not rest.isdigit() or kind not in set(Page):
            return 404, "", "There is nothing here."
        number = int(rest)
        match Page(kind):
            case Page.GONE:
                return 404, "", "It was here once."
            case Page.MOVED:
                return 302, f"/moved-to/{number}", ""
            case Page.LIST:
                return 200, "", _list(number)
            case Page.SHOUTED:
                return 200, "", _story(path, number, shouted=True)
            case Page.FLAKY if first:
                return 503, "", "Not now."
            case _:
                return 200, "", _story(path, number)

    def __enter__(self) -> "Site":
        threading.Thread(target=self._server.serve_forever, name="site", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A crawler that is killed in mid-answer is what this site is there for."""


def _list(number: int) -> str:
    items = "".join(f'<li><a href="{path}">Report {number} of place {path}</a></li>' for path in links_of(number))
    return f"<html><head><title>Reports {number}</title></head><body><h1>Reports</h1><ul>{items}</ul></body></html>"


def _story(path: str, number: int, *, shouted: bool = False) -> str:
    event, own = random.Random(number // _TOLD_AT_ONCE), random.Random(path)
    names = [_word(event).capitalize() for _ in range(4)]
    subject = [_word(event) for _ in range(40)]
    own_words = [_word(own) for _ in range(60)]
    title = f"{names[0]} and {names[1]} {' '.join(own.sample(subject, 4))} {number}"
    paragraphs = [_paragraph(own, names, subject + own_words) for _ in range(4)]
    text = "".join(f"<p>{each.upper() if shouted else each}</p>\n" for each in paragraphs)
    # Nothing in it may differ from one time to the next: whoever is given another page takes it for news.
    about = {
        "@context": "https://schema.org",
        "@type": "NewsArticle",
        "headline": title,
        "description": f"What {names[0]} said about {' '.join(own.sample(subject, 6))}.",
        "datePublished": datetime.fromtimestamp(_STARTED_S, UTC).isoformat(timespec="seconds"),
        "author": [{"@type": "Person", "name": f"{names[2]} {names[3]}"}],
        "articleSection": "reports",
        "keywords": own.sample(subject, 4),
    }
    return (
        f'<html lang="en"><head><title>{title}</title>'
        f'<script type="application/ld+json">{json.dumps(about)}</script></head>'
        f"<body><article><h1>{title}</h1>\n{text}</article></body></html>"
    )


_STARTED_S = time.time()


def _paragraph(chance: random.Random, names: list[str], words: list[str]) -> str:
    said = []
    for _ in range(5):
        middle = " ".join(chance.choice(words) for _ in range(8))
        said.append(f"{chance.choice(names)} said that the {middle} cost {chance.randint(2, 900)} million.")
    return " ".join(said)


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_CONSONANTS) + chance.choice(_VOWELS) for _ in range(chance.randint(2, 4)))

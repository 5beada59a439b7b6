"""What an incident happens on: a demo on a Kafka that can be killed, and a site whose layout can change."""

import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from issuetracker_dagster.flow.requests import Request
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.payload import CrawlJob
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import FetcherRule
from tests.journey.demo.session import POINTERS, Demo
from tests.journey.killable import Killable, killable_kafka

SETTINGS = {"CHECK_AGE_WARN": "high=5m,normal=1h,low=1m", "METRICS_ADDR": "off"}
"""A low entry counts as late after a minute. By default it would take twelve hours, and the demo ends before that."""
SITE_HOST = "changing.localhost"
_WORDS = "The harbour board of Dunmore voted on Tuesday to widen the northern basin, its chair Ada Quinn said. "


class ChangingSite:
    """A news site with a page for each number. `layout` is the class of the element that holds title and text."""

    def __init__(self) -> None:
        site = self
        self.layout = "spring"

        class Answers(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = not self.path.endswith("robots.txt")
                body = site._page(self.path).encode() if found else b""
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def host(self) -> str:
        """As rules name it."""
        return SITE_HOST

    def url(self, number: int) -> str:
        """Of the page with this number, in whatever layout it then has."""
        return f"http://{SITE_HOST}:{self._server.server_port}/{self.layout}/story-{number}"

    def __enter__(self) -> "ChangingSite":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _page(self, path: str) -> str:
        return (
            f"<html><head><title>{path}</title></head><body>"
            f"<h1 class='{self.layout}-title'>Board of Dunmore votes on basin {path}</h1>"
            f"<div class='{self.layout}-text'><p>{_WORDS * 8}</p><p>{_WORDS * 4}{path}</p></div></body></html>"
        )


@dataclass(frozen=True)
class Scene:
    """A demo that crawls, and what can be broken about it."""

    demo: Demo
    kafka: Killable
    site: ChangingSite

    def publish_pages(self, count: int) -> None:
        """Pages of the changing site, in its present layout."""
        requests = [
            Request(
                job=CrawlJob(url=self.site.url(number), source="incidents", target_type=TargetType.ARTICLE),
                parent=f"incidents:{self.site.layout}:{number}",
                priority=Priority.HIGH,
            )
            for number in range(count)
        ]
        self.demo.wiring().publisher.publish(requests)


@contextmanager
def running_scene(folder: Path) -> Iterator[Scene]:
    """The scene, gone with the block. The environment of this process leads to its servers meanwhile."""
    before = dict(os.environ)
    with ExitStack() as stack:
        stack.callback(_restore, before)
        kafka = stack.enter_context(killable_kafka(folder / "kafka"))
        site = stack.enter_context(ChangingSite())
        home = folder / "home"
        for name in POINTERS:
            os.environ.pop(name, None)
        settings = {**SETTINGS, "KAFKA_BOOTSTRAP_SERVERS": kafka.address}
        os.environ.update(settings, ISSUETRACKER_HOME=str(home))
        demo = Demo(home, settings)
        stack.callback(demo.end)
        demo.start()
        demo.wiring().stores.parser_rules.save_fetcher_rule(
            FetcherRule(host_pattern=SITE_HOST, requests_per_hour=36_000, burst=20, concurrency=4, source="incidents")
        )
        yield Scene(demo, kafka, site)


def _restore(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)

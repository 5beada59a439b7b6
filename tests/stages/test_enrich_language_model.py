"""A language model over a loopback server: answers are checked, and a failure costs no more than the better answer."""

import json
import logging
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from issuetracker_dagster.adapters.clock import FakeClock, SystemClock
from issuetracker_dagster.adapters.http.language_model import HttpLanguageModel
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Enrichment
from issuetracker_dagster.ports.language_model import ModelFailed
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from tests.stages.enrich_stories import ALDER_1, ALDER_2, NOW_MS, Report

KEY = "key-that-must-not-show"


class Colour(msgspec.Struct):
    """A shape to ask for."""

    name: str


def completion(answer: object) -> bytes:
    return json.dumps({"choices": [{"message": {"content": json.dumps(answer)}}]}).encode()


class Endpoint:
    """A server on loopback that answers what it is told to."""

    def __init__(self) -> None:
        self.status = 200
        self.reply: Callable[[dict[str, object]], bytes] = lambda _: completion({"name": "red"})
        self.location = ""
        self.asked: list[tuple[str, dict[str, object], str]] = []
        self.drips = False
        self.stopping = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                endpoint.asked.append((self.path, body, self.headers.get("Authorization", "")))
                reply = endpoint.reply(body)
                self.send_response(endpoint.status)
                if endpoint.location:
                    self.send_header("Location", endpoint.location)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                if endpoint.drips:
                    self.drip(reply)
                else:
                    self.wfile.write(reply)

            def drip(self, reply: bytes) -> None:
                for position in range(len(reply)):
                    if endpoint.stopping.wait(0.05):
                        return
                    try:
                        self.wfile.write(reply[position : position + 1])
                        self.wfile.flush()
                    except OSError:
                        return

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def model(self, timeout_s: float = 5.0, clock: FakeClock | None = None) -> HttpLanguageModel:
        return HttpLanguageModel(self.url, "small", KEY, timeout_s, clock or SystemClock())

    def close(self) -> None:
        self.stopping.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint()
    yield running
    running.close()


def test_a_question_is_one_json_call_with_the_key_in_its_header(endpoint: Endpoint) -> None:
    assert endpoint.model().answer("Name the colour.", "It was red.", Colour) == Colour("red")
    ((path, body, authorization),) = endpoint.asked
    assert path == "/v1/chat/completions"
    assert authorization == f"Bearer {KEY}"
    assert body["model"] == "small"
    assert body["response_format"] == {"type": "json_object"}
    assert body["messages"] == [
        {"role": "system", "content": "Name the colour."},
        {"role": "user", "content": "It was red."},
    ]


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"not json",
        b'{"choices": []}',
        b'{"choices": [{"message": {}}]}',
        completion({"name": 5}),
        completion([]),
        b'{"choices": [{"message": {"content": "red"}}]}',
        b'{"choices": [{"message": {"content": null}}]}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"x" * 1_100_000,
    ],
)
def test_an_answer_in_another_shape_is_a_failure(endpoint: Endpoint, reply: bytes) -> None:
    endpoint.reply = lambda _: reply
    with pytest.raises(ModelFailed):
        endpoint.model().answer("i", "t", Colour)


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_a_refusal_is_a_failure_that_names_the_status_only(endpoint: Endpoint, status: int) -> None:
    endpoint.status = status
    endpoint.reply = lambda _: KEY.encode()
    with pytest.raises(ModelFailed, match=str(status)) as caught:
        endpoint.model().answer("i", "t", Colour)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_key_follows_no_redirect(endpoint: Endpoint, status: int) -> None:
    other = Endpoint()
    try:
        endpoint.status = status
        endpoint.location = other.url
        with pytest.raises(ModelFailed):
            endpoint.model().answer("i", "t", Colour)
        assert other.asked == []
    finally:
        other.close()


def test_a_server_that_drips_is_given_up_in_time(endpoint: Endpoint) -> None:
    endpoint.drips = True
    endpoint.reply = lambda _: completion({"name": "red" * 1_000})
    with pytest.raises(ModelFailed, match="longer than"):
        endpoint.model(timeout_s=0.3).answer("i", "t", Colour)


def test_nobody_listening_is_a_failure() -> None:
    with pytest.raises(ModelFailed):
        HttpLanguageModel("http://127.0.0.1:1/v1", "m", KEY, 1.0, SystemClock()).answer("i", "t", Colour)


def test_after_three_failures_the_model_rests_for_a_minute(endpoint: Endpoint) -> None:
    clock = FakeClock()
    model = endpoint.model(clock=clock)
    endpoint.status = 500
    for _ in range(5):
        with pytest.raises(ModelFailed):
            model.answer("i", "t", Colour)
    assert len(endpoint.asked) == 3
    endpoint.status = 200
    clock.advance(61_000)
    assert model.answer("i", "t", Colour) == Colour("red")


@pytest.mark.parametrize(("url", "model"), [("ftp://x/v1", "m"), ("", "m"), ("http://", "m"), ("http://x/v1", "")])
def test_a_wrong_endpoint_is_found_at_construction(url: str, model: str) -> None:
    with pytest.raises(ConfigError, match="ENRICH_LLM_"):
        HttpLanguageModel(url, model, KEY, 1.0, SystemClock())


class World:
    """An enrich stage with a language model."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.stores = MemoryStores()
        self.model = endpoint.model()
        self.handler = EnrichHandler(self.stores.contents, self.stores.issues, FakeClock(NOW_MS), llm=self.model)

    def enrich(self, report: Report) -> Enrichment:
        content = report.content()
        ref = ContentRef(content_id=self.stores.contents.save(content), url=content.url)
        assert self.handler.handle(ref, HandlerContext(Headers(root_id="r"))).forward == ref
        return self.found(report)

    def found(self, report: Report) -> Enrichment:
        found = self.stores.issues.enrichment(self.stores.contents.save(report.content()))
        assert found is not None
        return found


def reading_model(body: dict[str, object]) -> bytes:
    """What a good model would answer to either step."""
    messages = body["messages"]
    assert isinstance(messages, list)
    question = json.loads(messages[1]["content"])
    if "claims" in question:
        return completion({"statuses": ["supported"] * len(question["claims"])})
    sentence = question["body"].split("\n")[1]
    made_up = "The moon fell on Port Alder and 900 people saw it."
    names = ["Port Alder", "Marta Delgado", "Napoleon"]
    return completion({"keywords": ["fire"], "entities": names, "claims": [sentence, made_up]})


def test_what_the_model_finds_is_kept_unless_the_article_does_not_say_it(endpoint: Endpoint) -> None:
    endpoint.reply = reading_model
    found = World(endpoint).enrich(ALDER_1)
    assert found.keywords == ("fire",)
    assert found.entities == ("Port Alder", "Marta Delgado")
    assert [claim.text for claim in found.claims] == [ALDER_1.body.split("\n")[1]]
    assert found.failed_steps == ()


def test_the_model_judges_claims_against_other_sources(endpoint: Endpoint) -> None:
    endpoint.reply = reading_model
    world = World(endpoint)
    world.enrich(ALDER_1)
    assert [claim.status for claim in world.enrich(ALDER_2).claims] == ["supported"]


@pytest.mark.parametrize(
    "answer",
    [
        {"keywords": ["fire"], "entities": [], "claims": ["The moon fell on Port Alder."]},
        {"keywords": "fire", "entities": [], "claims": []},
        {"keywords": ["x" * 500], "entities": [], "claims": []},
        {"statuses": ["true"]},
    ],
)
def test_a_useless_answer_falls_back_to_the_offline_way_and_is_counted(
    endpoint: Endpoint, answer: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.reply = lambda _: completion(answer)
    with caplog.at_level(logging.DEBUG):
        found = World(endpoint).enrich(ALDER_1)
    assert found.failed_steps == ("extract:model",)
    assert "Port Alder" in found.entities
    assert len(found.claims) > 1
    assert [getattr(record, "step", "") for record in caplog.records if record.levelno >= logging.WARNING] == [
        "extract:model"
    ]


def test_a_model_out_of_order_changes_nothing_but_the_failed_steps(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.status = 500
    with caplog.at_level(logging.DEBUG):
        world = World(endpoint)
        world.enrich(ALDER_1)
        with_failures = world.enrich(ALDER_2)
    offline = World(endpoint)
    offline.handler = EnrichHandler(offline.stores.contents, offline.stores.issues, FakeClock(NOW_MS))
    offline.enrich(ALDER_1)
    assert with_failures.failed_steps == ("extract:model", "verify:model")
    assert msgspec.structs.replace(with_failures, failed_steps=()) == offline.enrich(ALDER_2)
    assert KEY not in caplog.text
    assert KEY not in repr(world.model)

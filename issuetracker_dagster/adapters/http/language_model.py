"""A language model behind an OpenAI-compatible endpoint (`/chat/completions` with JSON answers)."""

import http.client
import json
import logging
import threading
import urllib.error
import urllib.request
from typing import TypeVar
from urllib.parse import urlsplit

import msgspec

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.ports.clock import Clock
from issuetracker_dagster.ports.language_model import ModelFailed

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LARGEST_ANSWER = 1_000_000
_PIECE = 16_384
_FAILURES_TO_REST = 3
_REST_S = 60.0


class _Message(msgspec.Struct, frozen=True):
    content: str


class _Choice(msgspec.Struct, frozen=True):
    message: _Message


class _Completion(msgspec.Struct, frozen=True):
    choices: list[_Choice]


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another host."""

    def redirect_request(self, *_: object) -> None:
        return None


class HttpLanguageModel:
    """The port `LanguageModel`. After three failures in a row it isn't asked for a minute, so that contents flow on.

    `base_url` ends before `/chat/completions`; `timeout_s` bounds a whole call. Raises `ConfigError` for a URL that
    isn't http(s) or a missing model name. The key is sent in one header and shows nowhere else.
    """

    def __init__(self, base_url: str, model: str, api_key: str, timeout_s: float, clock: Clock) -> None:
        if urlsplit(base_url).scheme not in ("http", "https") or not urlsplit(base_url).hostname:
            raise ConfigError("ENRICH_LLM_BASE_URL must be an http or https URL")
        if not model:
            raise ConfigError("ENRICH_LLM_MODEL must name a model when ENRICH_LLM_BASE_URL is set")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._model = model
        self._api_key = api_key
        self._timeout_s = timeout_s
        self._clock = clock
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._lock = threading.Lock()
        self._failures = 0
        self._rests_until = 0.0

    def __repr__(self) -> str:
        return f"HttpLanguageModel(model={self._model!r})"

    def answer(self, instruction: str, text: str, shape: type[T]) -> T:
        """One call, one validated answer; raises `ModelFailed`."""
        with self._lock:
            if self._clock.monotonic() < self._rests_until:
                raise ModelFailed("the language model rests after repeated failures")
        try:
            answer = _decoded(self._post(instruction, text), shape)
        except ModelFailed:
            self._count_failure()
            raise
        with self._lock:
            self._failures = 0
        return answer

    def _post(self, instruction: str, text: str) -> bytes:
        body = {
            "model": self._model,
            "temperature": 0,
            "response_format": {"type": "json_object"},
            "messages": [{"role": "system", "content": instruction}, {"role": "user", "content": text}],
        }
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        # The scheme was checked at construction.
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310
        deadline = self._clock.monotonic() + self._timeout_s
        try:
            with self._opener.open(request, timeout=self._timeout_s) as response:
                return self._read(response, deadline)
        except urllib.error.HTTPError as error:
            error.close()
            raise ModelFailed(f"the language model answered with status {error.code}") from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise ModelFailed(f"the language model can't be asked: {type(error).__name__}") from None

    def _read(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        # The socket's time-out bounds each read only; a server that drips would hold a worker for ever.
        pieces: list[bytes] = []
        size = 0
        while piece := response.read1(_PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > _LARGEST_ANSWER:
                raise ModelFailed(f"the language model's answer is longer than {_LARGEST_ANSWER} bytes")
            if self._clock.monotonic() > deadline:
                raise ModelFailed(f"the language model took longer than {self._timeout_s:g} s")
        return b"".join(pieces)

    def _count_failure(self) -> None:
        with self._lock:
            self._failures += 1
            if self._failures >= _FAILURES_TO_REST:
                self._failures = 0
                self._rests_until = self._clock.monotonic() + _REST_S
                logger.warning("the language model failed %d times in a row and rests", _FAILURES_TO_REST)


def _decoded(raw: bytes, shape: type[T]) -> T:
    try:
        completion = msgspec.json.decode(raw, type=_Completion)
        return msgspec.json.decode(completion.choices[0].message.content, type=shape)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, IndexError) as error:
        # The answer itself may quote the page: its kind of fault is enough.
        raise ModelFailed(f"the language model's answer isn't a {shape.__name__}: {type(error).__name__}") from None

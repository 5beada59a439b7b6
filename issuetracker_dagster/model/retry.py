"""When a failed message comes back, and as what."""

import msgspec

from issuetracker_dagster.model.headers import DEFAULT_TIMEOUT_MS
from issuetracker_dagster.model.message import Message
from issuetracker_dagster.model.payload import CrawlJob, encode_payload
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.model.urls import host_of


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of retrying; durations in milliseconds, `jitter` the share by which a delay may vary either way."""

    max_attempts: int = 3
    base_ms: int = 5_000
    cap_ms: int = 300_000
    jitter: float = 0.25
    recrawl_max: int = 3


class RetryEntry(msgspec.Struct, frozen=True):
    """A message waiting in the retry set to be published to `topic` (short name) at `due_ms`.

    `stage` failed it; `source_ms` is the Kafka time of the record that it came from, so that a lost queue can be
    rebuilt from early enough.
    """

    due_ms: int
    topic: str
    stage: Stage
    source_ms: int
    message: Message


def backoff_ms(attempt: int, policy: RetryPolicy, uniform: float) -> int:
    """Delay after the `attempt`-th failure: `base x 2^(attempt-1)`, capped, +- jitter; `uniform` is in [0, 1)."""
    exponent = min(attempt - 1, 40)  # beyond any cap, and clear of overflowing when headers lie
    delay = min(policy.base_ms * 2**exponent, policy.cap_ms)
    return int(delay * (1 + policy.jitter * (2 * uniform - 1)))


def next_attempt(message: Message) -> Message:
    """The same message for another try: next generation, attempt + 1, all else kept."""
    headers = message.headers
    return message.evolve(generation=headers.generation + 1, attempt=headers.attempt + 1)


def build_retry_job(message: Message, url: str, failed_stage: Stage, source: str, depth: int = 0) -> Message:
    """A crawl job that fetches the page of `message` again, unconditionally.

    Headers come first: crawler, target type, priority and timeout are the failed message's own, so that a category
    stays a category. The root stays, the generation and the recrawl count go up, attempts start anew.
    """
    headers = message.headers
    job = CrawlJob(
        url=url,
        source=source,
        target_type=headers.target_type,
        crawler=headers.crawler,
        timeout_ms=headers.timeout_ms or DEFAULT_TIMEOUT_MS,
        depth=depth,
        unconditional=True,
        metadata={"failed_stage": failed_stage.value, "original_id": message.identity},
    )
    again = message.evolve(generation=headers.generation + 1, attempt=1, recrawl_count=headers.recrawl_count + 1)
    return msgspec.structs.replace(again, key=host_of(url).encode(), value=encode_payload(job))

"""Rules about variables: names that nobody reads, and settings that do nothing as the others are."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from issuetracker_dagster.model.finding import Finding, ok, warn
from issuetracker_dagster.model.stage import QUEUED_STAGES
from issuetracker_dagster.settings.load import Settings, variables

_SHARED_PREFIXES = frozenset({"LOG_"})
"""Too much of it belongs to others."""
_OTHERS = frozenset(
    {"KAFKA_HOME", "KAFKA_OPTS", "KAFKA_HEAP_OPTS", "KAFKA_LOG4J_OPTS", "KAFKA_JVM_PERFORMANCE_OPTS", "REDIS_CLI_AUTH"}
    | {"REDISCLI_AUTH", "ISSUETRACKER_DEV_FAMILY"}
)
"""Read by programs beside ours, or set by us for ourselves."""
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(\S?)")


def names_given(environment: Mapping[str, str], env_file: Path) -> set[str]:
    """The variables that have a value in the environment or in that file, in capitals."""
    given = {name.upper() for name, value in environment.items() if value}
    try:
        lines = env_file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return given
    matches = [found for line in lines if (found := _LINE.match(line)) and found[2] not in ("", "#")]
    return given | {found[1].upper() for found in matches}


def name_findings(given: Collection[str], settings: Settings) -> Iterator[Finding]:
    """What is to say of the names that have a value."""
    known = {name for name, _, _ in variables()}
    own_prefixes = {_prefix(name) for name in known} - _SHARED_PREFIXES
    unread = sorted(
        name for name in given if _prefix(name) in own_prefixes and name not in known and name not in _OTHERS
    )
    for name in unread:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
        fix = f"did you mean {near[0]}?" if near else "remove it; `issuetracker settings` lists all there are"
        yield warn("settings.unknown", f"{name} is set, and nothing reads a variable of that name", fix)
    idle = list(_idle(known.intersection(given), settings))
    yield from idle
    if not unread and not idle:
        yield ok("settings.unknown", "every variable of our prefixes that is set has a reader and an effect")


def _prefix(name: str) -> str:
    return f"{name.partition('_')[0]}_"


def _idle(given: Collection[str], settings: Settings) -> Iterator[Finding]:
    for name in sorted(given):
        reason = _without_effect(name, settings)
        if reason:
            yield warn("settings.idle", f"{name} is set and does nothing: {reason}", "set both, or neither")


def _without_effect(name: str, settings: Settings) -> str:
    kafka = settings.kafka
    if name.startswith("KAFKA_SASL_") and not kafka.security_protocol.startswith("SASL"):
        return f"KAFKA_SECURITY_PROTOCOL is {kafka.security_protocol}"
    if name.startswith("KAFKA_SSL_") and not kafka.security_protocol.endswith("SSL"):
        return f"KAFKA_SECURITY_PROTOCOL is {kafka.security_protocol}"
    if name in ("KAFKA_SECURITY_PROTOCOL", "REDIS_CLUSTER"):
        address, is_set = ("KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrap_servers) if name.startswith("KAFKA") else (
            "REDIS_URL", settings.redis.url.get_secret_value()
        )  # fmt: skip
        return "" if is_set else f"{address} is empty, so the embedded server is used"
    if name.startswith("ENRICH_LLM_") and name != "ENRICH_LLM_BASE_URL" and not settings.language_model.base_url:
        return "ENRICH_LLM_BASE_URL is empty, so enrich works without a language model"
    for stage in QUEUED_STAGES:
        prefix, queue = stage.value.upper(), settings.queue(stage.value)
        if name == f"{prefix}_ZSET_MAX_WAIT_SHARE" and not queue.zset_max_wait:
            return f"{prefix}_ZSET_MAX_WAIT is 0, so nobody gets that share"
        if name.startswith(f"{prefix}_ZSET_") and queue.priority_queue_enabled is False:
            return f"{prefix}_PRIORITY_QUEUE_ENABLED is false, so there is no queue"
    if (
        name.startswith("PUBLISHER_REDIS_BUFFER_")
        and name != "PUBLISHER_REDIS_BUFFER_ENABLED"
        and settings.publish.publisher_redis_buffer_enabled is False
    ):
        return "PUBLISHER_REDIS_BUFFER_ENABLED is false, so nothing is buffered"
    return ""

"""Asks each server for its facts; one that can't be reached is a finding, and the others are asked all the same."""

import logging
from collections.abc import Callable, Iterator

from issuetracker_dagster.adapters.clock import SystemClock
from issuetracker_dagster.adapters.kafka.cluster_facts import cluster_facts
from issuetracker_dagster.adapters.redis.client import connect
from issuetracker_dagster.adapters.redis.server_facts import redis_facts
from issuetracker_dagster.adapters.sql.server_facts import database_facts
from issuetracker_dagster.errors import IssueTrackerError
from issuetracker_dagster.model.finding import Finding, fail
from issuetracker_dagster.model.trace import action
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.checkup.database import database_findings
from issuetracker_dagster.wiring.checkup.kafka import kafka_findings
from issuetracker_dagster.wiring.checkup.redis import redis_findings
from issuetracker_dagster.wiring.endpoints import endpoints, kafka_connection

logger = logging.getLogger(__name__)

_NOWHERE = "start the embedded one by `issuetracker up`, or set {variable}"


def server_findings(settings: Settings) -> Iterator[Finding]:
    """The findings about Kafka, Redis and the database, in that order."""
    yield from _asked("kafka.reachable", "KAFKA_BOOTSTRAP_SERVERS", lambda: _kafka(settings))
    yield from _asked("redis.reachable", "REDIS_URL", lambda: _redis(settings))
    yield from _asked("database.reachable", "DATABASE_URL", lambda: _database(settings))


def _asked(rule: str, variable: str, ask: Callable[[], list[Finding] | None]) -> list[Finding]:
    try:
        found = ask()
    except IssueTrackerError as error:
        return [fail(rule, str(error), f"start it, or mend {variable}")]
    except Exception as error:
        # Servers that only speak the protocol say less of themselves. What such an error says may hold a password.
        logger.debug("a bug in a checkup", exc_info=True, extra=action("telemetry.bug"))
        said = f"what it says of itself isn't understood ({type(error).__name__})"
        return [fail(rule, said, "`issuetracker --verbose doctor` shows where; this kind of server isn't supported")]
    if found is None:
        return [fail(rule, "it isn't configured, and no embedded one runs", _NOWHERE.format(variable=variable))]
    return found


def _kafka(settings: Settings) -> list[Finding] | None:
    bootstrap = endpoints(settings).kafka
    if not bootstrap:
        return None
    return list(kafka_findings(cluster_facts(kafka_connection(settings, bootstrap)), settings))


def _redis(settings: Settings) -> list[Finding] | None:
    url = endpoints(settings).redis
    if not url:
        return None
    client = connect(url, cluster=settings.redis.cluster)
    try:
        facts = redis_facts(client)
        now_ms = SystemClock().now_ms()
        return [finding for one in facts for finding in redis_findings(one, settings, now_ms, len(facts))]
    finally:
        client.close()


def _database(settings: Settings) -> list[Finding] | None:
    return list(database_findings(database_facts(endpoints(settings).database), settings))

"""Where Kafka, Redis and SQL are: the settings say, or else the embedded services that run in the home folder."""

import json
from pathlib import Path
from typing import Any

import msgspec

from issuetracker_dagster.adapters.kafka.connection import KafkaConnection
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.settings.load import Settings

LOOPBACK = "127.0.0.1"


class Endpoints(msgspec.Struct, frozen=True):
    """Addresses; empty where there is none. The repr leaves them out, since URLs may hold passwords."""

    kafka: str
    redis: str
    database: str

    def __repr__(self) -> str:
        return "Endpoints(…)"


def endpoints(settings: Settings) -> Endpoints:
    """The addresses of the moment; embedded services are looked up anew each time."""
    home = settings.home
    embedded = _embedded_ports(home)
    return Endpoints(
        kafka=settings.kafka.bootstrap_servers or _address(embedded, "kafka"),
        redis=settings.redis.url.get_secret_value() or _address(embedded, "valkey", "redis://", "/0"),
        database=settings.general.database_url.get_secret_value() or f"sqlite:///{home / 'issuetracker.db'}",
    )


def missing(found: Endpoints) -> Unavailable:
    """The error for a process that has nowhere to go."""
    absent = [name for name, address in (("Kafka", found.kafka), ("Redis", found.redis)) if not address]
    are_not = "isn't" if len(absent) == 1 else "aren't"
    return Unavailable(
        f"{' and '.join(absent)} {are_not} configured and no embedded one runs: set KAFKA_BOOTSTRAP_SERVERS and "
        "REDIS_URL, or run `issuetracker up` (or start with `issuetracker dev`)"
    )


def kafka_connection(settings: Settings, bootstrap: str) -> KafkaConnection:
    """How to reach Kafka, in the client's own option names."""
    kafka = settings.kafka
    options: dict[str, Any] = {"security_protocol": kafka.security_protocol}
    if kafka.security_protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": kafka.sasl_mechanism,
            "sasl_plain_username": kafka.sasl_plain_username,
            "sasl_plain_password": kafka.sasl_plain_password.get_secret_value(),
        }
    if kafka.security_protocol.endswith("SSL"):
        options |= {
            "ssl_cafile": kafka.ssl_cafile or None,
            "ssl_certfile": kafka.ssl_certfile or None,
            "ssl_keyfile": kafka.ssl_keyfile or None,
            "ssl_password": kafka.ssl_password.get_secret_value() or None,
            "ssl_check_hostname": kafka.ssl_check_hostname,
        }
    return KafkaConnection(bootstrap, kafka.topic_prefix, options)


def _embedded_ports(home: Path) -> dict[str, int]:
    try:
        services = json.loads((home / "run" / "services.json").read_text())["services"]
        return {name: int(service["ports"][0]) for name, service in services.items()}
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}  # none were ever started here, or the file is being replaced: the same as none


def _address(ports: dict[str, int], name: str, prefix: str = "", suffix: str = "") -> str:
    return f"{prefix}{LOOPBACK}:{ports[name]}{suffix}" if name in ports else ""

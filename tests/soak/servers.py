"""The servers of a soak: a real Kafka and a real Valkey, each behind a proxy on which anything can go wrong."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from issuetracker_dagster.adapters.redis.client import RedisClient, connect
from issuetracker_dagster.local.ports import LOOPBACK
from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring
from tests.faults.proxy import FaultProxy
from tests.journey.killable import Killable, killable_kafka, killable_valkey

LEASE_S = 20


@dataclass(frozen=True)
class Servers:
    """`through` are the settings of those who meet the faults, `past` of those who judge."""

    valkey: Killable
    kafka: Killable
    to_redis: FaultProxy
    to_kafka: FaultProxy
    redis: RedisClient
    through: Mapping[str, str]
    past: Wiring
    publisher: Wiring


@contextmanager
def running_servers(folder: Path) -> Iterator[Servers]:
    """Both servers, gone with the block. The demo's home is `<folder>/home`."""
    with ExitStack() as stack:
        valkey = stack.enter_context(killable_valkey(folder / "valkey"))
        kafka = stack.enter_context(killable_kafka(folder / "kafka"))
        to_redis = stack.enter_context(FaultProxy(_port(valkey.address.removesuffix("/0"))))
        to_kafka = stack.enter_context(FaultProxy(_port(kafka.address), advertised=True))
        home = folder / "home"
        own = {
            "ISSUETRACKER_HOME": str(home),
            "DATABASE_URL": f"sqlite:///{home / 'issuetracker.db'}",
            "METRICS_ADDR": "off",
            **{f"{stage}_ZSET_LEASE": f"{LEASE_S}s" for stage in ("PARSER", "VALIDATE", "ENRICH")},
        }
        through = {
            **own,
            "REDIS_URL": f"redis://{LOOPBACK}:{to_redis.port}/0",
            "KAFKA_BOOTSTRAP_SERVERS": f"{LOOPBACK}:{to_kafka.port}",
        }
        past = {**own, "REDIS_URL": valkey.address, "KAFKA_BOOTSTRAP_SERVERS": kafka.address}
        yield Servers(
            valkey=valkey,
            kafka=kafka,
            to_redis=to_redis,
            to_kafka=to_kafka,
            redis=connect(valkey.address),
            through=through,
            past=_wiring(past, folder / "past.env", stack),
            publisher=_wiring(through, folder / "through.env", stack),
        )


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _wiring(environment: Mapping[str, str], file: Path, stack: ExitStack) -> Wiring:
    file.write_text("".join(f"{name}={value}\n" for name, value in environment.items()))
    wiring = Wiring(Settings(env_file=file))
    stack.callback(wiring.close)
    return wiring

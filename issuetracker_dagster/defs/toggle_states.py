"""The toggles of all sensors and schedules as Dagster's storage has them, for commands outside Dagster.

Live runs and ticks read theirs through `flags`, which knows the code location; here a name is all there is.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import dagster as dg

from issuetracker_dagster.errors import Unavailable


def dagster_home(home: Path) -> Path | None:
    """The folder of Dagster's instance: DAGSTER_HOME, else that of `issuetracker dev` in `home`, else None."""
    named = os.environ.get("DAGSTER_HOME", "")
    folder = Path(named) if named else home / "dagster"
    return folder if (folder / "dagster.yaml").is_file() else None


def toggle_states(folder: Path) -> Mapping[str, bool]:
    """Whether each sensor and schedule that somebody has toggled is on; those that nobody has are left out.

    Of one name in several code locations, on counts. Raises `Unavailable` when the storage can't be read.
    """
    try:
        with dg.DagsterInstance.from_config(str(folder)) as instance:
            states = instance.all_instigator_state()
    except Exception as error:  # its storages say in many ways that they are out
        raise Unavailable(f"Dagster's storage in {folder} (DAGSTER_HOME) can't be read: {error}") from error
    found: dict[str, bool] = {}
    for state in states:
        if state.status.value != "DECLARED_IN_CODE":
            found[state.name] = found.get(state.name, False) or state.status.value == "RUNNING"
    return found

"""Which stages an operator has switched off by their toggle, for `top`: a stage without workers may be meant."""

import time
from collections.abc import Mapping
from pathlib import Path

from msgspec.structs import replace

from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.model.overview import Overview, StageView

LOOK_S = 5.0
"""How old what is known of toggles may get."""


class SwitchedOff:
    """The toggles of `*_workers` in the Dagster of a home, asked for only while workers are missing."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._looked_at = float("-inf")
        self._toggles: Mapping[str, bool] = {}

    def marked(self, overview: Overview) -> Overview:
        """The overview, with what is known of the toggles of stages that miss workers."""
        if not any(stage.workers.are_missing for stage in overview.stages):
            return overview
        if time.monotonic() - self._looked_at > LOOK_S:
            self._toggles = self._read()
            self._looked_at = time.monotonic()
        return replace(overview, stages=tuple(map(self._of, overview.stages)))

    def _of(self, stage: StageView) -> StageView:
        is_on = self._toggles.get(f"{stage.stage}_workers")
        if is_on is None or not stage.workers.are_missing:
            return stage
        return replace(stage, workers=replace(stage.workers, is_off=not is_on))

    def _read(self) -> Mapping[str, bool]:
        # Dagster takes seconds to import.
        from issuetracker_dagster.defs.toggle_states import dagster_home, toggle_states

        folder = dagster_home(self._home)
        try:
            return toggle_states(folder) if folder else {}
        except Unavailable:
            return {}

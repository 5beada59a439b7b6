"""What living worker runs tell about themselves in their signs of life."""

from collections import Counter

from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.wiring.parts import Wiring


def modes_of_workers(wiring: Wiring, stage: Stage) -> Counter[str]:
    """How many living worker runs of a stage tell which mode; raises `Unavailable`."""
    now_ms, dead_after_ms = wiring.heartbeats.now_ms(), wiring.settings.shift.worker_dead_after
    living = (beat for beat in wiring.heartbeats.alive(stage.value) if now_ms - beat.at_ms <= dead_after_ms)
    return Counter(beat.info.get("mode", "") for beat in living)

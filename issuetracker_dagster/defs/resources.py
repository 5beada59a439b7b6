"""The parts of this process: settings read once, connections opened when first needed."""

import threading

import dagster as dg

from issuetracker_dagster.settings.load import Settings
from issuetracker_dagster.wiring.parts import Wiring

_lock = threading.Lock()
_shared: dict[str, Wiring] = {}


class Parts(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Hands out the wiring of this process. Sensor ticks share it, so that consumers and connections stay open."""

    def wiring(self) -> Wiring:
        """The one wiring of this process; raises `ConfigError` when a setting is wrong."""
        with _lock:
            if "wiring" not in _shared:
                _shared["wiring"] = Wiring(Settings())
            return _shared["wiring"]

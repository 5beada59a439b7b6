"""Toggles of sensors, moved by Dagster's own means in a storage of the test's."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.load_target import ModuleTarget

Switch = Callable[[str, bool], None]


@contextmanager
def switches(folder: Path) -> Iterator[Switch]:
    """Yields what switches a sensor of our code location, as a click in the UI does, in Dagster's `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dagster.yaml").write_text("telemetry:\n  enabled: false\n")
    target = ModuleTarget("issuetracker_dagster.definitions", None, None, "issuetracker")
    with (
        dg.DagsterInstance.from_config(str(folder)) as instance,
        create_test_daemon_workspace_context(target, instance) as workspace,
    ):
        location = workspace.create_request_context().get_code_location("issuetracker")
        sensors = {sensor.name: sensor for sensor in location.get_repository("__repository__").get_sensors()}

        def switch(name: str, on: bool) -> None:
            sensor = sensors[name]
            if on:
                instance.start_sensor(sensor)
            else:
                instance.stop_sensor(sensor.get_remote_origin_id(), sensor.selector_id, sensor)

        yield switch

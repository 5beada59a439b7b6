"""Looking into a code location the way the tests of this folder do."""

from typing import Any

import dagster as dg
from dagster._core.definitions.sensor_definition import SensorExecutionData


def sensors(defs: dg.Definitions) -> dict[str, dg.SensorDefinition]:
    """The sensors of a code location by name."""
    return {sensor.name: sensor for sensor in defs.get_repository_def().sensor_defs}


def ticked(defs: dg.Definitions, name: str, instance: dg.DagsterInstance) -> SensorExecutionData:
    """What one tick of a sensor comes to, with the resources of its location."""
    resources: dict[str, Any] = dict(defs.resources or {})
    with dg.build_sensor_context(instance=instance, resources=resources, sensor_name=name) as context:
        return sensors(defs)[name].evaluate_tick(context)

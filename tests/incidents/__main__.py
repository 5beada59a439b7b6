"""`make incidents`: runs them one after the other on a demo of its own and prints docs/incidents.md."""

import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.incidents.incidents import INCIDENTS, Incident
from tests.incidents.scene import SETTINGS, Scene, running_scene
from tests.journey.dagster_ui import CheckResult
from tests.waiting import eventually

TURNS_WITHIN_S = 600
_HEAD = """# Incidents

Five incidents on a running demo, as `make incidents` saw them: which check turned, after how long, what it said.
The [operating guide](operating.md#checks) has all checks. Seconds count from when it happened, a layout from the
publishing of its first pages; `health_probe` looks every half minute."""


@dataclass(frozen=True)
class Seen:
    """How one incident went."""

    incident: Incident
    turned_after_s: float
    said: CheckResult
    well_after_s: float


def main() -> None:
    """The page on standard output, progress on standard error."""
    with tempfile.TemporaryDirectory() as folder, running_scene(Path(folder)) as scene:
        _tell("waiting for contents and for the first look of each check")
        eventually(lambda: scene.demo.counts().get("contents.enriched"), timeout_s=300, interval_s=1)
        for incident in INCIDENTS:
            eventually(lambda: _check(scene, incident), timeout_s=300, interval_s=1)  # noqa: B023
        seen = [_gone_through(scene, incident) for incident in INCIDENTS]
    print("\n".join(_page(seen)))


def _gone_through(scene: Scene, incident: Incident) -> Seen:
    _tell(incident.name)
    began = time.monotonic()
    incident.happen(scene)
    if incident.check == "rules_match":
        began = time.monotonic()  # the pages before the change are no part of it
    eventually(lambda: _fails(scene, incident), timeout_s=TURNS_WITHIN_S, interval_s=1)
    turned_after_s = time.monotonic() - began
    said = _check(scene, incident)
    assert said is not None
    _tell(f"  {said.severity} after {turned_after_s:.0f} s: {said.text}")
    began = time.monotonic()
    incident.mend(scene)
    eventually(lambda: not _fails(scene, incident), timeout_s=TURNS_WITHIN_S, interval_s=1)
    _tell(f"  well {time.monotonic() - began:.0f} s after it was mended")
    return Seen(incident, turned_after_s, said, time.monotonic() - began)


def _check(scene: Scene, incident: Incident) -> CheckResult | None:
    return scene.demo.ui.checks(*incident.asset.split("/")).get(incident.check)


def _fails(scene: Scene, incident: Incident) -> bool:
    found = _check(scene, incident)
    return found is not None and not found.passed


def _page(seen: list[Seen]) -> Iterator[str]:
    yield _HEAD
    settings = ", ".join(f"`{name}={value}`" for name, value in SETTINGS.items() if name.startswith("CHECK"))
    yield f"Everything is at its default but {settings}."
    yield ""
    yield "| incident | asset, check | turned | after | mended by | well again after |"
    yield "|---|---|---|---|---|---|"
    for one in seen:
        colour = "red" if one.said.severity == "ERROR" else "yellow"
        incident = one.incident
        yield (
            f"| {incident.name} | `{incident.asset}`, `{incident.check}` | {colour} | {one.turned_after_s:.0f} s "
            f"| {incident.mended_by} | {one.well_after_s:.0f} s |"
        )
    for one in seen:
        yield ""
        yield f"**{one.incident.name[0].upper()}{one.incident.name[1:]}**:"
        yield ""
        yield f"> {one.said.text}"


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()

"""The Dagster UI as an operator uses it: by its GraphQL, which is what its pages and toggles call."""

import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from tests.waiting import stays

LOCATION = {"repositoryLocationName": "issuetracker", "repositoryName": "__repository__"}


@dataclass(frozen=True)
class CheckResult:
    """What a check said last."""

    passed: bool
    severity: str
    text: str


class DagsterUi:
    """A running webserver."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def is_up(self) -> bool:
        """Whether it answers and has loaded the code location."""
        try:
            return bool(self.sensors())
        except (OSError, KeyError, urllib.error.URLError):
            return False

    def ask(self, query: str, **variables: object) -> Any:
        """The data of a GraphQL answer; raises AssertionError with what the server said is wrong."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=300) as answer:  # noqa: S310
            found = json.load(answer)
        assert "errors" not in found, found["errors"]
        return found["data"]

    def sensors(self) -> dict[str, dict[str, str]]:
        """Each sensor's state by its name."""
        query = """query ($location: RepositorySelector!) { sensorsOrError(repositorySelector: $location) {
            ... on Sensors { results { name sensorState { id status selectorId } } } } }"""
        found = self.ask(query, location=LOCATION)["sensorsOrError"]["results"]
        return {sensor["name"]: sensor["sensorState"] for sensor in found}

    def switch(self, sensor: str, *, on: bool) -> None:
        """Move a sensor's toggle, and look whether it stays there.

        Dagster writes a sensor's whole state when a tick begins or ends. A toggle moved between its reading and its
        writing jumps back; an operator sees that and moves it again.
        """
        for _ in range(3):
            self._move(sensor, on=on)
            if stays(lambda: (self.sensors()[sensor]["status"] == "RUNNING") is on, for_s=3):
                return
        raise AssertionError(f"the toggle of {sensor} doesn't stay {'on' if on else 'off'}")

    def switch_schedule(self, schedule: str, *, on: bool) -> None:
        """Move a schedule's toggle."""
        if on:
            query = "mutation ($one: ScheduleSelector!) { startSchedule(scheduleSelector: $one) { __typename } }"
            self.ask(query, one={**LOCATION, "scheduleName": schedule})
        else:
            query = "mutation ($id: String!) { stopRunningSchedule(id: $id) { __typename } }"
            self.ask(query, id=self.schedules()[schedule]["id"])

    def schedules(self) -> dict[str, dict[str, str]]:
        """Each schedule's state by its name."""
        query = """query ($location: RepositorySelector!) { schedulesOrError(repositorySelector: $location) {
            ... on Schedules { results { name scheduleState { id status selectorId } } } } }"""
        found = self.ask(query, location=LOCATION)["schedulesOrError"]["results"]
        return {schedule["name"]: schedule["scheduleState"] for schedule in found}

    def reload(self) -> None:
        """Reload the code location."""
        query = "mutation ($name: String!) { reloadRepositoryLocation(repositoryLocationName: $name) { __typename } }"
        self.ask(query, name=LOCATION["repositoryLocationName"])

    def terminate(self, run_id: str) -> None:
        """Ask a run to end, as the button does."""
        query = "mutation ($id: String!) { terminateRun(runId: $id) { __typename } }"
        self.ask(query, id=run_id)

    def launch(self, job: str) -> str:
        """Start a run of a job without any config or tag of its own; returns its id."""
        query = """mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) {
            __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
        asked = self.ask(query, params={"selector": {**LOCATION, "jobName": job}, "mode": "default"})["launchRun"]
        assert "run" in asked, asked
        return str(asked["run"]["runId"])

    def _move(self, sensor: str, *, on: bool) -> None:
        if on:
            query = "mutation ($one: SensorSelector!) { startSensor(sensorSelector: $one) { __typename } }"
            self.ask(query, one={**LOCATION, "sensorName": sensor})
        else:
            query = "mutation ($id: String!) { stopSensor(id: $id) { __typename } }"
            self.ask(query, id=self.sensors()[sensor]["id"])

    def asset_keys(self) -> set[str]:
        """Every asset, its path joined by slashes."""
        query = "{ assetNodes { assetKey { path } } }"
        return {"/".join(node["assetKey"]["path"]) for node in self.ask(query)["assetNodes"]}

    def checks(self, *path: str) -> dict[str, CheckResult]:
        """What each check of an asset said last; those never evaluated are left out."""
        query = """query ($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
            assetChecksOrError { ... on AssetChecks { checks { name
                executionForLatestMaterialization { status evaluation { severity description } } } } } } } }"""
        checks = self.ask(query, key={"path": list(path)})["assetNodeOrError"]["assetChecksOrError"]["checks"]
        return {
            check["name"]: CheckResult(found["status"] == "SUCCEEDED", said["severity"], said["description"] or "")
            for check in checks
            if (found := check["executionForLatestMaterialization"]) and (said := found["evaluation"])
        }

    def check_results(self, *path: str) -> dict[str, bool]:
        """Whether each check of an asset passed the last time; those never evaluated are left out."""
        return {name: check.passed for name, check in self.checks(*path).items()}

    def runs_at_work(self) -> dict[str, str]:
        """Started runs: job name by run id."""
        query = """{ runsOrError(filter: {statuses: [STARTED]}) { ... on Runs { results { runId jobName } } } }"""
        return {run["runId"]: run["jobName"] for run in self.ask(query)["runsOrError"]["results"]}

    def run_status(self, run_id: str) -> str:
        """`SUCCESS`, `STARTED` and so on; empty for a run that isn't there."""
        query = "query ($id: ID!) { runOrError(runId: $id) { ... on Run { status } } }"
        return str(self.ask(query, id=run_id)["runOrError"].get("status", ""))

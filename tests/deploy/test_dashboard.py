"""The dashboard: what its module makes, readable by Grafana 10, with every metric of the system on it."""

import json

from deploy.grafana.dashboard import STAGES, made
from issuetracker_dagster.model.metrics import METRICS
from issuetracker_dagster.model.stage import Stage
from tests.deploy.expressions import DASHBOARD, metrics_in, panels, shown, unknown_in

CORE = {"row", "stat", "timeseries", "heatmap"}
"""Panels that come with every Grafana from 10 on, without a plug-in."""


def test_the_file_is_what_its_module_makes() -> None:
    written = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    assert written == made(), "python -m deploy.grafana.dashboard > deploy/grafana/issuetracker.json"


def test_it_names_only_metrics_and_labels_that_are_there() -> None:
    assert {title: wrong for title, expr in shown() if (wrong := unknown_in(expr, set()))} == {}


def test_every_metric_has_a_panel() -> None:
    assert {name for _, expr in shown() for name in metrics_in(expr)} == set(METRICS)


def test_panels_have_a_number_and_a_place_of_their_own() -> None:
    found = panels()
    assert len({panel["id"] for panel in found}) == len(found)
    assert {panel["type"] for panel in found} <= CORE
    taken: set[tuple[int, int]] = set()
    for panel in found:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert max(x for x, _ in cells) < 24
        assert not taken & cells, panel["title"]
        taken |= cells


def test_panels_explain_themselves_and_ask_the_chosen_data_source() -> None:
    variables = {one["name"] for one in json.loads(DASHBOARD.read_text(encoding="utf-8"))["templating"]["list"]}
    assert variables == {"datasource", "stage"}
    for panel in panels():
        if panel["type"] == "row":
            continue
        assert panel["description"]
        sources = [panel["datasource"], *(target["datasource"] for target in panel["targets"])]
        assert all(source == {"type": "prometheus", "uid": "${datasource}"} for source in sources)
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)


def test_the_stages_are_ours() -> None:
    assert tuple(Stage) == STAGES

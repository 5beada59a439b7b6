"""Panels of a Grafana dashboard (10 or later) as JSON objects, and their places in its grid of 24 columns.

Nothing here knows our metrics. Every panel asks the data source that the variable `datasource` names.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

Json = dict[str, Any]
COLUMNS = 24
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
BY_PRIORITY = {"high": "red", "normal": "blue", "low": "green"}


class Query(msgspec.Struct, frozen=True):
    """An expression in PromQL, and how its series are named (`{{label}}` is replaced)."""

    expr: str
    legend: str = ""
    is_heatmap: bool = False

    def target(self, number: int) -> Json:
        """As a panel has it; `number` counts the queries of the panel from 0."""
        return {
            "datasource": DATASOURCE,
            "editorMode": "code",
            "expr": self.expr,
            "format": "heatmap" if self.is_heatmap else "time_series",
            "legendFormat": self.legend or "__auto",
            "range": True,
            "refId": chr(ord("A") + number),
        }


class Panel(msgspec.Struct, frozen=True):
    """One panel. `unit` is Grafana's name of it, `alarms` are (from this value on, colour), `more` what only its kind
    has."""

    title: str
    kind: str
    queries: Sequence[Query]
    meaning: str
    unit: str = "short"
    alarms: Sequence[tuple[float, str]] = ()
    width: int = 8
    height: int = 8
    stacked: bool = False
    options: Mapping[str, Any] = {}

    def at(self, number: int, x: int, y: int) -> Json:
        """The panel at a place of the grid; `number` is unique in its dashboard."""
        return {
            "id": number,
            "type": self.kind,
            "title": self.title,
            "description": self.meaning,
            "datasource": DATASOURCE,
            "gridPos": {"x": x, "y": y, "w": self.width, "h": self.height},
            "targets": [query.target(index) for index, query in enumerate(self.queries)],
            "fieldConfig": {"defaults": self._defaults(), "overrides": _colours()},
            "options": dict(self.options),
        }

    def _defaults(self) -> Json:
        steps = [{"color": "green", "value": None}, *({"color": color, "value": value} for value, color in self.alarms)]
        defaults: Json = {"unit": self.unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}}
        if self.kind == "timeseries":
            defaults["custom"] = {
                "drawStyle": "line",
                "fillOpacity": 30 if self.stacked else 5,
                "lineWidth": 1,
                "showPoints": "never",
                "stacking": {"mode": "normal" if self.stacked else "none", "group": "A"},
                "thresholdsStyle": {"mode": "dashed" if self.alarms else "off"},
            }
        if self.kind == "stat":
            defaults["color"] = {"mode": "thresholds"}
        return defaults


def graph(title: str, meaning: str, *queries: Query, unit: str = "short", **more: Any) -> Panel:
    """Lines over time, with the latest values under them."""
    options = {
        "legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"], "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return Panel(title, "timeseries", queries, meaning, unit=unit, options=options, **more)


def stat(title: str, meaning: str, *queries: Query, unit: str = "short", **more: Any) -> Panel:
    """The value of the moment, large, with its course behind it."""
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "graphMode": "area",
        "colorMode": "value",
        "textMode": "value_and_name" if any(query.legend for query in queries) else "value",
    }
    return Panel(title, "stat", queries, meaning, unit=unit, options=options, **{"width": 3, "height": 5, **more})


def heatmap(title: str, meaning: str, expr: str, **more: Any) -> Panel:
    """The buckets of a histogram over time, from an expression that sums them by `le`."""
    options = {
        "calculate": False,
        "cellGap": 1,
        "color": {"mode": "scheme", "scheme": "Oranges", "steps": 64},
        "filterValues": {"le": 1e-9},
        "rowsFrame": {"layout": "auto"},
        "tooltip": {"show": True, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "unit": "s"},
    }
    return Panel(title, "heatmap", [Query(expr, "{{le}}", is_heatmap=True)], meaning, unit="s", options=options, **more)


def dashboard(
    uid: str, title: str, meaning: str, variables: Sequence[Json], rows: Mapping[str, Iterable[Panel]]
) -> Json:
    """Titled rows of panels from left to right; a row goes on below where its panels don't fit beside each other."""
    return {
        "uid": uid,
        "title": title,
        "description": meaning,
        "tags": [uid],
        "schemaVersion": 38,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": list(variables)},
        "annotations": {"list": []},
        "links": [],
        "panels": _laid_out(rows),
    }


def _laid_out(rows: Mapping[str, Iterable[Panel]]) -> list[Json]:
    made: list[Json] = []
    y = 0
    for title, panels in rows.items():
        place = {"x": 0, "y": y, "w": COLUMNS, "h": 1}
        made.append(
            {"id": len(made) + 1, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}
        )
        x, y, tallest = 0, y + 1, 0
        for panel in panels:
            if x + panel.width > COLUMNS:
                x, y, tallest = 0, y + tallest, 0
            made.append(panel.at(len(made) + 1, x, y))
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest
    return made


def _colours() -> list[Json]:
    """A priority has one colour wherever a series ends with its name."""
    return [
        {
            "matcher": {"id": "byRegexp", "options": f"/\\b{priority}$/"},
            "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": color}}],
        }
        for priority, color in BY_PRIORITY.items()
    ]

"""The alerts: promtool is content, each fires on its incident, and each says what to do."""

import re

import click
import pytest

from issuetracker_dagster.cli.main import cli
from issuetracker_dagster.flow.settle import Deferred, Kept, Later
from issuetracker_dagster.model.metrics import COMES_AGAIN
from issuetracker_dagster.model.stage import FACTS
from issuetracker_dagster.settings.kinds import duration_ms, durations_by_band
from issuetracker_dagster.settings.load import variables
from tests.deploy.expressions import ROOT, alerts, metrics_in, read_yaml, rules, shown, sums_in, unknown_in
from tests.deploy.monitoring import promtool

DEFAULTS = {name: default for name, default, _ in variables()}
RECORDED = {rule["record"]: rule["expr"] for rule in rules() if "record" in rule}
INCIDENTS = read_yaml("alerts_test.yml")["tests"]


def exprs(alert: str) -> dict[str, str]:
    """The expressions of an alert by severity."""
    return {rule["labels"]["severity"]: rule["expr"] for rule in alerts() if rule["alert"] == alert}


def limits(expr: str) -> list[float]:
    """What is compared with, without comparisons with 0 and 1."""
    return [float(number) for number in re.findall(r"[<>]=? ([\d.]+)", expr) if float(number) > 1]


def by_band(setting: str) -> list[float]:
    """The seconds of high, normal and low."""
    found = durations_by_band(DEFAULTS[setting])
    return [found[priority] / 1000 for priority in ("high", "normal", "low")]


def test_promtool_takes_the_configuration_and_its_rules() -> None:
    said = promtool("check", "config", "prometheus.yml")
    assert f"{len(rules())} rules found" in said
    assert "duplicate" not in promtool("check", "rules", "alerts.yml").lower()


def test_each_incident_fires_its_alerts_and_a_busy_day_none() -> None:
    assert "SUCCESS" in promtool("test", "rules", "alerts_test.yml")


def test_every_alert_and_severity_has_an_incident_that_fires_it() -> None:
    fired = {
        (found[1], severity[1])
        for incident in INCIDENTS
        for look in incident["promql_expr_test"]
        for sample in look["exp_samples"]
        if (found := re.search(r'alertname="(\w+)"', sample["labels"]))
        and (severity := re.search(r'severity="(\w+)"', sample["labels"]))
    }
    assert fired == {(rule["alert"], rule["labels"]["severity"]) for rule in alerts()}


def test_the_busy_day_shows_figures_of_every_metric_that_an_alert_judges() -> None:
    busy = INCIDENTS[0]
    assert all(look["exp_samples"] == [] for look in busy["promql_expr_test"])
    given = {name for one in busy["input_series"] for name in metrics_in(one["series"])}
    assert {name for rule in rules() for name in metrics_in(rule["expr"])} <= given


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule.get("alert", rule.get("record"))))
def test_rules_name_only_metrics_labels_and_sums_that_are_there(rule: dict[str, str]) -> None:
    assert unknown_in(rule["expr"], set(RECORDED)) == []


def test_every_sum_is_used() -> None:
    assert {name for rule in rules() for name in sums_in(rule["expr"])} == set(RECORDED)


@pytest.mark.parametrize("rule", alerts(), ids=lambda rule: f"{rule['alert']}-{rule['labels']['severity']}")
def test_an_alert_has_a_severity_a_patience_and_a_command_that_helps(rule: dict[str, dict[str, str]]) -> None:
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["for"]
    said = rule["annotations"]
    assert set(said) == {"summary", "description", "runbook"}
    assert re.search(r"`(issuetracker |\*_ZSET)|the sensor|the schedule", said["description"])
    page, _, anchor = said["runbook"].partition("#")
    headings = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    assert anchor in {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_commands_that_alerts_name_are_there_with_their_options() -> None:
    named = {
        re.sub(r"\{\{.*?\}\}", "some", command)
        for rule in alerts()
        for command in re.findall(r"`issuetracker ([^`]+)`", rule["annotations"]["description"])
    }
    assert "dlq list --stage some --newer-than 1h" in named
    context = click.Context(cli)
    for words in map(str.split, sorted(named)):
        command: click.Command | None = cli
        while isinstance(command, click.Group):
            command = command.get_command(context, words.pop(0))
        assert command is not None, words
        options = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= options


def test_what_comes_again_counts_neither_in_alerts_nor_on_the_dashboard_nor_in_the_guide_as_done() -> None:
    settled = f'outcome!~"{"|".join(COMES_AGAIN)}"'
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    shares = re.compile(r"/ sum by \(stage\) \(\w+\(issuetracker_handled_total(.*?)\[")
    asked = [
        shares.findall(text)
        for text in (*exprs("IssueTrackerShareDies").values(), page, *map(str, dict(shown()).values()))
    ]
    assert all(settled in selector for selectors in asked for selector in selectors)
    assert sum(map(len, asked)) == 4
    assert set(COMES_AGAIN) == {Later(0).kind, Deferred("", 0).kind, Kept().kind}


def test_limits_are_those_of_the_settings_at_their_defaults() -> None:
    size = {int(DEFAULTS[f"{stage}_ZSET_MAX_SIZE"]) for stage in ("PARSER", "VALIDATE", "ENRICH")}
    assert size == {int(DEFAULTS["PUBLISHER_REDIS_BUFFER_MAX_LEN"])}
    (limit,) = size
    assert {name: limits(expr) for name, expr in exprs("IssueTrackerQueueNearLimit").items()} == {
        "warning": [0.8 * limit],
        "critical": [0.95 * limit],
    }
    assert limits(exprs("IssueTrackerBufferNearLimit")["warning"]) == [0.8 * limit]
    waits = exprs("IssueTrackerMessagesWaitLong")
    assert (limits(waits["warning"]), limits(waits["critical"])) == (
        by_band("CHECK_AGE_WARN"),
        by_band("CHECK_AGE_ERROR"),
    )
    assert limits(exprs("IssueTrackerBufferWaitsLong")["warning"]) == by_band("CHECK_AGE_WARN")[1:]
    assert limits(exprs("IssueTrackerRetryBacklog")["warning"]) == [float(DEFAULTS["CHECK_RETRIES_WARN"])]
    target = float(DEFAULTS["PUBLISHER_REDIS_BUFFER_TARGET_BACKLOG"])
    assert limits(exprs("IssueTrackerBufferUndrained")["critical"]) == [target]
    interval = duration_ms(DEFAULTS["PRIORITY_RULES_REFRESH_INTERVAL"]) / 1000
    assert limits(exprs("IssueTrackerRulesStale")["warning"]) == [3 * interval + 120]


def test_the_lag_of_each_stage_is_that_of_its_group() -> None:
    found = {
        rule["labels"]["stage"]: re.findall(r'group="(.*?)"', rule["expr"])
        for rule in rules()
        if rule.get("record") == "stage:issuetracker_unread:sum"
    }
    assert found == {facts.stage.value: [facts.group] for facts in FACTS.values()}

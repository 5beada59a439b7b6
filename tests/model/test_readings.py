"""Metrics and their numbers: every name is described, totals add up, histograms survive other versions."""

from typing import get_args

import pytest

from issuetracker_dagster.model.metrics import METRICS, OTHER, Kind, MetricName
from issuetracker_dagster.model.readings import INFINITE, SUM, Cell, Histogram, Readings

PARSER_HIGH = Cell("issuetracker_claims_total", ("parser", "high"))
PARSER_LOW = Cell("issuetracker_claims_total", ("parser", "low"))
FETCH_HIGH = Cell("issuetracker_claims_total", ("fetch", "high"))
CLAIMS = Readings({PARSER_HIGH: 3, PARSER_LOW: 1, FETCH_HIGH: 5, Cell("issuetracker_acks_total", ("parser",)): 9})


def handler(part: str) -> Cell:
    return Cell("issuetracker_handler_seconds", ("parser",), part)


def test_every_metric_is_described_and_named_as_prometheus_wants_it() -> None:
    assert set(METRICS) == set(get_args(MetricName))
    for name, metric in METRICS.items():
        assert name.startswith("issuetracker_")
        assert metric.meaning
        assert name.endswith("_total") is (metric.kind is Kind.COUNTER)
        assert bool(metric.bounds) is (metric.kind is Kind.HISTOGRAM)
        assert name.endswith("_seconds") is (metric.unit == "seconds")
        assert list(metric.bounds) == sorted(set(metric.bounds))
        assert not metric.open or metric.open in metric.labels


def test_a_total_adds_up_what_isnt_asked_for() -> None:
    assert CLAIMS.total("issuetracker_claims_total") == 9
    assert CLAIMS.total("issuetracker_claims_total", stage="parser") == 4
    assert CLAIMS.total("issuetracker_claims_total", priority="high", stage="parser") == 3
    assert CLAIMS.total("issuetracker_claims_total", stage="enrich") == 0


def test_the_share_of_each_priority_is_a_question_away() -> None:
    assert CLAIMS.by("issuetracker_claims_total", "priority", stage="parser") == {"high": 3, "low": 1}


def test_a_label_that_doesnt_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="band"):
        CLAIMS.total("issuetracker_claims_total", band="high")


def test_what_grew_since_and_a_counter_that_started_anew() -> None:
    before = Readings({PARSER_HIGH: 1, PARSER_LOW: 7})
    grown = CLAIMS.since(before)
    assert grown.by("issuetracker_claims_total", "priority") == {"high": 7, "low": 1}


def test_a_histogram_over_all_labels_that_arent_asked_for() -> None:
    fetch = Cell("issuetracker_handler_seconds", ("fetch",), "0.25")
    readings = Readings({handler("0.1"): 3, handler(INFINITE): 1, handler(SUM): 400_500_000, fetch: 6})
    timed = readings.histogram("issuetracker_handler_seconds", stage="parser")
    assert (timed.count, timed.sum_s, timed.mean_s) == (4, 400.5, 100.125)
    assert readings.histogram("issuetracker_handler_seconds").count == 10


def test_buckets_of_another_version_count_as_the_next_larger_one() -> None:
    timed = Readings({handler("0.2"): 3, handler("1000"): 2}).histogram("issuetracker_handler_seconds")
    assert {bound: count for bound, count in timed.buckets.items() if count} == {0.25: 3, float("inf"): 2}


def test_percentiles() -> None:
    timed = Histogram({0.1: 50, 1.0: 45, 10.0: 4, float("inf"): 1})
    assert [timed.percentile_s(share) for share in (0.5, 0.95, 0.99, 1.0)] == [0.1, 1.0, 10.0, 10.0]
    assert Histogram({0.1: 0}).percentile_s(0.5) == 0.0


def test_beyond_the_bound_only_the_open_label_is_given_up() -> None:
    assert Cell("issuetracker_fetches_total", ("a.com", "http_404")).elsewhere().labels == (OTHER, "http_404")
    assert PARSER_HIGH.elsewhere() == PARSER_HIGH

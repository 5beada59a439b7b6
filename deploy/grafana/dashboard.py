"""The dashboard of the journey: `python -m deploy.grafana.dashboard > deploy/grafana/issuetracker.json`.

Its first row is the journey from left to right, the rows below it are the same stations in detail. A test holds the
file against this module, and asks a real Prometheus every expression.
"""

import json
import sys

from deploy.grafana.panels import Json, Panel, Query, dashboard, graph, heatmap, stat

STAGES = ("fetch", "parser", "validate", "enrich")
RATE = "[$__rate_interval]"
AT_STAGE = 'stage=~"$stage"'
SETTLED = 'outcome!~"deferred|came_back|kept"'
"""Without what comes again."""
WARN, ALARM = "orange", "red"


def _quantile(share: float, metric: str, selector: str, *by: str) -> str:
    labels = ", ".join((*by, "le"))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{selector}}}{RATE})))"


def _rate(metric: str, *by: str, where: str = "") -> str:
    selector = f"{{{where}}}" if where else ""
    return f"sum by ({', '.join(by)}) (rate({metric}{selector}{RATE}))"


def journey() -> list[Panel]:
    """One figure a station, in the order in which a message passes them."""
    dead = "sum(increase(issuetracker_dead_letters_total[1h])) or vector(0)"
    return [
        stat("Published", "Crawl jobs a second", Query("sum(rate(issuetracker_published_total[5m]))"), unit="ops"),
        stat("Buffer", "Jobs put aside until Kafka has room", Query("sum(issuetracker_buffer_backlog)"),
             alarms=[(80_000, WARN)]),
        stat("Unread in Kafka", "Messages of all topics but the DLQ",
             Query('sum(issuetracker_consumer_lag{topic!="dlq"})'), alarms=[(10_000, WARN), (100_000, ALARM)]),
        stat("Fetched", "Pages a second", Query("sum(rate(issuetracker_fetches_total[5m]))"), unit="ops"),
        stat("In queues", "Ready messages of parser, validate and enrich", Query("sum(issuetracker_queue_depth)"),
             alarms=[(80_000, WARN)]),
        stat("High waits", "95 % of high messages are taken within, at the slowest stage", Query(
             "max(histogram_quantile(0.95, sum by (stage, le) "
             '(rate(issuetracker_pop_latency_seconds_bucket{priority="high"}[5m]))))'),
             unit="s", alarms=[(60, WARN), (300, ALARM)]),
        stat("Enriched", "Messages a second at the end of the journey", Query(
             'sum(rate(issuetracker_handled_total{stage="enrich", outcome="forwarded"}[5m]))'), unit="ops"),
        stat("Dead, last hour", "Dead letters of all stages", Query(dead), alarms=[(100, WARN), (1_000, ALARM)]),
    ]  # fmt: skip


def servers_and_workers() -> list[Panel]:
    """Whether everything that is needed is there."""
    return [
        stat("Servers out", "0: it answers the exporter", Query("1 - min by (server) (issuetracker_up)", "{{server}}"),
             alarms=[(1, ALARM)], width=6),
        graph("Workers alive", "Shifts with signs of life, and how many the settings want", Query(
            f"max by (stage) (issuetracker_workers_alive{{{AT_STAGE}}})", "{{stage}}"), Query(
            f"max by (stage) (issuetracker_workers_wanted{{{AT_STAGE}}})", "{{stage}} wanted"), width=9, height=5),
        graph("Age of the rules", "Since the rule snapshot was last compared with the rules",
              Query("max(issuetracker_rules_age_seconds)", "age"), unit="s", alarms=[(1020, ALARM)], width=9, height=5),
    ]  # fmt: skip


def publish_and_buffer() -> list[Panel]:
    """From a job to its topic."""
    return [
        graph("Published", "First publishes, into Kafka or the buffer before it",
              Query(_rate("issuetracker_published_total", "priority"), "{{priority}}"), unit="ops", stacked=True),
        graph("Into the buffer and out of it", "In above out for long: the backlog grows",
              Query(_rate("issuetracker_buffered_total", "priority"), "in {{priority}}"),
              Query(_rate("issuetracker_drained_total", "priority"), "out {{priority}}"), unit="ops"),
        graph("Buffer backlog", "Jobs that wait for room in Kafka; `buffering` is 1 while publishers put jobs aside",
              Query("sum by (priority) (issuetracker_buffer_backlog)", "{{priority}}"),
              Query("max(issuetracker_buffering)", "buffering"), alarms=[(80_000, ALARM)]),
        graph("First in line waits", "Age of the oldest job in the buffer",
              Query("max by (priority) (issuetracker_buffer_oldest_age_seconds)", "{{priority}}"), unit="s"),
        graph("Time in the buffer", "Of the jobs that left it",
              Query(_quantile(0.5, "issuetracker_drain_dwell_seconds", "", "priority"), "p50 {{priority}}"),
              Query(_quantile(0.95, "issuetracker_drain_dwell_seconds", "", "priority"), "p95 {{priority}}"), unit="s"),
        graph("Unread in Kafka", "By topic and its group",
              Query("sum by (topic, group) (issuetracker_consumer_lag)", "{{topic}} ({{group}})")),
    ]  # fmt: skip


def fetch() -> list[Panel]:
    """The hosts."""
    failed = 'outcome!~"fetched|unchanged"'
    return [
        graph("Fetches by outcome", "All hosts",
              Query(_rate("issuetracker_fetches_total", "outcome"), "{{outcome}}"), unit="ops", stacked=True),
        graph("Busiest hosts", "The ten with most fetches",
              Query(f"topk(10, {_rate('issuetracker_fetches_total', 'host')})", "{{host}}"), unit="ops"),
        graph("Hosts that fail", "The ten with most failures",
              Query(f"topk(10, {_rate('issuetracker_fetches_total', 'host', where=failed)})", "{{host}}"), unit="ops"),
        graph("Jobs that wait for their host", "Its rate, `Retry-After`, robots.txt or a row of failures holds them",
              Query("sum(issuetracker_frontier_jobs)", "jobs")),
    ]  # fmt: skip


def queues() -> list[Panel]:
    """What waits in Redis for parser, validate and enrich, a panel a stage."""
    depth = [
        graph(f"Queue of {stage}", "Ready messages by priority", Query(
              f'sum by (priority) (issuetracker_queue_depth{{stage="{stage}"}})', "{{priority}}"), stacked=True)
        for stage in STAGES[1:]
    ]  # fmt: skip
    return [
        *depth,
        graph("Oldest message", "How long it has been ready",
              Query(f"max by (stage, priority) (issuetracker_queue_oldest_age_seconds{{{AT_STAGE}}})",
                    "{{stage}} {{priority}}"), unit="s"),
        graph("In hand, put off, given up", "Leased by workers; waiting for their time; on their way to the DLQ",
              Query(f"sum by (stage) (issuetracker_queue_leased{{{AT_STAGE}}})", "{{stage}} leased"),
              Query(f"sum by (stage) (issuetracker_queue_delayed{{{AT_STAGE}}})", "{{stage}} delayed"),
              Query(f"sum by (stage) (issuetracker_queue_outbox{{{AT_STAGE}}})", "{{stage}} outbox")),
        graph("Pushed", "By what the queue did with them; `evicted` made room",
              Query(_rate("issuetracker_queue_pushes_total", "stage", "outcome", where=AT_STAGE),
                    "{{stage}} {{outcome}}"),
              Query(_rate("issuetracker_evicted_total", "stage", where=AT_STAGE), "{{stage}} evicted"), unit="ops"),
    ]  # fmt: skip


def work() -> list[Panel]:
    """Who is taken, after how long, and what comes of it."""
    pops = "issuetracker_pop_latency_seconds"
    shares = [
        graph(f"Taken by {stage}", "Messages a second by priority: the share of each", Query(
              _rate("issuetracker_claims_total", "priority", where=f'stage="{stage}"'), "{{priority}}"),
              unit="ops", stacked=True, width=6)
        for stage in STAGES
    ]  # fmt: skip
    waits = [
        heatmap(f"{priority.capitalize()}: from arrival to claim", "Of the stages that are chosen above",
                f'sum by (le) (increase({pops}_bucket{{priority="{priority}", {AT_STAGE}}}{RATE}))')
        for priority in ("high", "normal", "low")
    ]  # fmt: skip
    return [
        *shares,
        *waits,
        graph("From arrival to claim, half of them", "Median",
              Query(_quantile(0.5, pops, AT_STAGE, "stage", "priority"), "{{stage}} {{priority}}"), unit="s"),
        graph("From arrival to claim, all but a few", "95 %",
              Query(_quantile(0.95, pops, AT_STAGE, "stage", "priority"), "{{stage}} {{priority}}"), unit="s"),
        graph("In the handler", "Without settling",
              Query(_quantile(0.5, "issuetracker_handler_seconds", AT_STAGE, "stage"), "p50 {{stage}}"),
              Query(_quantile(0.95, "issuetracker_handler_seconds", AT_STAGE, "stage"), "p95 {{stage}}"), unit="s"),
        graph("What comes of them", "Settled messages by outcome",
              Query(_rate("issuetracker_handled_total", "stage", "outcome", where=AT_STAGE),
                    "{{stage}} {{outcome}}"), unit="ops"),
        graph("Back to the queue", "Acknowledged; given back for later or at once; too late; lost by a worker",
              Query(_rate("issuetracker_acks_total", "stage", where=AT_STAGE), "{{stage}} acks"),
              Query(_rate("issuetracker_nacks_total", "stage", where=AT_STAGE), "{{stage}} nacks"),
              Query(_rate("issuetracker_releases_total", "stage", where=AT_STAGE), "{{stage}} releases"),
              Query(_rate("issuetracker_acks_refused_total", "stage", where=AT_STAGE), "{{stage}} acks refused"),
              Query(_rate("issuetracker_leases_expired_total", "stage", where=AT_STAGE), "{{stage}} leases expired"),
              unit="ops"),
        graph("From publish to enriched", "The whole journey",
              Query(_quantile(0.5, "issuetracker_publish_to_enriched_seconds", "", "priority"), "p50 {{priority}}"),
              Query(_quantile(0.95, "issuetracker_publish_to_enriched_seconds", "", "priority"), "p95 {{priority}}"),
              unit="s"),
    ]  # fmt: skip


def failures() -> list[Panel]:
    """What has to be tried again, and what died."""
    return [
        graph("Dead letters by reason", "In the hour before",
              Query(f"sum by (stage, reason) (increase(issuetracker_dead_letters_total{{{AT_STAGE}}}[1h]))",
                    "{{stage}} {{reason}}"), alarms=[(100, WARN), (1_000, ALARM)]),
        graph("Share that dies", "Of what a stage settled",
              Query(f"sum by (stage) (rate(issuetracker_handled_total{{outcome=\"dead_lettered\", {AT_STAGE}}}[15m])) "
                    f"/ sum by (stage) (rate(issuetracker_handled_total{{{SETTLED}, {AT_STAGE}}}[15m]))", "{{stage}}"),
              unit="percentunit", alarms=[(0.05, WARN), (0.25, ALARM)]),
        graph("Open dead letters", "Neither redriven nor purged", Query("max(issuetracker_dlq_open)", "open")),
        graph("Waiting for another attempt", "Retries and recrawls",
              Query("max(issuetracker_retry_backlog)", "waiting"), alarms=[(5_000, WARN), (50_000, ALARM)]),
        graph("Sent back to Kafka", "Due retries; redriven dead letters",
              Query(_rate("issuetracker_relayed_total", "topic"), "retried {{topic}}"),
              Query(_rate("issuetracker_redriven_total", "topic"), "redriven {{topic}}"), unit="ops"),
        graph("Bugs, hung handlers, gaps in traces", "In the hour before",
              Query(f"sum by (stage, fault) (increase(issuetracker_handler_faults_total{{{AT_STAGE}}}[1h]))",
                    "{{stage}} {{fault}}"),
              Query("sum(increase(issuetracker_trace_lines_dropped_total[1h]))", "trace lines dropped")),
    ]  # fmt: skip


def variables() -> list[Json]:
    """The data source, and the stages that are shown."""
    options = [{"text": stage, "value": stage, "selected": False} for stage in STAGES]
    every = {"text": "All", "value": "$__all", "selected": True}
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus", "current": {},
         "hide": 0, "refresh": 1, "regex": "", "multi": False, "includeAll": False, "options": []},
        {"name": "stage", "label": "Stage", "type": "custom", "query": ",".join(STAGES), "multi": True, "hide": 0,
         "includeAll": True, "allValue": ".*", "current": {"text": ["All"], "value": ["$__all"], "selected": True},
         "options": [every, *options]},
    ]  # fmt: skip


def made() -> Json:
    """The whole dashboard."""
    return dashboard(
        "issuetracker",
        "IssueTracker: the journey of a message",
        "From publish to enriched. What the figures mean is in docs/metrics.md, what to do in docs/operating.md.",
        variables(),
        {
            "The journey, from left to right": journey(),
            "Servers and workers": servers_and_workers(),
            "Publish, buffer, Kafka": publish_and_buffer(),
            "Fetch": fetch(),
            "Queues": queues(),
            "Work": work(),
            "What failed": failures(),
        },
    )


if __name__ == "__main__":
    json.dump(made(), sys.stdout, indent=1)
    sys.stdout.write("\n")

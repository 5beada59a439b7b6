"""IssueTracker on Dagster: a news and community crawler.

Read `pipeline` first (the table of stages), then `model` (values and decisions), `flow` (one verb a module), `stages`
(what is done to a payload), `adapters` (Kafka, Redis, SQL, HTTP) and `defs` (what Dagster shows). Imports point
downward only; `pyproject.toml` holds the contracts.
"""

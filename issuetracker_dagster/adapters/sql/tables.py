"""Every table in one place; importing it makes `METADATA` complete."""

from issuetracker_dagster.adapters.sql import tables_contents, tables_issues, tables_rules, tables_traces
from issuetracker_dagster.adapters.sql.schema import Table

MODULES = (tables_contents, tables_issues, tables_rules, tables_traces)
METADATA = Table.metadata

"""Rules about the database."""

from collections.abc import Iterator

from issuetracker_dagster.adapters.sql.server_facts import DatabaseFacts
from issuetracker_dagster.model.finding import Finding, fail, ok, warn
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.settings.load import Settings

MANY_SLOTS = 8
"""Worker runs beside which SQLite's one writer at a time is what they wait for."""


def database_findings(facts: DatabaseFacts, settings: Settings) -> Iterator[Finding]:
    """What is to say of the database and its schema."""
    version = " ".join([facts.kind, ".".join(map(str, facts.version))]).strip()
    yield ok("database.version", f"{version} at {facts.where}")
    if facts.revision is None:
        yield fail("database.schema", "the database has no schema yet", "`issuetracker db upgrade`")
    elif facts.revision != facts.head:
        yield fail(
            "database.schema",
            f"the schema is at revision {facts.revision}, this version needs {facts.head}",
            "stop the pipeline and run `issuetracker db upgrade`",
        )
    else:
        yield ok("database.schema", f"the schema is at its head, {facts.head}")
    slots = sum(settings.slots(stage.value) for stage in Stage)
    if facts.kind == "SQLite" and slots > MANY_SLOTS:
        yield warn(
            "database.kind", f"{slots} slots write to one SQLite file, one at a time", "PostgreSQL, by DATABASE_URL"
        )

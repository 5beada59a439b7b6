"""Every store on one engine."""

from sqlalchemy import Engine

from issuetracker_dagster.adapters.sql.contents import SqlContents
from issuetracker_dagster.adapters.sql.dead_letters import SqlDeadLetterIndex
from issuetracker_dagster.adapters.sql.digests import SqlDigests
from issuetracker_dagster.adapters.sql.issues import SqlIssues
from issuetracker_dagster.adapters.sql.parsed_pages import SqlParsedPages
from issuetracker_dagster.adapters.sql.parser_rules import SqlParserRules
from issuetracker_dagster.adapters.sql.raw_contents import SqlRawContents
from issuetracker_dagster.adapters.sql.reports import SqlReports
from issuetracker_dagster.adapters.sql.rule_snapshots import SqlRuleSnapshots
from issuetracker_dagster.adapters.sql.seeds import SqlSeeds
from issuetracker_dagster.adapters.sql.stored_articles import SqlStoredArticles
from issuetracker_dagster.adapters.sql.traces import SqlMessageTrace, SqlPublishedRecent


class SqlStores:
    """All stores of one database; the same attributes as `adapters.memory.stores.MemoryStores`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.raw_contents = SqlRawContents(engine)
        self.contents = SqlContents(engine)
        self.stored_articles = SqlStoredArticles(engine)
        self.parser_rules = SqlParserRules(engine)
        self.rule_snapshots = SqlRuleSnapshots(engine)
        self.issues = SqlIssues(engine)
        self.seeds = SqlSeeds(engine)
        self.dead_letters = SqlDeadLetterIndex(engine)
        self.message_trace = SqlMessageTrace(engine)
        self.published_recent = SqlPublishedRecent(engine)
        self.reports = SqlReports(engine)
        self.digests = SqlDigests(engine)
        self.parsed_pages = SqlParsedPages(engine)

    def close(self) -> None:
        """Let go of every connection."""
        self.engine.dispose()

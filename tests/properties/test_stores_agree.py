"""Memory and SQL answer alike, whatever was done before, so tests on the memory stores say something of the tables."""

import tempfile
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from sqlalchemy import text

from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.migrate import upgrade
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.adapters.sql.tables import METADATA
from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.records import Content, Enrichment, IssueState, RawContent, Verdict
from issuetracker_dagster.model.rules import BlacklistEntry, BlacklistMode, ParserRule, SelectorSpec
from issuetracker_dagster.ports.stores import MemberView

IDS = st.integers(1, 6)
MS = st.integers(0, 20)
WORDS = st.sampled_from(["a", "b", "c"])
HOSTS = st.sampled_from(["news.example.com", "*.example.com", "example.com"])


class StoresAgree(RuleBasedStateMachine):
    """Does everything to both and compares what they say."""

    folder: tempfile.TemporaryDirectory[str]
    sql: SqlStores

    @initialize()
    def start(self) -> None:
        self.memory = MemoryStores()
        with self.sql.engine.begin() as connection:
            for table in reversed(METADATA.sorted_tables):
                connection.execute(table.delete())
            connection.execute(text("DELETE FROM sqlite_sequence"))
        self.highest = {"raw_contents": 0, "contents": 0}

    def both(self, port: str, method: str, *args: object, **options: object) -> object:
        """Call the method of both worlds; the answers, or the refusals, must be equal. Returns the answer."""
        answers: list[object] = []
        for stores in (self.memory, self.sql):
            try:
                found = getattr(getattr(stores, port), method)(*args, **options)
            except PermanentError as error:
                found = (error.code, str(error))
            answers.append(list(found) if isinstance(found, list | tuple) else found)
        assert answers[0] == answers[1]
        return answers[0]

    def both_save(self, port: str, row: object) -> None:
        """Save in both worlds. SQLite skips an id for each row that was there already; here it must not, to compare."""
        saved = self.both(port, "save", row)
        assert isinstance(saved, int)
        self.highest[port] = max(self.highest[port], saved)
        with self.sql.engine.begin() as connection:
            reset = text("UPDATE sqlite_sequence SET seq = :highest WHERE name = :port")
            connection.execute(reset, {"highest": self.highest[port], "port": port})

    @rule(url=WORDS, body=WORDS, fetched_ms=MS)
    def fetch(self, url: str, body: str, fetched_ms: int) -> None:
        raw = RawContent(
            url=url, requested_url=url, status=200, body=body.encode(), body_sha256=body, fetched_ms=fetched_ms
        )
        self.both_save("raw_contents", raw)
        self.both("raw_contents", "latest", url)

    @rule(raw_id=IDS, fetched_ms=MS, before_ms=MS, meant=st.sets(IDS, max_size=2), limit=IDS)
    def touch_and_purge(self, raw_id: int, fetched_ms: int, before_ms: int, meant: set[int], limit: int) -> None:
        self.both("raw_contents", "touch", raw_id, fetched_ms, "etag", "date")
        self.both("raw_contents", "old", before_ms, raw_id, limit)
        self.both("raw_contents", "remove", sorted(meant), before_ms)
        self.both("raw_contents", "old_history", before_ms)
        self.both("raw_contents", "shorten_history", before_ms, limit)

    @rule(number=IDS, title=WORDS, body=WORDS, ms=MS)
    def parse(self, number: int, title: str, body: str, ms: int) -> None:
        url = f"https://news.example.com/{number}"
        self.both_save("contents", Content(url=url, title=title, body=body, published_ms=ms, fetched_ms=ms))

    @rule(content_id=IDS, accepted=st.booleans(), copy=IDS, text_hash=WORDS, bands=st.lists(WORDS, max_size=3))
    def judge(self, content_id: int, accepted: bool, copy: int, text_hash: str, bands: list[str]) -> None:
        self.both("contents", "first_with_hash", text_hash, content_id)
        self.both("contents", "near_candidates", content_id, bands)
        self.both("contents", "save_signature", content_id, bands, text_hash.encode())
        self.both("contents", "record_verdict", content_id, Verdict(accepted=accepted, duplicate_of=copy))

    @rule(content_id=IDS, first=IDS, near=IDS)
    def relink(self, content_id: int, first: int, near: int) -> None:
        self.both("contents", "link_copy", content_id, duplicate_of=first, near_duplicate_of=near)
        self.both("contents", "clear_date", content_id, "note")

    @rule(content_id=IDS, issue_id=st.none() | IDS, seen_ms=MS, language=WORDS)
    def join(self, content_id: int, issue_id: int | None, seen_ms: int, language: str) -> None:
        content = self.memory.contents.get(content_id)
        if content is None:
            return
        view = MemberView(
            content_id, 0, "host", content.title, content.body, language, 0, seen_ms, ("k",), ("e",)
        )  # fmt: skip
        self.both("issues", "assign", view, issue_id)
        self.both("issues", "save_enrichment", Enrichment(content_id=content_id, issue_id=issue_id or 0, trust=0.5))

    @rule(into=IDS, absorbed=IDS)
    def merge(self, into: int, absorbed: int) -> None:
        self.both("issues", "merge", into, absorbed)

    @rule(issue_id=IDS, state=st.sampled_from(IssueState))
    def change_state(self, issue_id: int, state: IssueState) -> None:
        issue = self.memory.issues.get(issue_id)
        if issue is not None:
            self.both("issues", "update_issue", msgspec.structs.replace(issue, state=state))

    @rule(host=HOSTS, path=WORDS, css=WORDS, priority=st.integers(0, 3), enabled=st.booleans())
    def save_rule(self, host: str, path: str, css: str, priority: int, enabled: bool) -> None:
        saved = ParserRule(
            host_pattern=host,
            path_pattern=path,
            selectors={"title": SelectorSpec(css=css)},
            crawl_priority=priority,
            enabled=enabled,
        )
        self.both("parser_rules", "save", saved)

    @rule(rule_id=IDS, priority=st.integers(1, 4))
    def set_priority(self, rule_id: int, priority: int) -> None:
        self.both("parser_rules", "set_priority", rule_id, priority)

    @rule(rule_id=IDS, enabled=st.booleans())
    def switch(self, rule_id: int, enabled: bool) -> None:
        self.both("parser_rules", "set_enabled", rule_id, enabled=enabled)

    @rule(places=st.lists(st.tuples(HOSTS, WORDS, WORDS, st.integers(0, 3), st.booleans()), max_size=3))
    def apply_rules(self, places: list[tuple[str, str, str, int, bool]]) -> None:
        self.both("parser_rules", "apply", [
            ParserRule(
                host_pattern=host,
                path_pattern=path,
                selectors={"title": SelectorSpec(css=css)},
                crawl_priority=priority,
                enabled=enabled,
            )
            for host, path, css, priority, enabled in places
        ])  # fmt: skip
        self.both("parser_rules", "all")

    @rule(host=HOSTS, path=st.sampled_from(["a", "("]), mode=st.sampled_from(BlacklistMode), remove=st.booleans())
    def blacklist(self, host: str, path: str, mode: BlacklistMode, remove: bool) -> None:
        if remove:
            self.both("parser_rules", "remove_from_blacklist", host, path)
        else:
            entry = BlacklistEntry(host_pattern=host, path_pattern=path, mode=mode)
            self.both("parser_rules", "add_to_blacklist", entry)

    def teardown(self) -> None:
        # Once a run and not after each step: the many reads would take most of the time.
        for number in range(1, 7):
            self.both("raw_contents", "get", number)
            self.both("raw_contents", "history", number)
            self.both("contents", "get", number)
            self.both("contents", "verdict", number)
            self.both("issues", "get", number)
            self.both("issues", "members", number, with_texts=False)
            self.both("issues", "enrichment", number)
            self.both("parser_rules", "get", number)
        self.both("issues", "open_members", "a", 5, 3, with_texts=False)
        self.both("issues", "quiet", list(IssueState), 15, 3)
        self.both("parser_rules", "for_host", "news.example.com", TargetType.ARTICLE)
        self.both("parser_rules", "priority_rules", 4)
        self.both("parser_rules", "blacklist")
        self.both("reports", "counts")
        self.both("reports", "contents", 4)
        self.both("reports", "issues", 4)


@pytest.mark.slow
def test_memory_and_sql_answer_alike_whatever_was_done_before() -> None:
    StoresAgree.folder = tempfile.TemporaryDirectory()
    url = f"sqlite:///{Path(StoresAgree.folder.name)}/a.db"
    upgrade(url)
    StoresAgree.sql = SqlStores(connect(url))
    try:
        run_state_machine_as_test(
            StoresAgree,
            # No shrinking: each try costs database work, and fifteen steps can be read as they are.
            settings=settings(
                max_examples=40,
                stateful_step_count=15,
                phases=[Phase.generate],
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        StoresAgree.sql.close()
        StoresAgree.folder.cleanup()

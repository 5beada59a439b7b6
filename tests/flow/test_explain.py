"""Explaining a priority, and previewing a change: as publishers would decide."""

from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.flow.explain import explain
from issuetracker_dagster.flow.preview import preview
from issuetracker_dagster.flow.resolve import priority_table
from issuetracker_dagster.flow.rule_set import WantedRule, after, changes, priorities
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import ParserRule, PriorityRule
from issuetracker_dagster.ports.traces import PublishedJob

HOSTS = st.sampled_from(["news.example.com", "*.example.com", "*.com", "example.com", "other.org"])
PATHS = st.sampled_from(["", "^/a", "^/a/", "b", "^/a/b", "c$", "/"])
RULES = st.lists(st.builds(PriorityRule, host=HOSTS, path=PATHS, priority=st.sampled_from(Priority)), max_size=8).map(
    lambda rules: [PriorityRule(host=r.host, path=r.path, priority=r.priority, rule_id=n) for n, r in enumerate(rules)]
)
URLS = st.builds(
    lambda host, path: f"https://{host}/{path}",
    st.sampled_from(["news.example.com", "example.com", "a.b.example.com", "other.org"]),
    st.sampled_from(["", "a", "a/b", "a/b/c", "%62", "x"]),
)


@given(RULES, URLS)
def test_the_explanation_names_the_rule_by_which_publishers_decide(rules: list[PriorityRule], url: str) -> None:
    found = explain(rules, url)
    assert found.decides == priority_table(rules).find(url)
    without = [rule for rule in rules if rule != found.decides]
    assert found.next == priority_table(without).find(url)
    assert priority_table(found.passed).find(url) is None


def job(url: str, decided_by: str = "default") -> PublishedJob:
    return PublishedJob(
        url=url, host=url.split("/")[2], target_type=TargetType.ARTICLE, priority=2, decided_by=decided_by, at_ms=0
    )


def test_moves_are_counted_by_host_the_most_frequent_first_with_the_latest_url() -> None:
    planned = [PriorityRule(host="a.com", priority=Priority.LOW), PriorityRule(host="b.com", priority=Priority.HIGH)]
    published = [job("https://a.com/1"), job("https://b.com/1"), job("https://b.com/2"), job("https://c.com/1")]
    found = preview(published, [], planned)
    assert [(move.host, move.after, move.count, move.sample) for move in found.moves] == [
        ("b.com", Priority.HIGH, 2, "https://b.com/1"),
        ("a.com", Priority.LOW, 1, "https://a.com/1"),
    ]
    assert (found.looked_at, found.fixed, found.moved) == (4, 0, 3)
    assert [found.total(priority) for priority in Priority] == [2, -3, 1]


def test_what_was_explicit_or_by_source_doesnt_move() -> None:
    published = [job("https://a.com/1", by) for by in ("explicit", "source", "rule 3", "default")]
    found = preview(published, [], [PriorityRule(host="a.com", priority=Priority.HIGH)])
    assert (found.fixed, found.moved) == (2, 2)


def test_a_preview_compares_with_the_rules_of_now_not_with_what_was_published() -> None:
    rules = [PriorityRule(host="a.com", priority=Priority.HIGH)]
    assert preview([job("https://a.com/1")], rules, rules).moves == ()


def test_a_url_that_is_none_is_normal_and_stays() -> None:
    assert preview([job("ftp://a.com/1")], [], [PriorityRule(host="a.com", priority=Priority.HIGH)]).moves == ()


def rule(host: str, priority: int = 2, *, enabled: bool = True) -> ParserRule:
    return ParserRule(host_pattern=host, crawl_priority=priority, enabled=enabled)


def test_changed_rules_keep_their_place_and_new_ones_come_last() -> None:
    stored = [rule("a.com"), rule("b.com")]
    planned = changes(stored, [WantedRule(host="c.com"), WantedRule(host="a.com", priority=Priority.HIGH)])
    assert [(found.host, found.priority) for found in priorities(after(stored, planned))] == [
        ("a.com", Priority.HIGH), ("b.com", Priority.NORMAL), ("c.com", Priority.NORMAL),
    ]  # fmt: skip


def test_a_rule_that_is_off_gives_no_priority() -> None:
    stored = [rule("a.com"), rule("b.com", enabled=False)]
    planned = changes(stored, [], disable_missing=True)
    assert [change.after.host_pattern for change in planned] == ["a.com"]
    assert priorities(after(stored, planned)) == []


def test_the_words_of_a_change_say_what_is_different() -> None:
    wanted = WantedRule(host="a.com", priority=Priority.LOW, enabled=False, options={"kind": "news"})
    (change,) = changes([rule("a.com")], [wanted])
    assert change.words == ("normal -> low", "off", "other options")
    (new,) = changes([], [wanted])
    assert new.words == ("new", "low", "off")

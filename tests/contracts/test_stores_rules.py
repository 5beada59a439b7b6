"""The contracts of `ParserRules` and `RuleSnapshots`."""

import msgspec
import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import (
    BlacklistEntry,
    BlacklistMode,
    FetcherRule,
    ParserRule,
    PriorityRule,
    SelectorSpec,
)
from tests.contracts.store_worlds import Stores

UNFIT = [
    ("News.example.com", "", "write it in lower case, 'news.example.com'"),
    ("https://a.com/x", "", "leave out scheme, port and path"),
    ("a.com:8080", "", "leave out scheme, port and path"),
    ("news.*.com", "", "only allowed in front"),
    ("*.뉴스.kr", "", r"write it as it is asked for, '\*\.xn--"),
    ("a..com", "", "isn't a host name; write"),
    ("0x7f.1", "", "write it as it is asked for, '127.0.0.1'"),
    ("[0:0::1]", "", r"write it as it is asked for, '\[::1\]'"),
    ("[::::]", "", "isn't the host of any URL"),
    ("*.1.2.3.4", "", "isn't a host name; write"),
    ("a.com", "x" * 501, "at most 500"),
    ("a.com", "(/a", "isn't RE2: missing"),
    ("a.com", "^/(?!archive)", "no look-around"),
    ("a.com", r"^/(a|b)/\1", "no back references"),
    ("a.com", "a\x00b", "no text column takes"),
]
"""Hosts and paths of no page, and what is said of them."""


def rule(
    host: str = "news.example.com", path: str = "", css: str = "h1", *, priority: int = 2, enabled: bool = True
) -> ParserRule:
    return ParserRule(
        host_pattern=host,
        path_pattern=path,
        selectors={"title": SelectorSpec(css=css, multi=True)},
        options={"article_pattern": "/a/"},
        crawl_priority=priority,
        enabled=enabled,
    )


def test_a_new_version_inherits_the_priority_of_the_one_before(stores: Stores) -> None:
    first = stores.parser_rules.save(rule(priority=1))
    second = stores.parser_rules.save(rule(css="h2"))
    assert (first.version, first.crawl_priority) == (1, 1)
    assert (second.version, second.crawl_priority) == (2, 1)
    assert [found.version for found in stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)] == [2, 1]
    (found,) = stores.parser_rules.priority_rules(10)
    assert (found.rule_id, found.priority) == (second.rule_id, Priority.HIGH)


def test_the_same_rule_again_makes_no_version(stores: Stores) -> None:
    first = stores.parser_rules.save(rule())
    assert stores.parser_rules.save(rule()) == first


@pytest.mark.parametrize("priority", [0, 9, -1])
def test_a_priority_outside_the_three_is_refused_with_the_reason(stores: Stores, priority: int) -> None:
    with pytest.raises(PermanentError, match=f"crawl_priority {priority}"):
        stores.parser_rules.save(rule(priority=priority))
    assert list(stores.parser_rules.priority_rules(10)) == []
    saved = stores.parser_rules.save(rule())
    with pytest.raises(PermanentError, match=f"crawl_priority {priority}"):
        stores.parser_rules.set_priority(saved.rule_id, priority)
    assert [found.priority for found in stores.parser_rules.priority_rules(10)] == [Priority.NORMAL]


@pytest.mark.parametrize(("host", "path", "said"), UNFIT)
def test_a_rule_that_could_never_match_is_refused_with_what_to_write(
    stores: Stores, host: str, path: str, said: str
) -> None:
    with pytest.raises(PermanentError, match=said):
        stores.parser_rules.save(rule(host, path))
    with pytest.raises(PermanentError, match=said):
        stores.parser_rules.apply([rule(), rule(host, path)])
    assert list(stores.parser_rules.all()) == []


@pytest.mark.parametrize("priority", [0, 4, 9])
def test_rules_are_applied_all_or_none(stores: Stores, priority: int) -> None:
    kept = stores.parser_rules.save(rule(priority=1))
    with pytest.raises(PermanentError, match=f"crawl_priority {priority}"):
        stores.parser_rules.apply([rule(priority=3), rule(path="/a"), rule(path="/b", priority=priority)])
    assert list(stores.parser_rules.all()) == [kept]


def test_an_applied_rule_is_what_was_given_and_its_priority_is_that_of_every_version(stores: Stores) -> None:
    stores.parser_rules.save(rule(priority=1))
    stores.parser_rules.save(rule(css="h2"))
    stores.parser_rules.apply([rule("b.com", priority=3), rule(css="h3", priority=3)])
    first, second = stores.parser_rules.all()
    assert msgspec.structs.replace(first, rule_id=0) == msgspec.structs.replace(rule(css="h3", priority=3), version=3)
    assert (second.host_pattern, second.version, second.crawl_priority) == ("b.com", 1, 3)
    found = stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)
    assert [(version.version, version.crawl_priority) for version in found] == [(3, 3), (2, 3), (1, 3)]


def test_applying_what_is_in_force_changes_nothing(stores: Stores) -> None:
    for saved in (rule(), rule(css="h2"), rule("b.com", enabled=False), rule("*.c.com", priority=1)):
        stores.parser_rules.save(saved)
    before = list(stores.parser_rules.all())
    stores.parser_rules.apply(before)
    assert list(stores.parser_rules.all()) == before


def test_applied_rules_are_saved_in_the_order_given(stores: Stores) -> None:
    stores.parser_rules.apply([rule("z.com"), rule("a.com"), rule(path="/bb"), rule(path="/aa")])
    assert [(found.host, found.path) for found in stores.parser_rules.priority_rules(10)] == [
        ("z.com", ""), ("a.com", ""), ("news.example.com", "/bb"), ("news.example.com", "/aa"),
    ]  # fmt: skip


def test_a_rule_that_is_twice_in_a_batch_is_what_was_said_last(stores: Stores) -> None:
    stores.parser_rules.apply([rule(css="h1", priority=1), rule(css="h2", priority=3)])
    (found,) = stores.parser_rules.all()
    assert (found.version, found.selectors["title"].css, found.crawl_priority) == (2, "h2", 3)
    assert {each.crawl_priority for each in stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)} == {3}


def test_a_rule_is_switched_off_and_on_in_every_version(stores: Stores) -> None:
    first = stores.parser_rules.save(rule(priority=1))
    second = stores.parser_rules.save(rule(css="h2"))
    stores.parser_rules.set_enabled(first.rule_id, enabled=False)
    assert list(stores.parser_rules.priority_rules(10)) == []
    assert [found.enabled for found in stores.parser_rules.all()] == [False]
    stores.parser_rules.set_enabled(second.rule_id, enabled=True)
    assert len(stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)) == 2
    assert list(stores.parser_rules.all()) == [second]
    with pytest.raises(PermanentError, match="no parser rule 99"):
        stores.parser_rules.set_enabled(99, enabled=False)


def test_an_applied_rule_that_is_off_is_off_in_every_version(stores: Stores) -> None:
    stores.parser_rules.save(rule())
    stores.parser_rules.apply([rule(css="h2", enabled=False)])
    assert list(stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)) == []
    stores.parser_rules.apply([rule(css="h2")])
    assert [found.version for found in stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)] == [2, 1]


def test_any_version_of_a_rule_finds_what_is_in_force(stores: Stores) -> None:
    first = stores.parser_rules.save(rule())
    second = stores.parser_rules.save(rule(css="h2"))
    draft = stores.parser_rules.save(rule(css="h3", enabled=False))
    other = stores.parser_rules.save(rule(path="/a"))
    assert [stores.parser_rules.get(each.rule_id) for each in (first, second, draft)] == [second] * 3
    assert list(stores.parser_rules.all()) == [second, other]
    assert stores.parser_rules.get(99) is None
    for each in (first, second, draft):
        assert list(stores.parser_rules.versions(each.rule_id)) == [first, second, draft]
    assert list(stores.parser_rules.versions(99)) == []


def test_rules_that_have_an_option_are_found_as_they_are_in_force(stores: Stores) -> None:
    rules = stores.parser_rules
    for host, path, options in (
        ("z.com", "/a", {"keep_params": "rss"}),
        ("a.com", "", {"kind": "keep_params", "keepXparams": '"keep_params"'}),
        ("a.com", "/가", {"drop_params": "sid\n가"}),
        ("b.com", "", {"drop_params": "old"}),
        ("c.com", "", {"drop_params": "off"}),
    ):
        rules.save(ParserRule(host_pattern=host, path_pattern=path, options=options))
    rules.save(ParserRule(host_pattern="b.com", options={"kind": "news"}))
    rules.save(ParserRule(host_pattern="z.com", path_pattern="/a", options={"keep_params": "rss\nref"}))
    rules.save(ParserRule(host_pattern="z.com", path_pattern="/a", options={}, enabled=False))
    rules.set_enabled(rules.all()[-1].rule_id, enabled=False)
    assert list(rules.with_options(["keep_params", "drop_params"])) == [
        ("z.com", "/a", {"keep_params": "rss\nref"}),
        ("a.com", "/가", {"drop_params": "sid\n가"}),
    ]
    assert list(rules.with_options(["no_such"])) == []


def test_the_longest_path_that_a_rule_may_have_is_stored(stores: Stores) -> None:
    assert stores.parser_rules.save(rule(path="가" * 500)).version == 1


def test_set_priority_changes_every_version(stores: Stores) -> None:
    first = stores.parser_rules.save(rule())
    stores.parser_rules.save(rule(css="h2"))
    stores.parser_rules.set_priority(first.rule_id, 3)
    found = stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)
    assert [version.crawl_priority for version in found] == [3, 3]
    with pytest.raises(PermanentError, match="no parser rule 99"):
        stores.parser_rules.set_priority(99, 1)


def test_rules_of_a_host_come_exact_first_then_longer_paths(stores: Stores) -> None:
    for saved in (rule("*.com"), rule("*.example.com", "/long"), rule(), rule(path="/a"), rule("other.example.com")):
        stores.parser_rules.save(saved)
    stores.parser_rules.save(rule(path="/off", enabled=False))
    stores.parser_rules.save(msgspec.structs.replace(rule(), target_type=TargetType.CATEGORY))
    found = stores.parser_rules.for_host("news.example.com", TargetType.ARTICLE)
    assert [(each.host_pattern, each.path_pattern) for each in found] == [
        ("news.example.com", "/a"),
        ("news.example.com", ""),
        ("*.example.com", "/long"),
        ("*.com", ""),
    ]
    assert found[0].selectors == rule().selectors
    assert found[0].options == rule().options


def test_priority_rules_keep_the_order_in_which_rules_were_first_saved(stores: Stores) -> None:
    stores.parser_rules.save(rule(path="/catch-all"))
    stores.parser_rules.save(rule(path="/breaking", priority=1))
    stores.parser_rules.save(rule(path="/off", enabled=False))
    stores.parser_rules.save(rule(path="/catch-all", css="h3"))
    assert [found.path for found in stores.parser_rules.priority_rules(10)] == ["/catch-all", "/breaking"]
    assert [found.path for found in stores.parser_rules.priority_rules(1)] == ["/catch-all"]


def test_a_disabled_newest_version_leaves_the_one_before_in_force(stores: Stores) -> None:
    first = stores.parser_rules.save(rule(priority=1))
    stores.parser_rules.save(rule(enabled=False))
    assert [found.rule_id for found in stores.parser_rules.priority_rules(10)] == [first.rule_id]


def test_the_blacklist_takes_a_host_and_path_once(stores: Stores) -> None:
    entry = BlacklistEntry(host_pattern="*.example.com", path_pattern="/" + "가" * 499, mode=BlacklistMode.DROP)
    assert stores.parser_rules.add_to_blacklist(entry)
    again = msgspec.structs.replace(entry, mode=BlacklistMode.EXTRACT_LINKS_ONLY)
    assert not stores.parser_rules.add_to_blacklist(again)
    assert stores.parser_rules.add_to_blacklist(msgspec.structs.replace(entry, path_pattern="/b", source="auto"))
    assert [(found.path_pattern, found.mode) for found in stores.parser_rules.blacklist()] == [
        (entry.path_pattern, BlacklistMode.DROP),
        ("/b", BlacklistMode.DROP),
    ]


def test_an_entry_that_was_removed_may_be_added_anew(stores: Stores) -> None:
    entry = BlacklistEntry(host_pattern="a.com", path_pattern="^/x")
    stores.parser_rules.add_to_blacklist(entry)
    assert not stores.parser_rules.remove_from_blacklist("a.com", "")
    assert stores.parser_rules.remove_from_blacklist("a.com", "^/x")
    assert not stores.parser_rules.remove_from_blacklist("a.com", "^/x")
    assert list(stores.parser_rules.blacklist()) == []
    assert stores.parser_rules.add_to_blacklist(entry)


def test_the_number_of_a_removed_entry_is_never_that_of_another(stores: Stores) -> None:
    for host in ("a.com", "a.com", "b.com"):
        stores.parser_rules.add_to_blacklist(BlacklistEntry(host_pattern=host))
    first, second = (entry.entry_id for entry in stores.parser_rules.blacklist())
    assert 0 < first < second
    stores.parser_rules.remove_from_blacklist("b.com", "")
    stores.parser_rules.add_to_blacklist(BlacklistEntry(host_pattern="c.com"))
    assert [entry.entry_id for entry in stores.parser_rules.blacklist()][-1] > second


@pytest.mark.parametrize(("host", "path", "said"), UNFIT)
def test_an_entry_that_could_never_match_is_refused(stores: Stores, host: str, path: str, said: str) -> None:
    with pytest.raises(PermanentError, match=said):
        stores.parser_rules.add_to_blacklist(BlacklistEntry(host_pattern=host, path_pattern=path))
    assert list(stores.parser_rules.blacklist()) == []


def test_the_nearest_fetcher_rule_wins(stores: Stores) -> None:
    for pattern in ("*.com", "*.example.com", "news.example.com"):
        stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern=pattern))
    stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern="*.example.com", rendering=True, source="auto"))
    nearest = [stores.parser_rules.fetcher_rule(host) for host in ("news.example.com", "a.b.example.com", "x.com")]
    assert [found and found.host_pattern for found in nearest] == ["news.example.com", "*.example.com", "*.com"]
    assert nearest[1] == FetcherRule(host_pattern="*.example.com", rendering=True, source="auto")
    assert stores.parser_rules.fetcher_rule("example.org") is None


def test_a_snapshot_remembers_when_it_was_checked_and_what_was_refused(stores: Stores) -> None:
    def looks() -> tuple[int, int, int, tuple[str, ...]]:
        latest = stores.rule_snapshots.latest()
        assert latest is not None
        return latest.version, latest.created_ms, latest.checked_ms, latest.refused

    stores.rule_snapshots.save("f1", (), 1_700_000_000_010, ["rule 3: no host"])
    assert looks() == (1, 1_700_000_000_010, 1_700_000_000_010, ("rule 3: no host",))
    stores.rule_snapshots.checked(1, 1_700_000_000_020)
    assert looks()[2] == 1_700_000_000_020
    stores.rule_snapshots.save("f1", (), 1_700_000_000_030, ["rule 3: no host"])
    assert looks() == (1, 1_700_000_000_010, 1_700_000_000_030, ("rule 3: no host",))
    stores.rule_snapshots.checked(1, 1_700_000_000_020)
    assert looks()[2] == 1_700_000_000_030
    stores.rule_snapshots.checked(9, 1_700_000_000_040)
    assert looks()[2] == 1_700_000_000_030


def test_a_snapshot_comes_back_whole_and_versions_grow(stores: Stores) -> None:
    assert (stores.rule_snapshots.latest_version(), stores.rule_snapshots.latest()) == (0, None)
    rules = (
        PriorityRule(host="*.example.com", path="/a", priority=Priority.HIGH, rule_id=4),
        PriorityRule(host="b.com"),
    )
    assert stores.rule_snapshots.save("f1", rules, 10) == 1
    assert stores.rule_snapshots.save("f1", rules, 20) == 1
    latest = stores.rule_snapshots.latest()
    assert latest is not None
    assert (latest.version, latest.fingerprint, latest.rules, latest.created_ms) == (1, "f1", rules, 10)
    assert stores.rule_snapshots.save("f2", (), 30) == 2
    latest = stores.rule_snapshots.latest()
    assert latest is not None
    assert latest.rules == ()
    assert stores.rule_snapshots.save("f1", rules, 40) == stores.rule_snapshots.latest_version() == 3


def test_a_fetcher_rule_that_would_stop_a_host_is_refused(stores: Stores) -> None:
    with pytest.raises(PermanentError, match=r"a\.com.*at least 1"):
        stores.parser_rules.save_fetcher_rule(FetcherRule(host_pattern="a.com", concurrency=0))
    assert stores.parser_rules.fetcher_rule("a.com") is None

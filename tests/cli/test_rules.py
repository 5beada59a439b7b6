"""`issuetracker rules`: rule by rule."""

import msgspec
import pytest

from issuetracker_dagster.model.records import MadeFrom
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from tests.cli.terminal import Terminal
from tests.contracts.store_worlds import article, page

HOST = "news.example.com"


def priorities(terminal: Terminal) -> dict[str, int]:
    """Of the rules that are on, by path."""
    return {rule.path: rule.priority for rule in terminal.stores.parser_rules.priority_rules(100)}


def test_without_rules_the_command_that_adds_one_is_named(terminal: Terminal) -> None:
    assert "rules add" in terminal.does("rules", "list")


def test_an_added_rule_is_listed_and_says_when_it_takes_effect(terminal: Terminal) -> None:
    said = terminal.does("rules", "add", HOST, "^/breaking/", "--priority", "high")
    assert "Added rule 1: news.example.com ^/breaking/ (article), high." in said
    assert "in at most 5m" in said
    assert terminal.stores.rule_snapshots.latest_version() == 0
    assert terminal.does("rules", "list").splitlines()[1].split() == [
        "1", "high", HOST, "^/breaking/", "article", "1", "on",
    ]  # fmt: skip


def test_now_refreshes_at_once(terminal: Terminal) -> None:
    assert "version 1, 1 rule (1 high" in terminal.does("rules", "add", HOST, "--priority", "high", "--now")
    assert terminal.stores.rule_snapshots.latest_version() == 1
    assert "Nothing to refresh: version 1" in terminal.does("rules", "refresh")


def test_an_added_rule_reads_pages_as_the_hosts_rule_for_any_path_does(terminal: Terminal) -> None:
    reading = ParserRule(
        host_pattern=HOST, selectors={"title": SelectorSpec(css="h1")}, options={"timezone": "Asia/Seoul"}
    )
    terminal.stores.parser_rules.save(reading)
    assert "reads pages as rule 1" in terminal.does("rules", "add", HOST, "^/a/", "--priority", "low")
    added = terminal.stores.parser_rules.all()[1]
    assert (added.selectors, added.options) == (reading.selectors, reading.options)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["News.example.com", "--priority", "high"], "write it in lower case"),
        ([HOST, "(", "--priority", "high"], "isn't RE2"),
        ([HOST, "--priority", "0"], "none of high, normal, low"),
        ([HOST, "--priority", "9"], "none of high, normal, low"),
        ([HOST], "--priority"),
        ([HOST, "--priority", "low", "--like", "7"], "there is no rule 7"),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_what_to_write(terminal: Terminal, words: list[str], said: str) -> None:
    assert said in terminal.fails("rules", "add", *words)
    assert list(terminal.stores.parser_rules.all()) == []


def test_a_second_rule_for_the_same_pages_is_refused_with_the_first_ones_id(terminal: Terminal) -> None:
    terminal.does("rules", "add", HOST, "--priority", "high")
    assert "rules edit 1" in terminal.fails("rules", "add", HOST, "--priority", "low")
    terminal.does("rules", "disable", "1")
    assert "rules enable 1" in terminal.fails("rules", "add", HOST, "--priority", "low")
    terminal.does("rules", "add", HOST, "--priority", "low", "--type", "category")


def test_editing_the_priority_keeps_the_selectors_and_makes_no_version(terminal: Terminal) -> None:
    before = terminal.stores.parser_rules.save(
        ParserRule(host_pattern=HOST, selectors={"title": SelectorSpec(css="h1", multi=True)}, options={"kind": "news"})
    )
    terminal.does("rules", "edit", "1", "--priority", "high")
    assert list(terminal.stores.parser_rules.all()) == [msgspec.structs.replace(before, crawl_priority=1)]


def test_edited_selectors_make_a_version_that_inherits_the_priority(terminal: Terminal) -> None:
    terminal.does("rules", "add", HOST, "--priority", "high")
    terminal.does(
        "rules", "edit", "1", "--selector", "title=h1.big", "--selector", "author=.by", "--option", "kind=news"
    )
    said = terminal.does("rules", "edit", "1", "--selector", "author=")
    assert "Rule 1 is now rule 3 (version 3): news.example.com (any path) (article), high." in said
    (rule,) = terminal.stores.parser_rules.all()
    assert (rule.version, rule.crawl_priority, rule.options) == (3, 1, {"kind": "news"})
    assert rule.selectors == {"title": SelectorSpec(css="h1.big")}


def with_selectors(terminal: Terminal, **more: SelectorSpec) -> ParserRule:
    """A saved rule that reads articles."""
    body = SelectorSpec(css="div.spring-text p", multi=True)
    selectors = {"title": SelectorSpec(css="h1.spring"), "main_content": body, **more}
    return terminal.stores.parser_rules.save(ParserRule(host_pattern=HOST, selectors=selectors))


def test_another_selector_of_a_field_keeps_what_else_belongs_to_it_and_shows_both(terminal: Terminal) -> None:
    with_selectors(terminal, images=SelectorSpec(css="img", attribute="src", multi=True))
    words = ("--selector", "main_content=div.autumn-text p", "--selector", "images=.story img")
    lines = [line.split() for line in terminal.does("rules", "edit", "1", *words).splitlines()]
    (after,) = terminal.stores.parser_rules.all()
    assert after.selectors["main_content"] == SelectorSpec(css="div.autumn-text p", multi=True)
    assert after.selectors["images"] == SelectorSpec(css=".story img", attribute="src", multi=True)
    assert after.selectors["title"] == SelectorSpec(css="h1.spring")
    assert lines[1:5] == [
        ["main_content", "before", "div.spring-text", "p", "(all", "matches)"],
        ["after", "div.autumn-text", "p", "(all", "matches)"],
        ["images", "before", "img", "(all", "matches,", "attribute", "src)"],
        ["after", ".story", "img", "(all", "matches,", "attribute", "src)"],
    ]


def test_whether_all_matches_are_taken_and_which_attribute_can_be_set_by_themselves(terminal: Terminal) -> None:
    with_selectors(terminal)
    terminal.does("rules", "edit", "1", "--single", "main_content", "--selector", "images=img", "--multi", "images")
    terminal.does("rules", "edit", "1", "--attribute", "images=src", "--attribute", "title=data-title")
    terminal.does("rules", "edit", "1", "--attribute", "title=")
    (rule,) = terminal.stores.parser_rules.all()
    assert rule.selectors == {
        "title": SelectorSpec(css="h1.spring"),
        "main_content": SelectorSpec(css="div.spring-text p"),
        "images": SelectorSpec(css="img", attribute="src", multi=True),
    }


def test_a_field_that_no_page_has_is_refused_with_those_there_are_and_can_be_removed(terminal: Terminal) -> None:
    with_selectors(terminal, body=SelectorSpec(css="p"))
    said = terminal.fails("rules", "edit", "1", "--selector", "body=div.story p")
    assert "no field 'body'; there are title, main_content, author" in said
    assert "'main_content=CSS' adds one" not in said
    terminal.does("rules", "edit", "1", "--selector", "body=")
    assert "body" not in terminal.stores.parser_rules.all()[0].selectors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--multi", "author"], "no selector for 'author'; --selector 'author=CSS' adds one"),
        (["--multi", "body"], "no selector for 'body'; there are title, main_content"),
        (["--selector", "title=", "--attribute", "title=id"], "no selector for 'title'"),
        (["--multi", "title", "--single", "title"], "exclude each other"),
    ],
)
def test_what_no_selector_has_is_not_set(terminal: Terminal, words: list[str], said: str) -> None:
    before = with_selectors(terminal)
    assert said in terminal.fails("rules", "edit", "1", *words)
    assert list(terminal.stores.parser_rules.all()) == [before]


def test_an_edit_says_the_new_number_what_to_read_again_and_that_priorities_stay(terminal: Terminal) -> None:
    with_selectors(terminal)
    said = terminal.does("rules", "edit", "1", "--selector", "title=h1.autumn", "--now")
    assert "Rule 1 is now rule 2 (version 2): news.example.com" in said
    assert "`issuetracker reparse --rule 2 --missed` reads again the pages on which rule 1 found nothing" in said
    assert "read that way within 5s" in said
    assert "1 added, 0 removed, 0 changed" in said, "there was no snapshot before"
    said = terminal.does("rules", "edit", "1", "--selector", "title=h1.winter", "--now")
    assert "Rule 1 is now rule 3 (version 3)" in said
    assert "no priority changed" in said
    assert "0 added" not in said
    said = terminal.does("rules", "edit", "3", "--selector", "title=h1")
    assert "Priorities are as before." in said
    assert "next refresh" not in said
    said = terminal.does("rules", "edit", "4", "--priority", "high")
    assert "in at most 5m" in said
    assert "reparse" not in said
    terminal.does("rules", "disable", "4")
    said = terminal.does("rules", "edit", "4", "--selector", "title=h2")
    assert "Rule 4 is now rule 5 (version 5)" in said
    assert "(off)" in said
    assert "reparse" not in said, "nothing is read by it"


def test_a_rule_is_shown_as_import_takes_it_by_any_of_its_numbers(terminal: Terminal) -> None:
    with_selectors(terminal)
    terminal.does("rules", "edit", "1", "--selector", "title=h1.autumn", "--priority", "high")
    old, new = terminal.does("rules", "show", "1"), terminal.does("rules", "show", "2")
    assert "rule 1 (version 1) is not used: rule 2 (version 2) is" in old
    assert "rule 2 (version 2) is in force\n# before it: rule 1 (version 1)" in new
    assert "css: h1.spring" in old
    assert "css: h1.autumn" in new
    assert "Nothing to change" in terminal.does("rules", "import", "-", typed=new)
    assert "Rule 2 is now rule 3 (version 3)" in terminal.does("rules", "import", "-", typed=old)
    (rule,) = terminal.stores.parser_rules.all()
    assert (rule.selectors["title"].css, rule.crawl_priority) == ("h1.spring", 1)
    terminal.does("rules", "disable", "3")
    assert "rule 3 (version 3) is off" in terminal.does("rules", "show", "3")
    assert "off; the newest is rule 3" in terminal.does("rules", "show", "1")


def test_a_rule_that_is_not_there_or_cannot_be_read_is_not_shown(terminal: Terminal) -> None:
    assert "there is no rule 7" in terminal.fails("rules", "show", "7")
    with_selectors(terminal)
    terminal.breaks_selectors(1)
    assert "parser rule 1 can't be read" in terminal.fails("rules", "show", "1")


def test_by_any_of_its_numbers_a_rule_finds_the_pages_on_which_one_of_them_found_nothing(terminal: Terminal) -> None:
    with_selectors(terminal)
    for number, fate in enumerate(("missed:1", "used:1"), start=1):
        url = f"https://{HOST}/{number}"
        raw_id = terminal.stores.raw_contents.save(page(url))
        found = article(number, url=url, raw_id=raw_id, field_sources={"rule": fate})
        terminal.stores.contents.save(found, MadeFrom())
    terminal.does("rules", "edit", "1", "--selector", "title=h1.autumn")
    for rule_id in ("1", "2"):
        said = terminal.does("reparse", "--rule", rule_id, "--missed", "--dry-run")
        assert "1 of 1 pages looked at would be read again" in said


def test_another_path_is_another_rule_that_reads_alike_and_the_old_one_is_off(terminal: Terminal) -> None:
    terminal.does("rules", "add", HOST, "^/a", "--priority", "high")
    terminal.does("rules", "edit", "1", "--selector", "title=h1")
    terminal.does("rules", "edit", "2", "--path", "^/b")
    old, new = terminal.stores.parser_rules.all()
    assert (old.enabled, new.enabled, new.path_pattern) == (False, True, "^/b")
    assert new.selectors == old.selectors
    assert priorities(terminal) == {"^/b": 1}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to change"),
        (["--priority", "4"], "none of high"),
        (["--host", "A.com"], "lower case"),
        (["--path", "^/taken"], "about news.example.com ^/taken (article) already"),
        (["--selector", "h1"], "isn't NAME=VALUE"),
    ],
)
def test_an_edit_that_cannot_be_changes_nothing(terminal: Terminal, words: list[str], said: str) -> None:
    for path in ("^/a", "^/taken"):
        terminal.does("rules", "add", HOST, path, "--priority", "high")
    before = list(terminal.stores.parser_rules.all())
    assert said in terminal.fails("rules", "edit", "1", *words)
    assert list(terminal.stores.parser_rules.all()) == before


def test_a_disabled_rule_gives_its_pages_back_with_the_next_refresh(terminal: Terminal) -> None:
    terminal.does("rules", "add", HOST, "^/breaking/", "--priority", "high", "--now")
    url = f"https://{HOST}/breaking/1"
    assert "priority   high, decided by rule 1" in terminal.does("why", url)
    terminal.does("rules", "disable", "1")
    assert "high, decided by rule 1" in terminal.does("why", url)
    assert "publishers still say high" in terminal.does("rules", "test", url)
    assert "1 removed" in terminal.does("rules", "refresh")
    assert "normal, decided by default" in terminal.does("why", url)
    terminal.does("rules", "enable", "1", "--now")
    assert "high, decided by rule 1" in terminal.does("why", url)


def test_several_rules_are_switched_all_or_none(terminal: Terminal) -> None:
    terminal.does("rules", "add", HOST, "--priority", "high")
    assert "no rule 9" in terminal.fails("rules", "disable", "1", "9")
    assert priorities(terminal) == {"": 1}


def test_a_url_shows_who_decides_who_was_asked_and_who_would_be_next(terminal: Terminal) -> None:
    terminal.does("rules", "add", "*.example.com", "--priority", "low")
    terminal.does("rules", "add", HOST, "^/가나", "--priority", "high")
    terminal.does("rules", "add", HOST, "^/breaking/live", "--priority", "high")
    said = terminal.does("rules", "test", "HTTP://News.Example.com:8080/%EA%B0%80%EB%82%98%20b?q=1")
    assert [line.split() for line in said.splitlines()[1:6]] == [
        ["host", HOST],
        ["path", "/가나", "b"],
        ["high", "by", "rule", "2:", HOST, "^/가나,", "high"],
        ["passed", "rule", "3:", HOST, "^/breaking/live,", "high,", "asked", "before,", "doesn't", "match"],
        ["next", "rule", "1:", "*.example.com", "(any", "path),", "low"],
    ]
    assert "There is no snapshot" in said
    assert "no rule matches" in terminal.does("rules", "test", "https://example.org/")


def test_the_rules_of_a_host_are_listed_in_the_order_in_which_they_are_asked(terminal: Terminal) -> None:
    for host, path in (("*.example.com", ""), (HOST, ""), (HOST, "^/long/"), ("other.com", "")):
        terminal.does("rules", "add", host, path, "--priority", "high")
    listed = terminal.does("rules", "list", "--host", HOST).splitlines()
    assert [line.split()[0] for line in listed] == ["id", "3", "2", "1"]


@pytest.mark.parametrize("host", ["News.Example.com", "news.example.com.", "https://news.example.com:8080/x"])
def test_the_rules_of_a_host_are_listed_whatever_its_spelling(terminal: Terminal, host: str) -> None:
    terminal.does("rules", "add", "news.example.com", "--priority", "low")
    assert "1  low" in terminal.does("rules", "list", "--host", host)
    assert "There is no rule about a.com" in terminal.does("rules", "list", "--host", "a.com")


def test_a_rule_that_cannot_be_read_is_listed_and_hides_no_other(terminal: Terminal) -> None:
    terminal.does("rules", "add", "a.com", "--priority", "low")
    terminal.does("rules", "add", "b.com", "--priority", "high")
    terminal.breaks_selectors(1)
    said = terminal.does("rules", "list")
    assert "on, broken" in said
    assert "parser rule 1 can't be read" in said
    assert "Added rule 3" in terminal.does("rules", "add", "c.com", "--priority", "low")
    terminal.does("rules", "edit", "2", "--priority", "normal")
    assert "parser rule 1 can't be read" in terminal.fails("rules", "edit", "1", "--priority", "high")
    terminal.does("rules", "disable", "1")
    assert "off, broken" in terminal.does("rules", "list")


@pytest.mark.parametrize("command", [["edit", "--priority", "low"], ["disable"], ["enable"]])
def test_an_id_that_no_column_holds_is_a_wrong_argument(terminal: Terminal, command: list[str]) -> None:
    assert terminal.run("rules", *command, "9" * 30)[0] == 2

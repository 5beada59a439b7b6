"""`issuetracker rules import|export|preview`: whole files, taken whole or not at all."""

import pytest

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.ports.traces import PublishedJob
from tests.cli.terminal import Terminal

GOOD = """
rules:
  - host: news.example.com
    path: ^/breaking/
    priority: high
    selectors:
      title: h1
      tags: {css: .tag, multi: true}
    options: {timezone: Asia/Seoul}
  - {host: "*.example.com", type: category, priority: 3, enabled: false}
"""

FAULTS = [
    ("rules: [", "isn't YAML"),
    ("rules: {}", "no list named rules"),
    ("- host: a.com", "no list named rules"),
    ("", "no list named rules"),
    ("rules: []\nrule: []", "the file: 'rule' is unknown; did you mean rules?"),
    ("rules: [a.com]", "rule 1 isn't a mapping"),
    ("rules:\n- path: /a", "rule 1, host: missing; write 'news.example.com'"),
    ("rules:\n- host: a.com\n- host: A.com", "rule 2, host: host 'A.com': write it in lower case, 'a.com'"),
    ("rules:\n- host: 7", "rule 1, host: 7 isn't text; write it in quotes"),
    ("rules:\n- host: a.com\n  path:", "rule 1, path: None isn't text; write it in quotes, or '' for none"),
    ("rules:\n- {host: a.com, path: '(?!b)'}", "rule 1, path: path expression '(?!b)' isn't RE2"),
    ("rules:\n- {host: a.com, prio: 1}", "rule 1: 'prio' is unknown; did you mean priority?"),
    ("rules:\n- {host: a.com, priority: 0}", "rule 1, priority: priority '0' is none of high, normal, low"),
    ("rules:\n- {host: a.com, priority: urgent}", "rule 1, priority: priority 'urgent' is none of high, normal, low"),
    ("rules:\n- {host: a.com, priority: true}", "rule 1, priority: True is none of high, normal, low"),
    ("rules:\n- {host: a.com, type: page}", "rule 1, type: 'page' is none of article, category, feed, sitemap"),
    ("rules:\n- {host: a.com, enabled: maybe}", "rule 1, enabled: 'maybe' is neither true nor false"),
    ("rules:\n- {host: a.com, selectors: h1}", "rule 1, selectors: 'h1' isn't a mapping"),
    ("rules:\n- {host: a.com, selectors: {title: {xpath: //h1}}}", "rule 1, selectors: title: 'xpath' is unknown"),
    ("rules:\n- {host: a.com, selectors: {title: {multi: 3}}}", "rule 1, selectors: title:"),
    ("rules:\n- {host: a.com, selectors: {title: ''}}", "rule 1, selectors: title: an empty selector"),
    (
        "rules:\n- {host: a.com, options: {date_required: false}}",
        "rule 1, options: the value of date_required isn't text",
    ),
    ("rules:\n- host: a.com\n- host: a.com\n  priority: 1", "rule 2 is about the same host, path and type as rule 1"),
    ("rules:\n- host: a.com\n  priority: 1\n  priority: 2", "line 4: 'priority' is there twice"),
    ("rules:\n- {host: a.com, selectors: {title: h1, title: h2}}", "line 2: 'title' is there twice"),
    ("rules:\n- !!python/object/apply:os.system ['true']", "line 2: tags such as"),
    ("rules:\n- host: !!timestamp soon", "line 2: tags such as"),
    ("rules:\n- {[a]: b}", "line 2: found unhashable key"),
    ("rules: " + "[" * 1_000 + "]" * 1_000, "nested too deeply"),
]


def test_a_file_is_imported(terminal: Terminal) -> None:
    terminal.write("r.yaml", GOOD)
    said = terminal.does("rules", "import", "r.yaml")
    assert "news.example.com ^/breaking/ (article): new, high" in said
    assert "*.example.com (any path) (category): new, low, off" in said
    assert "2 changes saved" in said
    first, second = terminal.stores.parser_rules.all()
    assert (first.crawl_priority, first.options) == (1, {"timezone": "Asia/Seoul"})
    assert first.selectors == {"title": SelectorSpec(css="h1"), "tags": SelectorSpec(css=".tag", multi=True)}
    assert (second.target_type, second.crawl_priority, second.enabled) == (TargetType.CATEGORY, 3, False)


@pytest.mark.parametrize(("text", "said"), FAULTS)
def test_a_broken_rule_file_changes_nothing_and_says_why(terminal: Terminal, text: str, said: str) -> None:
    terminal.write("good.yaml", GOOD)
    terminal.does("rules", "import", "good.yaml", "--now")
    before = list(terminal.stores.parser_rules.all())
    terminal.write("bad.yaml", text)
    for command in (["import", "bad.yaml", "--now", "--disable-missing"], ["preview", "bad.yaml"]):
        output = terminal.fails("rules", *command)
        assert "nothing was changed" in output
        assert said in output
    assert list(terminal.stores.parser_rules.all()) == before
    assert terminal.stores.rule_snapshots.latest_version() == 1


def test_all_faults_of_a_file_are_told_at_once(terminal: Terminal) -> None:
    terminal.write("bad.yaml", "rules:\n- {host: A.com, priority: 9}\n- {host: a.com}\n- {host: b.com, path: '('}")
    output = terminal.fails("rules", "import", "bad.yaml")
    assert [word in output for word in ("rule 1, host", "rule 1, priority", "rule 2", "rule 3, path")] == [
        True, True, False, True,
    ]  # fmt: skip


def test_a_file_that_is_no_text_or_not_there_is_named(terminal: Terminal) -> None:
    (terminal.folder / "bad.yaml").write_bytes(b"rules: \xff")
    assert "isn't UTF-8" in terminal.fails("rules", "import", "bad.yaml")
    assert "none.yaml" in terminal.fails("rules", "import", "none.yaml")


def test_a_small_file_that_would_unfold_to_a_huge_one_is_refused_at_once(terminal: Terminal) -> None:
    levels = "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n" for level in range(1, 30))
    terminal.write("bomb.yaml", f"a0: &a0 [x]\n{levels}rules:\n- host: *a29\n")
    assert "line 2: aliases such as *a0 aren't read" in terminal.fails("rules", "import", "bomb.yaml")
    assert "line 2: aliases such as *a0 aren't read" in terminal.fails("seeds", "import", "bomb.yaml")


@pytest.mark.parametrize("group", ["rules", "seeds"])
def test_files_that_cannot_be_read_or_written_are_named(terminal: Terminal, group: str) -> None:
    assert "more than 16 MB" in terminal.fails(group, "import", "/dev/zero")
    assert "No such file" in terminal.fails(group, "export", "none/here.yaml")
    assert "No space left" in terminal.fails(group, "export", "/dev/full", "--overwrite")
    assert terminal.does(group, "export", "-") == f"{group}: []\n"
    assert not (terminal.folder / "-").exists()


def test_a_file_from_windows_is_read(terminal: Terminal) -> None:
    (terminal.folder / "w.yaml").write_bytes(b"\xef\xbb\xbfrules:\r\n- host: a.com\r\n  priority: low\r\n")
    assert "a.com (any path) (article): new, low" in terminal.does("rules", "import", "w.yaml")


def test_an_export_that_would_lose_a_broken_rule_is_refused(terminal: Terminal) -> None:
    saved = terminal.stores.parser_rules.save(ParserRule(host_pattern="a.com"))
    terminal.breaks_selectors(saved.rule_id)
    assert f"parser rule {saved.rule_id} can't be read" in terminal.fails("rules", "export", "r.yaml")
    assert not (terminal.folder / "r.yaml").exists()


def test_importing_an_export_again_brings_back_a_rule_that_had_no_selectors(terminal: Terminal) -> None:
    terminal.does("rules", "add", "a.com", "--priority", "low")
    terminal.does("rules", "export", "before.yaml")
    terminal.does("rules", "edit", "1", "--selector", "title=h1", "--option", "kind=community")
    terminal.does("rules", "import", "before.yaml")
    (rule,) = terminal.stores.parser_rules.all()
    assert (rule.selectors, rule.options, rule.version) == ({}, {}, 3)


@pytest.mark.parametrize("host", ["news.a.com", "https://News.a.com:8443/x"])
def test_the_rules_that_are_asked_for_one_host_are_exported_alone(terminal: Terminal, host: str) -> None:
    rules = terminal.stores.parser_rules
    for pattern, path in (("b.com", ""), ("*.a.com", ""), ("news.a.com", ""), ("news.a.com", "^/long/")):
        rules.save(ParserRule(host_pattern=pattern, path_pattern=path))
    broken = rules.save(ParserRule(host_pattern="c.com"))
    terminal.breaks_selectors(broken.rule_id)
    said = terminal.does("rules", "export", "--host", host)
    assert [line.split()[-1] for line in said.splitlines() if "host:" in line] == ["news.a.com"] * 2 + ["'*.a.com'"]
    assert "Nothing to change: 3 rules" in terminal.does("rules", "import", "-", typed=said)
    assert "no rule about d.com" in terminal.fails("rules", "export", "--host", "d.com")


def test_an_import_says_new_numbers_and_that_pages_are_read_otherwise(terminal: Terminal) -> None:
    terminal.write("r.yaml", GOOD)
    terminal.does("rules", "import", "r.yaml", "--now")
    terminal.write("r.yaml", GOOD.replace("title: h1", "title: h2"))
    said = terminal.does("rules", "import", "r.yaml")
    assert "Rule 1 is now rule 3 (version 2): news.example.com ^/breaking/ (article)." in said
    assert "read that way within 5s" in said
    assert "Priorities are as before." in said


def test_export_then_import_changes_nothing(terminal: Terminal) -> None:
    rules = terminal.stores.parser_rules
    rules.save(ParserRule(host_pattern="a.com", path_pattern="^/'\"#: 가$", crawl_priority=1))
    rules.save(ParserRule(host_pattern="*.a.com", options={"exclude_patterns": "^/x\n^/y", "date_required": "false"}))
    rules.save(ParserRule(host_pattern="yes", enabled=False, selectors={"a": SelectorSpec(css="b", attribute="c")}))
    rules.save(ParserRule(host_pattern="a.com", path_pattern="^/'\"#: 가$", selectors={"t": SelectorSpec(css="x")}))
    before = list(rules.all())
    terminal.does("rules", "export", "r.yaml")
    assert "Nothing to change: 3 rules" in terminal.does("rules", "import", "r.yaml", "--disable-missing")
    assert list(rules.all()) == before
    text = terminal.does("rules", "export")
    assert text == (terminal.folder / "r.yaml").read_text(encoding="utf-8")
    assert "Nothing to change" in terminal.does("rules", "import", "-", typed=text)


@pytest.mark.parametrize("group", ["rules", "seeds"])
def test_no_export_replaces_a_file_unasked(terminal: Terminal, group: str) -> None:
    terminal.write("mine.yaml", "# mine")
    assert "--overwrite" in terminal.fails(group, "export", "mine.yaml")
    assert (terminal.folder / "mine.yaml").read_text() == "# mine"
    terminal.does(group, "export", "mine.yaml", "--overwrite")


def test_an_export_replaces_no_file_unasked(terminal: Terminal) -> None:
    terminal.write("r.yaml", "# mine")
    assert "--overwrite" in terminal.fails("rules", "export", "r.yaml")
    terminal.does("rules", "export", "r.yaml", "--overwrite")
    assert (terminal.folder / "r.yaml").read_text(encoding="utf-8") == "rules: []\n"


def test_what_a_file_doesnt_mention_stays(terminal: Terminal) -> None:
    terminal.write("r.yaml", GOOD)
    terminal.does("rules", "import", "r.yaml")
    terminal.write("less.yaml", "rules:\n- {host: news.example.com, path: ^/breaking/, priority: low}")
    assert "high -> low" in terminal.does("rules", "import", "less.yaml")
    first, second = terminal.stores.parser_rules.all()
    assert (first.version, first.crawl_priority, "title" in first.selectors) == (1, 3, True)
    assert not second.enabled


def test_missing_rules_are_switched_off_on_request_only(terminal: Terminal) -> None:
    for host in ("a.com", "b.com"):
        terminal.does("rules", "add", host, "--priority", "high")
    terminal.write("r.yaml", "rules:\n- {host: a.com}")
    assert "Nothing to change" in terminal.does("rules", "import", "r.yaml")
    dry = terminal.does("rules", "import", "r.yaml", "--disable-missing", "--dry-run")
    assert "b.com (any path) (article): off" in dry
    assert "nothing was saved" in dry
    assert [rule.enabled for rule in terminal.stores.parser_rules.all()] == [True, True]
    terminal.does("rules", "import", "r.yaml", "--disable-missing")
    assert [rule.enabled for rule in terminal.stores.parser_rules.all()] == [True, False]


def published(terminal: Terminal, *urls: str, decided_by: str = "default") -> None:
    terminal.stores.published_recent.write([
        PublishedJob(
            url=url,
            host=url.split("/")[2],
            target_type=TargetType.ARTICLE,
            priority=2,
            decided_by=decided_by,
            at_ms=number,
        )
        for number, url in enumerate(urls)
    ])  # fmt: skip


def test_a_preview_shows_what_would_move_and_saves_nothing(terminal: Terminal) -> None:
    terminal.write("r.yaml", GOOD)
    assert "Nothing has been published yet" in terminal.does("rules", "preview", "r.yaml")
    published(terminal, *(f"https://news.example.com/{path}" for path in ("breaking/1", "breaking/2", "a")))
    published(terminal, "https://news.example.com/breaking/3", decided_by="explicit")
    said = terminal.does("rules", "preview", "r.yaml")
    assert "Looked at the last 4 published URLs." in said
    assert "Of these 1 had a priority that no rule changes" in said
    assert "news.example.com  normal -> high     2  https://news.example.com/breaking/2" in said
    assert "2 would move: high +2, normal -2, low +0." in said
    assert list(terminal.stores.parser_rules.all()) == []
    assert "No URL would move." in terminal.does("rules", "preview", "r.yaml", "--last", "2")


def test_a_preview_may_leave_out_what_isnt_in_the_file(terminal: Terminal) -> None:
    terminal.does("rules", "add", "b.com", "--priority", "low")
    published(terminal, "https://b.com/1")
    terminal.write("r.yaml", "rules: []")
    assert "No URL would move." in terminal.does("rules", "preview", "r.yaml")
    assert "low -> normal" in terminal.does("rules", "preview", "r.yaml", "--disable-missing")

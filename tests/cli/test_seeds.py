"""`issuetracker seeds`: what it shows, what it changes, and what a seed file may say."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.stores import SqlStores
from issuetracker_dagster.cli.seed_transfer import starter_text
from issuetracker_dagster.cli.seeds import seeds
from issuetracker_dagster.cli.seeds_file import WrongSeeds, merged, read_seeds, written
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.seeds import Seed, check_seed
from issuetracker_dagster.settings.load import variables
from tests.migrated import sqlite_at

M = 60_000
H = 60 * M
URL = "https://news.example.com/rss"
FILE = """
seeds:
  - url: https://news.example.com/rss
    source: example-news
    every: 30m
    min: 10m
    max: 6h
    freshness: 12h
    priority: high
  - {url: https://forum.example.org/, source: forum, type: category, every: 1h, timeout: 9s, crawler: w, enabled: false}
"""

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def stores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SqlStores]:
    for name, _, _ in variables():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ISSUETRACKER_HOME", str(tmp_path / "home"))
    opened = SqlStores(connect(sqlite_at(tmp_path / "home" / "issuetracker.db")))
    yield opened
    opened.close()


@pytest.fixture
def run(stores: SqlStores) -> Run:
    def command(*words: str, stdin: str = "") -> tuple[int, str]:
        result = CliRunner().invoke(seeds, list(words), input=stdin)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result.exit_code, result.output

    return command


def now_ms() -> int:
    return int(time.time() * 1000)


def only(stores: SqlStores) -> Seed:
    (found,) = stores.seeds.all()
    return found


def faults_of(text: str) -> str:
    with pytest.raises(WrongSeeds) as wrong:
        merged(read_seeds(text), {}, 0)
    return "\n".join(wrong.value.faults)


def entry(**values: str) -> str:
    lines = [f"{name}: {value}" for name, value in {"url": URL, "source": "example", **values}.items()]
    return "seeds:\n  - " + "\n    ".join(lines) + "\n"


def test_a_seed_is_added_once_and_due_at_once(run: Run, stores: SqlStores) -> None:
    words = ("add", URL, "--source", "example", "--every", "30m", "--min", "10m", "--max", "6h", "--freshness", "12h")
    assert run(*words) == (0, "Added.\n")
    found = only(stores)
    assert (found.interval_ms, found.min_interval_ms, found.max_interval_ms) == (30 * M, 10 * M, 6 * H)
    assert (found.freshness_ms, found.priority, found.enabled) == (12 * H, None, True)
    assert abs(found.next_due_ms - now_ms()) < M
    assert abs(found.since_ms - now_ms()) < M
    code, said = run(*words)
    assert code == 0
    assert "already" in said


def test_a_seed_that_cannot_be_is_a_wrong_argument_that_says_what_to_write(run: Run, stores: SqlStores) -> None:
    code, said = run("add", URL, "--source", "example", "--every", "1h", "--freshness", "10m")
    assert code == 2
    assert "freshness of 2h" in said
    assert run("add", URL, "--every", "1h")[0] == 2
    assert list(stores.seeds.all()) == []


def test_bounds_without_an_interval_begin_inside_them(run: Run, stores: SqlStores) -> None:
    run("add", URL, "--source", "example", "--min", "1h", "--max", "6h")
    assert only(stores).interval_ms == H


def test_an_edit_changes_what_was_given_and_a_shorter_interval_counts_from_now(run: Run, stores: SqlStores) -> None:
    stores.seeds.add([Seed(url=URL, source="example", priority=1, interval_ms=6 * H, next_due_ms=now_ms() + 5 * H)])
    code, said = run("edit", URL, "--every", "1h", "--priority", "by-rule", "--type", "category")
    assert (code, said) == (0, f"{URL}: every 1h\n")
    found = only(stores)
    assert (found.interval_ms, found.priority, found.source) == (H, None, "example")
    assert found.target_type is TargetType.CATEGORY
    assert abs(found.next_due_ms - now_ms() - H) < M


def test_a_new_freshness_target_counts_from_now_and_zero_takes_it_away(run: Run, stores: SqlStores) -> None:
    stores.seeds.add([Seed(url=URL, source="example", since_ms=5)])
    run("edit", str(only(stores).seed_id), "--freshness", "1h")
    assert only(stores).freshness_ms == H
    assert abs(only(stores).since_ms - now_ms()) < M
    run("edit", URL, "--freshness", "0")
    assert only(stores).freshness_ms == 0


def test_an_edit_that_cannot_be_changes_nothing(run: Run, stores: SqlStores) -> None:
    stores.seeds.add([Seed(url=URL, source="example")])
    before = only(stores)
    code, said = run("edit", URL, "--min", "1h")
    assert code == 2
    assert "both min and max" in said
    assert run("edit", URL)[0] == 2
    assert run("edit", "https://nobody.example.com/", "--every", "1h")[0] == 1
    assert only(stores) == before


def test_sources_are_switched_on_and_off_and_removed(run: Run, stores: SqlStores) -> None:
    stores.seeds.add([Seed(url=f"{URL}?n={n}", source="ab"[n % 2], enabled=False) for n in range(4)])
    assert run("enable", "--source", "a") == (0, "2 switched on.\n")
    assert [seed.enabled for seed in stores.seeds.all()] == [True, False, True, False]
    assert all(abs(seed.since_ms - now_ms()) < M for seed in stores.seeds.all() if seed.enabled)
    assert run("enable", f"{URL}?n=0", f"{URL}?n=1") == (0, "1 switched on (1 were before).\n")
    assert run("disable", "2") == (0, "1 switched off.\n")
    assert run("enable", "--source", "nobody")[0] == 1
    assert run("enable")[0] == 2
    assert run("remove", "--source", "a", stdin="n\n")[0] == 1
    assert run("remove", "--source", "a", "--yes") == (0, "2 removed.\n")
    assert {seed.source for seed in stores.seeds.all()} == {"b"}


@pytest.fixture
def three(stores: SqlStores) -> None:
    now = now_ms()
    stores.seeds.add(
        [
            Seed(url="https://a.example.com/", source="a", next_due_ms=now - H, interval_ms=H),
            Seed(
                url="https://b.example.com/", source="b", next_due_ms=now + 30 * M, interval_ms=2 * H,
                min_interval_ms=H, max_interval_ms=3 * H, freshness_ms=6 * H, published_ms=now - 5 * H, since_ms=1,
            ),
            Seed(url="https://c.example.com/", source="c", next_due_ms=now + 5 * H + 30_000, priority=1),
            Seed(url="https://d.example.com/", source="d", enabled=False, freshness_ms=6 * H, since_ms=1),
        ]
    )  # fmt: skip
    url = "https://b.example.com/"
    stores.raw_contents.save(RawContent(url=url, requested_url=url, status=200, fetched_ms=now - 7 * H))


@pytest.mark.usefixtures("three")
def test_the_list_shows_state_interval_bounds_and_age(run: Run) -> None:
    _, said = run("list")
    a, b, c, d = [line.split("  ") for line in said.splitlines()[1:]]
    a, b, c, d = [[cell.strip() for cell in row if cell.strip()] for row in (a, b, c, d)]
    assert a[1:] == ["a", "feed", "on", "now", "1h", "-", "never", "by rule", "https://a.example.com/"]
    assert b[1:8] == ["b", "feed", "stale", "in 29m 59s", "2h (1h..3h)", "6h", "7h ago"]
    assert c[3:5] == ["on", "in 5h"]
    assert c[8] == "high"
    assert d[3:5] == ["off", "-"]


@pytest.mark.usefixtures("three")
def test_the_list_is_filtered_by_source_and_state(run: Run) -> None:
    def shown(*words: str) -> list[str]:
        return [line.split()[1] for line in run("list", *words)[1].splitlines()[1:]]

    assert shown("--source", "a", "--source", "c") == ["a", "c"]
    assert shown("--off") == ["d"]
    assert shown("--on") == ["a", "b", "c"]
    assert shown("--stale") == ["b"]
    assert "No such seeds" in run("list", "--source", "nobody")[1]


@pytest.mark.usefixtures("three")
def test_due_shows_what_is_due_now_and_next_and_why(run: Run) -> None:
    _, said = run("due")
    assert [line.split()[0] for line in said.splitlines()[1:-1]] == ["now", "now"]
    assert "stale, at high priority  b " in said
    assert said.splitlines()[-1].startswith("2 due now; next in 5h: https://c.example.com/")
    _, said = run("due", "--within", "6h")
    assert said.splitlines()[-1] == "2 due now, 1 more within 6h"
    assert len(run("due", "--within", "6h", "--limit", "1")[1].splitlines()) == 3
    assert run("due", "--source", "nosuch") == (
        1, "Error: there is no seed of source nosuch; `issuetracker seeds list` shows sources\n",
    )  # fmt: skip


def test_help_of_add_says_that_the_source_has_to_be_given_and_edit_lets_it_be(run: Run) -> None:
    assert "[required]" in run("add", "--help")[1]
    assert "[required]" not in run("edit", "--help")[1]


def test_a_file_is_imported_once(run: Run, stores: SqlStores, tmp_path: Path) -> None:
    (tmp_path / "seeds.yaml").write_text(FILE)
    assert run("import", "seeds.yaml") == (0, "2 added.\n")
    first, second = stores.seeds.all()
    assert (first.interval_ms, first.min_interval_ms, first.max_interval_ms, first.freshness_ms) == (
        30 * M, 10 * M, 6 * H, 12 * H,
    )  # fmt: skip
    assert (first.priority, first.enabled, first.target_type) == (1, True, TargetType.FEED)
    assert (second.enabled, second.crawler, second.timeout_ms) == (False, "w", 9_000)
    before = stores.seeds.all()
    code, said = run("import", "-", stdin=FILE.replace("30m", "20m"))
    assert code == 0
    assert "0 added" in said
    assert "--update" in said
    assert stores.seeds.all() == before


def test_known_seeds_change_only_with_update_and_what_the_file_does_not_say_stays(run: Run, stores: SqlStores) -> None:
    stores.seeds.add([Seed(url=URL, source="old", crawler="kept", body_sha256="h", next_due_ms=now_ms() + 10 * H)])
    code, said = run("import", "-", "--update", stdin=FILE)
    assert code == 0
    assert "1 added, 1 changed" in said
    changed = stores.seeds.by_url(URL)
    assert changed is not None
    assert (changed.source, changed.crawler, changed.body_sha256, changed.priority) == ("example-news", "kept", "h", 1)
    assert changed.next_due_ms < now_ms() + H
    before = stores.seeds.all()
    assert "0 added, 0 changed" in run("import", "-", "--update", stdin=FILE)[1]
    assert stores.seeds.all() == before


def test_one_fault_keeps_everything_out_and_every_fault_is_told_with_its_line(run: Run, stores: SqlStores) -> None:
    broken = FILE + (
        "  - {url: ftp://x.example.com/, source: x}\n  - url: https://y.example.com/\n    sauce: y\n    every: 600\n"
    )
    code, said = run("import", "-", stdin=broken)
    assert code == 1
    assert "nothing was imported" in said
    assert "line 11, url: 'ftp://x.example.com/' isn't an http or https URL; write the whole URL" in said
    assert "line 13: 'sauce' is unknown; did you mean source?" in said
    assert "line 12, source: missing; write 'source: example-news'" in said
    assert "line 14, every: 600 has no unit; write a duration such as 90s, 10m or 6h" in said
    assert list(stores.seeds.all()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no list named seeds"),
        ("- a", "no list named seeds"),
        ("seeds: 5", "no list named seeds"),
        ("seeds: [", "isn't YAML"),
        ("seeds: []\nseed: 1", "line 2: 'seed' is unknown; did you mean seeds?"),
        ("seeds:\n  - https://a.com/", "line 2: this isn't a seed"),
        (entry(every="soon"), "line 4, every: 'soon' isn't a duration"),
        (entry(every="[1]"), "line 4, every: a list or mapping can't be here"),
        (entry(type="page"), "line 4, type: 'page' is none of article, category, feed, sitemap"),
        (entry(priority="0"), "line 4, priority: priority '0' is none of high, normal, low"),
        (entry(timeout="25h"), "line 4, timeout: the timeout of"),
        (entry(every="9" * 400 + "d"), "isn't a duration of at most 36500d"),
        (entry() + "    [a]: b\n", "line 4: a list or mapping can't be a key"),
        (entry(enabled="perhaps"), "line 4, enabled: 'perhaps' is neither true nor false"),
        (entry(source="''"), "line 3, source: '' isn't text"),
        (entry(min="5m"), "line 2, max: bounds"),
        (entry(every="1h", min="10m", max="30m"), "line 4, every: interval 1h"),
        (entry(freshness="1m"), "line 4, freshness: freshness 1m"),
        (entry() + "  - {url: 'HTTPS://News.Example.com/rss#top', source: b}\n", "is in line 2 already"),
        (entry() + "    source: twice\n", "line 4, source: is there twice"),
    ],
)
def test_a_fault_says_where_it_is_and_what_to_write(text: str, said: str) -> None:
    assert said in faults_of(text)


@pytest.mark.parametrize("code", ["!!python/name:os.system", "!!python/object/apply:os.getcwd []"])
def test_a_file_runs_nothing(code: str) -> None:
    assert "line 3: tags such as" in faults_of(entry(source=code))


def test_what_is_exported_is_read_back_as_it_was(run: Run, stores: SqlStores, tmp_path: Path) -> None:
    run("import", "-", stdin=FILE)
    stores.seeds.add([Seed(url="https://ko.example.kr/", source="한국", interval_ms=90_500, timeout_ms=1_500)])
    before = stores.seeds.all()
    assert run("export", "out.yaml") == (0, "3 seeds in out.yaml.\n")
    text = (tmp_path / "out.yaml").read_text("utf-8")
    assert "source: 한국" in text
    assert "0 added, 0 changed" in run("import", "out.yaml", "--update")[1]
    assert stores.seeds.all() == before
    stores.seeds.remove([seed.url for seed in before])
    run("import", "out.yaml")
    assert written(stores.seeds.all()) == text
    assert run("export", "--source", "forum")[1].count("url:") == 1


def test_a_feed_that_its_host_tells_by_a_tracking_name_keeps_it_and_is_found(run: Run, stores: SqlStores) -> None:
    url, known_as = f"{URL}?rss=1&sid=7", f"{URL}?rss=1"
    run("add", url, "--source", "example", "--every", "1h", "--freshness", "2h")
    run("import", "-", stdin=entry(url=f"'{URL}?rss=2'", freshness="2h"))
    assert [seed.url for seed in stores.seeds.all()] == [url, f"{URL}?rss=2"]
    stores.parser_rules.save(
        ParserRule(host_pattern="news.example.com", options={"keep_params": "rss", "drop_params": "sid"})
    )
    page = RawContent(url=known_as, requested_url=known_as, status=200, fetched_ms=now_ms() - 5 * M)
    stores.raw_contents.save(page)
    (line,) = (line for line in run("list")[1].splitlines() if line.endswith(url))
    assert "5m ago" in line
    assert "stale" not in line
    assert run("disable", url)[1] == "1 switched off.\n"


def test_importing_needs_one_origin(run: Run) -> None:
    assert run("import")[0] == 2
    assert run("import", "-", "--starter")[0] == 2


def test_the_starter_list_is_valid_polite_unique_and_off() -> None:
    found = merged(read_seeds(starter_text()), {}, 0)
    assert len(found) >= 50
    for seed in found:
        check_seed(seed)
        assert not seed.enabled
        assert seed.min_interval_ms >= 10 * M
        assert 10 * M <= seed.interval_ms <= seed.max_interval_ms
        assert seed.max_interval_ms >= H
        assert seed.source
    assert len({seed.url for seed in found}) == len(found)
    assert "none was fetched to check it" in starter_text()


def test_the_starter_list_comes_in_switched_off(run: Run, stores: SqlStores) -> None:
    code, said = run("import", "--starter")
    assert code == 0
    assert "All are off" in said
    assert len(stores.seeds.all()) >= 50
    assert list(stores.seeds.due(10**15, 10)) == []
    assert run("import", "--starter")[1].startswith("0 added")


def test_a_long_file_is_read_in_bounded_time() -> None:
    lines = [
        f"  - {{url: https://h{n}.example.com/, source: s{n}, every: 1h, min: 10m, max: 6h}}" for n in range(2_000)
    ]
    begun = time.monotonic()
    assert len(merged(read_seeds("seeds:\n" + "\n".join(lines)), {}, 0)) == 2_000
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize("command", sorted(seeds.commands))
def test_every_command_has_a_help_text(command: str) -> None:
    result = CliRunner().invoke(seeds, [command, "--help"])
    assert result.exit_code == 0
    assert seeds.commands[command].help

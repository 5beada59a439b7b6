"""`issuetracker blacklist` and `issuetracker why`."""

import sqlite3
import time

import click
import pytest

from issuetracker_dagster.adapters.redis.client import connect
from issuetracker_dagster.adapters.redis.urls import RedisIngestionLock
from issuetracker_dagster.cli.main import cli
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.letters import LetterState, indexed
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.rules import ParserRule
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.stage import Stage
from issuetracker_dagster.ports.locks import Mark
from issuetracker_dagster.ports.traces import PublishedJob
from tests.cli.terminal import Terminal
from tests.dead_letters import letter, lying, written

URL = "https://news.example.com/a"


def lines(terminal: Terminal, *words: str) -> dict[str, str]:
    """What `why` says, by its first word."""
    return dict(line.split(maxsplit=1) for line in terminal.does("why", *words).splitlines())


def test_an_entry_is_added_once_listed_and_removed(terminal: Terminal) -> None:
    assert "empty" in terminal.does("blacklist", "list")
    assert "Added: *.example.com ^/login, drop." in terminal.does("blacklist", "add", "*.example.com", "^/login")
    again = terminal.does("blacklist", "add", "*.example.com", "^/login", "--mode", "extract_links_only")
    assert "It was there already, drop; to change that" in again
    listed = terminal.does("blacklist", "list").splitlines()[1]
    assert listed.split() == ["1", "*.example.com", "^/login", "drop", "manual"]
    assert "no entry" in terminal.fails("blacklist", "remove", "*.example.com")
    terminal.does("blacklist", "remove", "*.example.com", "^/login")
    assert list(terminal.stores.parser_rules.blacklist()) == []


def test_an_entry_is_removed_by_its_number(terminal: Terminal) -> None:
    terminal.does("blacklist", "add", "a.com", "^/x")
    terminal.does("blacklist", "add", "b.com", "^/(y|z)")
    assert "Removed: b.com ^/(y|z)." in terminal.does("blacklist", "remove", "2")
    assert "no entry 2" in terminal.fails("blacklist", "remove", "2")
    assert [entry.host_pattern for entry in terminal.stores.parser_rules.blacklist()] == ["a.com"]


def test_a_host_as_a_whole_says_how_many_seeds_go_with_it(terminal: Terminal) -> None:
    urls = ("https://news.example.com/rss", "https://www.example.com/", "https://example.org/")
    terminal.stores.seeds.add([Seed(url=url, source="x") for url in urls])
    assert "2 seeds are on that host" in terminal.does("blacklist", "add", "*.example.com")
    assert "1 seed is on that host" in terminal.does("blacklist", "add", "example.org")
    assert "seed" not in terminal.does("blacklist", "add", "www.example.com", "^/login")
    assert "seed" not in terminal.does("blacklist", "add", "nobody.example.net")


@pytest.mark.parametrize(("place", "said"), [(["A.com"], "lower case"), (["a.com", "("], "isn't RE2")])
def test_an_entry_that_could_never_match_is_refused(terminal: Terminal, place: list[str], said: str) -> None:
    assert said in terminal.fails("blacklist", "add", *place)


def test_why_goes_by_the_normalised_url(terminal: Terminal) -> None:
    assert lines(terminal, "HTTPS://News.Example.com:443/a?utm_source=x#top")["url"] == URL
    assert "write the whole URL" in terminal.fails("why", "news.example.com/a")


def test_7_why_goes_by_the_name_that_the_rule_of_the_host_gives(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"keep_params": "rss", "drop_params": "sid"}
    terminal.stores.parser_rules.save(ParserRule(host_pattern="news.example.com", options=options))
    assert lines(terminal, f"{URL}?sid=1&rss=2&utm_source=x")["url"] == f"{URL}?rss=2"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{terminal.folder / 'none' / 'none.db'}")
    assert lines(terminal, f"{URL}?sid=1&rss=2")["url"] == f"{URL}?sid=1"


def test_why_names_the_entry_that_hits_and_what_it_does(terminal: Terminal) -> None:
    terminal.does("blacklist", "add", "*.example.com", "^/b", "--mode", "extract_links_only")
    terminal.does("blacklist", "add", "news.example.com", "^/a")
    assert lines(terminal, URL)["blacklist"] == "dropped, by the entry news.example.com ^/a (manual)"
    assert lines(terminal, URL)["way"] == "nowhere: blacklisted"
    assert lines(terminal, "https://x.example.com/b")["blacklist"].startswith("fetched for its links only, by")
    assert "crawl.normal" in lines(terminal, "https://x.example.com/b")["way"]
    assert lines(terminal, "https://example.org/")["blacklist"] == "not on it"


def test_why_names_who_decides_the_priority(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(terminal, URL)["priority"] == "normal, decided by default"
    terminal.does("rules", "add", "news.example.com", "--priority", "low", "--now")
    assert lines(terminal, URL)["priority"] == "low, decided by rule 1"
    monkeypatch.setenv("PRIORITY_BY_SOURCE", "wire=high")
    said = lines(terminal, URL, "--source", "wire")
    assert (said["priority"], said["way"]) == ("high, decided by source", "crawl.high, at once")


def test_why_tells_when_it_was_published_and_fetched(terminal: Terminal) -> None:
    assert lines(terminal, URL)["fetched"].startswith("never")
    two_hours_ago = int(time.time() * 1000) - 2 * 3_600_000 - 1_000
    terminal.stores.published_recent.write([
        PublishedJob(url=URL, host="news.example.com", target_type=TargetType.ARTICLE, priority=1,
                     decided_by="rule 4", at_ms=two_hours_ago)
    ])  # fmt: skip
    terminal.stores.raw_contents.save(
        RawContent(url=URL, requested_url=URL, status=200, body=b"", body_sha256="x", fetched_ms=two_hours_ago)
    )
    said = lines(terminal, URL)
    assert said["published"].startswith("2h")
    assert said["published"].endswith("ago, high, decided by rule 4")
    assert said["fetched"].endswith("ago, status 200")
    assert not {"seed", "died"} & said.keys()


def published(terminal: Terminal, age_ms: int) -> None:
    job = PublishedJob(
        url=URL, host="news.example.com", target_type=TargetType.ARTICLE, priority=2, at_ms=now_ms() - age_ms
    )
    terminal.stores.published_recent.write([job])


def now_ms() -> int:
    return int(time.time() * 1000)


def test_why_tells_a_job_on_its_way_from_a_page_that_is_gone(terminal: Terminal) -> None:
    published(terminal, 7_200_000)
    assert lines(terminal, URL)["fetched"] == "never, or its page was purged"
    published(terminal, 60_000)
    assert lines(terminal, URL)["fetched"] == "not yet"


def test_why_tells_where_a_url_died_and_then_waits_for_no_page(terminal: Terminal) -> None:
    published(terminal, 20 * 60_000)
    others = [letter(f"r{n}", b'{"url": "https://news.example.com/%d"}' % n, offset=n) for n in range(3)]
    died = written("r9", f'{{"url": "{URL}"}}'.encode(), stage=Stage.FETCH, at_ms=0)
    terminal.stores.dead_letters.record([*others, indexed(lying(died, 9, logged_ms=now_ms() - 13 * 60_000 - 1_000))])
    said = lines(terminal, URL)
    assert said["died"].startswith("13m")
    assert said["died"].endswith(" ago in fetch: http_404 (letter 4)")
    assert said["fetched"] == "never, or its page was purged"
    terminal.stores.dead_letters.mark([4], LetterState.REDRIVEN, now_ms())
    assert lines(terminal, URL)["died"].endswith("(letter 4, redriven)")


def test_why_says_that_a_url_is_a_seed_and_how_it_is_looked_at(terminal: Terminal) -> None:
    due_ms = now_ms() + 600_500
    terminal.stores.seeds.add([Seed(url=URL, source="wire", interval_ms=3_600_000, priority=1, next_due_ms=due_ms)])
    said = lines(terminal, URL)["seed"]
    assert said.startswith("1 of wire, every 1h, its own priority high, due in ")
    terminal.stores.seeds.set_enabled([URL], enabled=False, now_ms=now_ms())
    assert lines(terminal, URL)["seed"].endswith("switched off")


def test_why_says_which_part_cannot_be_asked_and_shows_the_others(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("REDIS_URL", "redis://127.0.0.1:1/0")
    said = lines(terminal, URL)
    assert said["known"].startswith("can't tell, Redis can't be asked")
    assert "Redis can't be asked" in said["way"]
    assert said["priority"] == "normal, decided by default"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{terminal.folder / 'none' / 'none.db'}")
    assert lines(terminal, URL)["priority"].startswith("can't tell, the database can't be asked")


@pytest.mark.services
def test_why_tells_a_pending_url_from_a_known_one(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, clean_valkey_url: str
) -> None:
    # Kafka isn't there, and isn't needed to answer.
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1")
    monkeypatch.setenv("REDIS_URL", clean_valkey_url)
    lock = RedisIngestionLock(connect(clean_valkey_url))
    mark = Mark(URL, "why-test")
    assert lines(terminal, URL)["known"] == "no: it would be published"
    lock.begin([mark])
    assert "isn't confirmed yet" in lines(terminal, URL)["known"]
    lock.confirm([(mark, 3_600_000)])
    assert lines(terminal, URL)["known"].startswith("yes: published a short while ago, known for another")
    assert lines(terminal, URL)["way"] == "nowhere: known for 59m 59s; --again publishes it"
    lock.release([mark])
    assert lines(terminal, URL)["way"] == "crawl.normal, at once (buffering is off)"


def commands(group: click.Group, before: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Every command, with its groups."""
    found: list[tuple[str, ...]] = []
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        found.append((*before, name))
        if isinstance(command, click.Group):
            found += commands(command, (*before, name))
    return found


@pytest.mark.parametrize("words", commands(cli), ids=" ".join)
def test_every_command_has_a_help_text_that_says_what_it_does(words: tuple[str, ...]) -> None:
    command: click.Command = cli
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    assert command.help
    assert command.help.split("\n\n")[0].rstrip().endswith(".")
    for option in command.params:
        assert not isinstance(option, click.Option) or option.help, option.name


def test_why_goes_on_when_somebody_wrote_an_entry_that_is_none(terminal: Terminal) -> None:
    terminal.does("blacklist", "add", "*.example.com")
    with sqlite3.connect(terminal.folder / "issuetracker.db") as database:
        database.execute(
            "INSERT INTO parser_blacklist (entry_hash, host_pattern, path_pattern, mode, source)"
            " VALUES ('x', 'news.example.com', '(', 'drop', 'sql')"
        )
    assert lines(terminal, URL)["blacklist"] == "dropped, by the entry *.example.com (any path) (manual)"

"""Writers of rules that meet: none waits for another for ever, and all versions of a rule keep one priority."""

import random
import threading
from pathlib import Path

import msgspec
import pytest
from sqlalchemy import event

from issuetracker_dagster.adapters.sql.engine import connect
from issuetracker_dagster.adapters.sql.parser_rules import SqlParserRules
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from tests.contracts.store_worlds import Stores
from tests.migrated import sqlite_at

WRITERS, STEPS = 4, 25
HOSTS = ("a.com", "b.com", "c.com")


def rule(dice: random.Random, host: str) -> ParserRule:
    css = f"h{dice.randrange(4)}"
    return ParserRule(
        host_pattern=host, selectors={"title": SelectorSpec(css=css)}, crawl_priority=dice.randrange(1, 4)
    )


@pytest.mark.slow
def test_imports_saves_and_switches_at_once_leave_each_rule_with_one_priority(stores: Stores) -> None:
    failures: list[BaseException] = []

    def write(seed: int) -> None:
        dice = random.Random(seed)
        rules = stores.parser_rules
        try:
            for _ in range(STEPS):
                rules.apply([rule(dice, host) for host in dice.sample(HOSTS, 3)])
                saved = rules.save(rule(dice, dice.choice(HOSTS)))
                rules.set_priority(saved.rule_id, dice.randrange(1, 4))
                rules.set_enabled(saved.rule_id, enabled=True)
        except BaseException as error:
            failures.append(error)
            raise

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(WRITERS)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert not any(writer.is_alive() for writer in writers)
    assert failures == []
    for host in HOSTS:
        versions = stores.parser_rules.for_host(host, TargetType.ARTICLE)
        assert len({version.crawl_priority for version in versions}) == 1
        assert len({version.version for version in versions}) == len(versions)


def test_an_import_holds_up_other_writers_for_a_few_statements_however_many_rules(tmp_path: Path) -> None:
    engine = connect(sqlite_at(tmp_path / "rules.db"))
    asked: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *said: asked.append(said[2]))
    many = [ParserRule(host_pattern="a.com", path_pattern=f"^/{number}/") for number in range(2_000)]
    rules = SqlParserRules(engine)
    rules.apply(many)
    rules.apply([msgspec.structs.replace(rule, crawl_priority=3, options={"timezone": "Asia/Seoul"}) for rule in many])
    assert len([statement for statement in asked if "parser_rules" in statement]) <= 6
    assert {(rule.version, rule.crawl_priority) for rule in rules.all()} == {(2, 3)}
    engine.dispose()

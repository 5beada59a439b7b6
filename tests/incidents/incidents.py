"""The five incidents: what is done to the demo, the check that has to turn, and the way out that the guide names."""

from collections.abc import Callable
from dataclasses import dataclass

from issuetracker_dagster.model.headers import Headers
from issuetracker_dagster.model.message import Outgoing
from issuetracker_dagster.model.priority import Priority
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec
from issuetracker_dagster.model.stage import Stage, Topic
from tests.incidents.scene import Scene
from tests.journey.stage_work import low, send
from tests.waiting import eventually


@dataclass(frozen=True)
class Incident:
    """`happen` is the incident, `mend` what an operator does."""

    name: str
    asset: str
    check: str
    happen: Callable[[Scene], None]
    mended_by: str
    mend: Callable[[Scene], None]


def _stage_off(scene: Scene) -> None:
    scene.demo.ui.switch("validate_workers", on=False)


def _stage_on(scene: Scene) -> None:
    scene.demo.ui.switch("validate_workers", on=True)


def _layout_changed(scene: Scene) -> None:
    _save_rule(scene)
    scene.publish_pages(12)
    _wait_for_pages(scene, 12)
    scene.site.layout = "autumn"
    scene.publish_pages(12)


def _rule_mended(scene: Scene) -> None:
    _save_rule(scene)
    scene.demo.said("reparse", "--host", scene.site.host, "--missed")


def _save_rule(scene: Scene) -> None:
    layout = scene.site.layout
    selectors = {
        "title": SelectorSpec(css=f"h1.{layout}-title"),
        "main_content": SelectorSpec(css=f"div.{layout}-text p", multi=True),
    }
    scene.demo.wiring().stores.parser_rules.save(ParserRule(host_pattern=scene.site.host, selectors=selectors))


def _wait_for_pages(scene: Scene, count: int) -> None:
    stored = scene.demo.wiring().stores.raw_contents
    urls = [scene.site.url(number) for number in range(count)]
    eventually(lambda: len(stored.seen(urls)) == count, timeout_s=180, interval_s=1)


def _broker_down(scene: Scene) -> None:
    scene.kafka.kill()


def _broker_up(scene: Scene) -> None:
    scene.kafka.start()


def _poison(scene: Scene) -> None:
    scene.demo.wiring().producer.publish(
        [
            Outgoing(Topic.FETCHED, b"poison", b"\xff{not json", [("root_id", f"poison:{n}".encode())])
            for n in range(150)
        ]
    )


def _poison_cleared(scene: Scene) -> None:
    scene.demo.said("dlq", "purge", "--stage", "parser", "--newer-than", "1h", "--reason", "malformed", "--yes")


def _low_starves(scene: Scene) -> None:
    send(scene.demo.wiring(), Stage.ENRICH, *_high(0, 1_000), *low(20, "starving"), *_high(1_000, 5_000))


def _high(first: int, end: int) -> list[Headers]:
    return [Headers(root_id=f"flood{number}", priority=Priority.HIGH) for number in range(first, end)]


def _low_lifted(scene: Scene) -> None:
    scene.demo.said("queue", "move", "enrich", "--from", "low", "--to", "high", "--yes")


INCIDENTS = (
    Incident(
        "a stage is off and traffic comes",
        "kafka/validated",
        "workers",
        _stage_off,
        "`validate_workers` is switched on",
        _stage_on,
    ),
    Incident(
        "a host changed its layout",
        "sql/parser_rules",
        "rules_match",
        _layout_changed,
        "the rule gets new selectors, `issuetracker reparse --missed`",
        _rule_mended,
    ),
    Incident("the broker is down", "servers/kafka", "reachable", _broker_down, "the broker is started", _broker_up),
    Incident(
        "150 messages that nobody can read",
        "kafka/dlq",
        "rate",
        _poison,
        "`issuetracker dlq purge --reason malformed`",
        _poison_cleared,
    ),
    Incident(
        "low never gets its turn",
        "redis/enrich_queue",
        "age",
        _low_starves,
        "`issuetracker queue move enrich --from low --to high`",
        _low_lifted,
    ),
)

"""The lineage graph as people read it: one journey from left to right, and each asset says what and where it is."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.assets.graph.asset_graph import AssetNode

from issuetracker_dagster.settings.load import variables
from tests.docs.test_links import anchors

ROOT = Path(__file__).parents[2]
JOURNEY = [
    ["sql", "scheduler_entries"],
    ["redis", "buffer_normal"],
    ["kafka", "crawl_normal"],
    ["redis", "frontier"],
    ["kafka", "fetched"],
    ["redis", "parser_queue"],
    ["kafka", "normalized"],
    ["redis", "validate_queue"],
    ["kafka", "validated"],
    ["redis", "enrich_queue"],
    ["sql", "issues"],
    ["reports", "issue_digest"],
]
SERVERS = {"topic": "kafka", "key": "redis", "table": "sql"}


def is_server(key: dg.AssetKey) -> bool:
    return key.path[0] == "servers"


@pytest.fixture
def nodes(load_definitions: Any) -> dict[dg.AssetKey, AssetNode]:
    graph = load_definitions(KAFKA_TOPIC_PREFIX="here.", ENRICH_ZSET_QUEUE_KEY="own:key").resolve_asset_graph()
    return {key: graph.get(key) for key in graph.get_all_asset_keys()}


def test_every_asset_has_a_group_a_kind_an_owner_and_one_sentence(nodes: dict[dg.AssetKey, AssetNode]) -> None:
    for key, node in nodes.items():
        assert node.group_name not in (None, "default"), key
        assert len(node.kinds) == 1, key
        assert list(node.owners) == ["team:issuetracker"], key
        assert re.fullmatch(r"[A-Z][^.]*( crawl\.\w+[^.]*)?\.", node.description or ""), key


def test_every_asset_leads_to_a_section_of_the_guide_and_names_settings_that_exist(
    nodes: dict[dg.AssetKey, AssetNode],
) -> None:
    known = {name for name, _, _ in variables()}
    for key, node in nodes.items():
        page, _, anchor = node.metadata["guide"].partition("#")
        assert anchor in anchors(ROOT / page), key
        named = node.metadata["settings"].split(", ") if "settings" in node.metadata else []
        assert set(named) <= known, key


def test_topics_keys_and_tables_are_named_as_the_servers_know_them(nodes: dict[dg.AssetKey, AssetNode]) -> None:
    def place(*path: str) -> dict[str, str]:
        return dict(nodes[dg.AssetKey(path)].metadata)

    assert place("kafka", "crawl_high")["topic"] == "here.crawl.high"
    assert place("kafka", "crawl_high")["read_by_group"] == "issuetracker-crawler-workers"
    assert place("redis", "enrich_queue")["key"] == "own:key"
    assert place("redis", "buffer_low")["key"] == "publisher:buffer:low"
    assert place("redis", "retries")["key"] == "retry:due"
    for name, kind in SERVERS.items():
        assert {key for key, node in nodes.items() if kind in node.kinds and not is_server(key)} == {
            key for key, node in nodes.items() if name in node.metadata
        }


def test_one_journey_leads_from_the_seeds_to_the_digest(nodes: dict[dg.AssetKey, AssetNode]) -> None:
    steps = [dg.AssetKey(path) for path in JOURNEY]
    for before, after in pairwise(steps):
        assert before in nodes[after].parent_keys, after
    assert dg.AssetKey(["redis", "enrich_queue"]) in nodes[dg.AssetKey(["kafka", "enriched"])].parent_keys


def test_nothing_but_servers_stands_apart_from_the_journey(nodes: dict[dg.AssetKey, AssetNode]) -> None:
    joined, pending = set[dg.AssetKey](), [dg.AssetKey(JOURNEY[0])]
    while pending:
        key = pending.pop()
        if key not in joined:
            joined.add(key)
            pending += [*nodes[key].parent_keys, *nodes[key].child_keys]
    assert joined == {key for key in nodes if not is_server(key)}
    assert {key.path[1] for key in nodes if is_server(key)} == set(SERVERS.values())


def test_no_arrow_between_groups_leads_back(nodes: dict[dg.AssetKey, AssetNode]) -> None:
    above: dict[str | None, set[str | None]] = {node.group_name: set() for node in nodes.values()}
    for node in nodes.values():
        above[node.group_name] |= {nodes[parent].group_name for parent in node.parent_keys} - {node.group_name}
    while above:
        first = {group for group, before in above.items() if not before & above.keys()}
        assert first, f"{above} lead round"
        above = {group: before for group, before in above.items() if group not in first}


def test_every_check_says_what_it_judges(load_definitions: Any) -> None:
    graph = load_definitions().resolve_asset_graph()
    for key in graph.asset_check_keys:
        assert (graph.get(key).description or "").strip().endswith("."), key

"""Which sources are behind their freshness target."""

from typing import Any

import msgspec

from issuetracker_dagster.adapters.memory.store_seeds import MemorySeeds
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.flow.freshness import Freshness, freshness
from issuetracker_dagster.flow.requests import name_of
from issuetracker_dagster.flow.rules import HostTable
from issuetracker_dagster.model.records import RawContent
from issuetracker_dagster.model.seeds import Seed
from issuetracker_dagster.model.urls import ParameterRule

M = 60_000
H = 60 * M
NOW = 100 * H


def add(stores: MemoryStores, name: str, source: str = "", fetched_ms: int = 0, **fields: Any) -> None:
    url = f"https://{name}.example.com/"
    seed = Seed(**{"url": url, "source": source or name, "freshness_ms": 2 * H, "since_ms": H, **fields})
    stores.seeds.add([seed])
    if fetched_ms:
        page = RawContent(url=url, requested_url=url, status=200, fetched_ms=fetched_ms)
        stores.raw_contents.save(page)


def state(stores: MemoryStores) -> Freshness:
    return freshness(stores.seeds, stores.raw_contents, lambda url: name_of(url, HostTable(())), NOW)


def test_a_source_is_in_breach_when_a_page_was_not_fetched_for_its_target() -> None:
    stores = MemoryStores()
    add(stores, "late", fetched_ms=NOW - 2 * H)
    add(stores, "fresh", fetched_ms=NOW - 2 * H + 1)
    add(stores, "never")
    add(stores, "new", since_ms=NOW - H)
    add(stores, "off", enabled=False)
    add(stores, "aimless", freshness_ms=0)
    found = state(stores)
    assert (found.watched, found.stale) == (4, 2)
    assert [str(breach) for breach in found.breaches] == [
        "never: never fetched in 4d 3h, target 2h (https://never.example.com/)",
        "late: not fetched for 2h, target 2h (https://late.example.com/)",
    ]


def test_a_source_with_many_stale_pages_is_named_once_by_its_most_overdue() -> None:
    stores = MemoryStores()
    for hours in (5, 9, 7):
        add(stores, f"p{hours}", source="wire", fetched_ms=NOW - hours * H)
    found = state(stores)
    assert [str(breach) for breach in found.breaches] == [
        "wire: not fetched for 9h, target 2h (https://p9.example.com/ and 2 more)"
    ]
    assert found.stale == 3


def test_the_most_overdue_is_the_one_that_is_most_behind_its_own_target() -> None:
    stores = MemoryStores()
    add(stores, "slow", fetched_ms=NOW - 30 * H, freshness_ms=24 * H)
    add(stores, "quick", fetched_ms=NOW - 3 * H, freshness_ms=H)
    assert [breach.seed.source for breach in state(stores).breaches] == ["quick", "slow"]


def test_a_page_is_found_under_the_name_that_the_rule_of_its_host_gives_it() -> None:
    stores = MemoryStores()
    stores.seeds.add([Seed(url="https://a.example.com/?sid=1&b=2&a=1", source="a", freshness_ms=2 * H, since_ms=H)])
    known_as = "https://a.example.com/?a=1&b=2"
    stores.raw_contents.save(RawContent(url=known_as, requested_url=known_as, status=200, fetched_ms=NOW - H))
    rules = HostTable([("a.example.com", "", ParameterRule(drop=frozenset({"sid"}), any_order=True))])
    assert freshness(stores.seeds, stores.raw_contents, lambda url: name_of(url, rules), NOW).stale == 0
    assert state(stores).stale == 1


def test_a_seed_that_is_no_url_is_stale_and_hides_no_other() -> None:
    stores = MemoryStores()
    add(stores, "fresh", fetched_ms=NOW)
    (good,) = stores.seeds.watched()
    broken = msgspec.structs.replace(good, seed_id=9, url="https://", source="broken")

    class Seeds(MemorySeeds):
        def watched(self) -> list[Seed]:
            return [good, broken]

    found = freshness(Seeds(), stores.raw_contents, lambda url: name_of(url, HostTable(())), NOW)
    assert [breach.seed.source for breach in found.breaches] == ["broken"]

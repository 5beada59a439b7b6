"""The contract of `Seeds`, and of `RawContents.seen`, by which seeds know how their pages are."""

from typing import Any

import msgspec
import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.seeds import Seed
from tests.contracts.store_worlds import Stores, page

M = 60_000


def seed(name: str = "a", **fields: Any) -> Seed:
    return Seed(url=f"https://{name}.com/feed", source=name, **fields)


def names(seeds: Any) -> list[str]:
    return [found.source for found in seeds]


def only(stores: Stores) -> Seed:
    (found,) = stores.seeds.all()
    return found


def test_seeds_are_added_once_and_come_when_due(stores: Stores) -> None:
    seeds = [
        seed("a", next_due_ms=20),
        seed("b", next_due_ms=10, priority=1, crawler="c", interval_ms=M, min_interval_ms=M, max_interval_ms=9 * M),
        seed("c", enabled=False),
        seed("d", next_due_ms=99, freshness_ms=600_000, since_ms=7, published_ms=5, body_sha256="s"),
    ]
    assert stores.seeds.add(seeds) == 4
    assert stores.seeds.add([*seeds, seed("e", target_type=TargetType.SITEMAP)]) == 1
    assert names(stores.seeds.all()) == ["a", "b", "c", "d", "e"]
    assert names(stores.seeds.due(20, 10)) == ["e", "b", "a"]
    assert names(stores.seeds.due(20, 1)) == ["e"]
    assert [msgspec.structs.replace(found, seed_id=0) for found in stores.seeds.all()][:4] == seeds


def test_those_of_a_source_are_counted_whether_on_or_off(stores: Stores) -> None:
    of_page = [Seed(url=f"https://a.com/{number}", source="page:a.com", enabled=number > 1) for number in range(3)]
    stores.seeds.add([*of_page, seed("a.com"), Seed(url="https://b.com/1", source="page:b.com")])
    assert stores.seeds.count_of("page:a.com") == 3
    assert stores.seeds.count_of("page:c.com") == 0


def test_due_goes_on_behind_the_last_of_another_answer(stores: Stores) -> None:
    stores.seeds.add([seed(name, next_due_ms=5) for name in "abc"] + [seed("z", next_due_ms=4), seed("y")])
    first = stores.seeds.due(5, 2)
    second = stores.seeds.due(5, 2, after=first[-1])
    assert [*names(first), *names(second)] == ["y", "z", "a", "b"]
    assert names(stores.seeds.due(5, 9, after=second[-1])) == ["c"]


def test_watched_are_those_that_are_on_and_have_a_target(stores: Stores) -> None:
    stores.seeds.add([seed("a", freshness_ms=M * 60), seed("b", freshness_ms=M * 60, enabled=False), seed("c")])
    assert names(stores.seeds.watched()) == ["a"]


def test_what_was_published_goes_on_as_told(stores: Stores) -> None:
    stores.seeds.add([seed(name, min_interval_ms=M, max_interval_ms=20 * M, interval_ms=10 * M) for name in "abc"])
    a, b, _ = stores.seeds.all()
    after = [
        msgspec.structs.replace(each, next_due_ms=50, interval_ms=2 * M, body_sha256="h", published_ms=9)
        for each in (a, b)
    ]
    stores.seeds.scheduled(after)
    assert names(stores.seeds.due(20, 10)) == ["c"]
    assert stores.seeds.all()[:2] == after
    stores.seeds.scheduled([])


@pytest.mark.parametrize(
    "edit",
    [
        {"interval_ms": 5 * M},
        {"interval_ms": 30 * M, "min_interval_ms": 30 * M, "max_interval_ms": 60 * M},
    ],
)
def test_a_seed_edited_since_it_was_read_stays_as_edited_and_due(stores: Stores, edit: dict[str, int]) -> None:
    stores.seeds.add([seed(interval_ms=10 * M)])
    read = only(stores)
    edited = msgspec.structs.replace(read, **edit)
    stores.seeds.put([edited])
    stores.seeds.scheduled([msgspec.structs.replace(read, next_due_ms=99, published_ms=9)])
    assert only(stores) == edited


def test_a_seed_that_is_gone_is_not_scheduled_again(stores: Stores) -> None:
    stores.seeds.add([seed()])
    read = only(stores)
    assert stores.seeds.remove([read.url, "https://nobody.com/"]) == 1
    stores.seeds.scheduled([msgspec.structs.replace(read, next_due_ms=99)])
    assert list(stores.seeds.all()) == []
    stores.seeds.add([seed("b")])
    assert only(stores).seed_id != read.seed_id


def test_putting_changes_what_people_set_and_leaves_what_the_scheduler_found(stores: Stores) -> None:
    stores.seeds.add([seed(body_sha256="h", published_ms=7, next_due_ms=40), seed("b")])
    wanted = msgspec.structs.replace(
        stores.seeds.all()[0], source="other", priority=3, interval_ms=M, freshness_ms=10 * M, enabled=False,
        timeout_ms=5, crawler="x", target_type=TargetType.CATEGORY, next_due_ms=2, since_ms=3,
    )  # fmt: skip
    forged = msgspec.structs.replace(wanted, seed_id=99, body_sha256="", published_ms=0)
    assert stores.seeds.put([forged, seed("nobody")]) == 1
    assert stores.seeds.by_url(wanted.url) == wanted
    assert names(stores.seeds.all()) == ["other", "b", "nobody"]


def test_a_url_that_is_twice_in_a_batch_is_one_seed(stores: Stores) -> None:
    assert stores.seeds.add([seed(priority=1), seed(priority=2), seed("b")]) == 2
    assert stores.seeds.put([seed(priority=2), seed(priority=3), seed("c"), seed("c", priority=1)]) == 1
    assert {each.source: each.priority for each in stores.seeds.all()} == {"a": 3, "b": None, "c": 1}
    assert (stores.seeds.add([]), stores.seeds.put([])) == (0, 0)


def test_putting_what_cannot_be_changes_nothing(stores: Stores) -> None:
    stores.seeds.add([seed("a"), seed("b")])
    before = stores.seeds.all()
    with pytest.raises(PermanentError, match=r"https://b\.com/feed"):
        stores.seeds.put([seed("a", priority=1), seed("b", priority=7)])
    assert stores.seeds.all() == before


def test_a_seed_is_found_by_its_id_and_by_its_url(stores: Stores) -> None:
    stores.seeds.add([seed("a"), seed("b")])
    found = stores.seeds.by_url("https://b.com/feed")
    assert found is not None
    assert stores.seeds.get(found.seed_id) == found
    assert stores.seeds.by_url("https://nobody.com/") is None
    assert stores.seeds.get(99) is None


def test_switching_on_begins_a_new_age_and_counts_what_changed(stores: Stores) -> None:
    stores.seeds.add([seed("a", enabled=False, since_ms=1), seed("b", since_ms=2)])
    urls = [each.url for each in stores.seeds.all()]
    assert stores.seeds.set_enabled([*urls, "https://nobody.com/"], enabled=True, now_ms=9) == 1
    assert [(each.enabled, each.since_ms) for each in stores.seeds.all()] == [(True, 9), (True, 2)]
    assert stores.seeds.set_enabled(urls, enabled=False, now_ms=20) == 2
    assert [(each.enabled, each.since_ms) for each in stores.seeds.all()] == [(False, 9), (False, 2)]
    assert stores.seeds.set_enabled([], enabled=True, now_ms=20) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"priority": 0},
        {"priority": 9},
        {"interval_ms": 0},
        {"interval_ms": M, "min_interval_ms": 2 * M, "max_interval_ms": 3 * M},
        {"max_interval_ms": 60 * M},
        {"interval_ms": 10 * M, "freshness_ms": M},
    ],
)
def test_a_seed_that_cannot_be_is_refused_with_its_companions(stores: Stores, wrong: dict[str, int]) -> None:
    with pytest.raises(PermanentError, match=r"https://b\.com/feed") as refused:
        stores.seeds.add([seed("a"), seed("b", **wrong)])
    assert refused.value.code == "invalid_seed"
    assert list(stores.seeds.all()) == []


def test_more_urls_than_a_statement_binds_are_switched_and_removed(stores: Stores) -> None:
    stores.seeds.add([seed(f"s{number}") for number in range(1_100)])
    urls = [each.url for each in stores.seeds.all()]
    assert stores.seeds.set_enabled(urls, enabled=False, now_ms=1) == 1_100
    assert stores.seeds.remove(urls) == 1_100


def test_what_was_seen_of_many_urls_at_once(stores: Stores) -> None:
    pages = [page(f"https://a.com/{number}", str(number).encode(), fetched_ms=number) for number in range(3)]
    ids = [stores.raw_contents.save(each) for each in pages]
    stores.raw_contents.touch(ids[1], 77, "", "")
    asked = [each.requested_url for each in pages[:2]] + [f"https://b.com/{number}" for number in range(1_100)]
    assert stores.raw_contents.seen(asked) == {
        "https://a.com/0": (pages[0].body_sha256, 0),
        "https://a.com/1": (pages[1].body_sha256, 77),
    }
    assert stores.raw_contents.seen([]) == {}

"""Clustering over the memory stores: one issue an event, whatever the order, however many workers."""

import itertools
import random
import threading
from collections import defaultdict
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.adapters.clock import FakeClock
from issuetracker_dagster.adapters.memory.stores import MemoryStores
from issuetracker_dagster.model.headers import REPARSE, Headers
from issuetracker_dagster.model.outcome import HandlerContext
from issuetracker_dagster.model.payload import ContentRef
from issuetracker_dagster.model.records import Issue, IssueState
from issuetracker_dagster.ports.stores import MemberView
from issuetracker_dagster.stages.enrich.aging import age_issues
from issuetracker_dagster.stages.enrich.handler import EnrichHandler
from issuetracker_dagster.stages.enrich.linking import better_half, decayed, in_common
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.vectors import (
    TextVector,
    VectorCache,
    Weighed,
    most_central,
    vector_of,
)
from tests.stages.enrich_stories import ALDER_1, ALDER_2, ALDER_3, BUSAN_1, HOUR_MS, KELLAN_1, NOW_MS, STORIES, Report

OPTIONS = EnrichOptions()


class World:
    """An enrich stage with its stores."""

    def __init__(self, options: EnrichOptions = OPTIONS) -> None:
        self.stores = MemoryStores()
        self.clock = FakeClock(NOW_MS)
        self.handler = EnrichHandler(self.stores.contents, self.stores.issues, self.clock, options)

    def enrich(self, report: Report) -> int:
        content = report.content()
        content_id = self.stores.contents.save(content)
        ref = ContentRef(content_id=content_id, url=content.url)
        outcome = self.handler.handle(ref, HandlerContext(Headers(root_id=report.url)))
        assert outcome.forward == ref
        return content_id

    def clusters(self) -> set[frozenset[str]]:
        """The issues as sets of URLs."""
        by_issue: dict[int, set[str]] = defaultdict(set)
        for content_id, content in self.stores.contents.rows.items():
            (view,) = self.stores.issues.views([content_id])
            by_issue[view.issue_id].add(content.url)
        return {frozenset(urls) for urls in by_issue.values()}

    def issue_with(self, report: Report) -> Issue:
        content_id = self.stores.contents.save(report.content())
        (view,) = self.stores.issues.views([content_id])
        issue = self.stores.issues.get(view.issue_id)
        assert issue is not None
        return issue


def events(stories: Sequence[Report]) -> set[frozenset[str]]:
    by_event: dict[str, set[str]] = defaultdict(set)
    for story in stories:
        by_event[story.event].add(story.url)
    return {frozenset(urls) for urls in by_event.values()}


def test_one_event_on_three_hosts_is_one_issue_and_other_events_stay_apart() -> None:
    world = World()
    for story in STORIES:
        world.enrich(story)
    assert world.clusters() == events(STORIES)
    issue = world.issue_with(ALDER_1)
    assert (issue.content_count, issue.source_count) == (3, 3)
    assert issue.language == "en"
    assert issue.title in {ALDER_1.title, ALDER_2.title, ALDER_3.title}
    assert issue.first_seen_ms == issue.last_seen_ms == NOW_MS
    assert issue.velocity > 0
    assert world.issue_with(BUSAN_1).source_count == 3


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_arrival_gives_the_same_clusters(seed: int) -> None:
    world = World()
    for story in random.Random(seed).sample(STORIES, len(STORIES)):
        world.enrich(story)
    assert world.clusters() == events(STORIES)


def test_issue_facts_do_not_depend_on_the_order_of_arrival() -> None:
    facts = set()
    for order in itertools.permutations((ALDER_1, ALDER_2, ALDER_3)):
        world = World()
        for story in order:
            world.enrich(story)
        issue = msgspec.structs.replace(
            world.issue_with(ALDER_1), velocity=round(world.issue_with(ALDER_1).velocity, 9)
        )
        facts.add(issue)
    assert len(facts) == 1


def test_workers_at_once_never_open_two_issues_for_one_event() -> None:
    for _ in range(3):
        world = World()
        gate = threading.Barrier(len(STORIES))

        def enrich(story: Report, world: World = world, gate: threading.Barrier = gate) -> None:
            gate.wait()
            world.enrich(story)

        with ThreadPoolExecutor(len(STORIES)) as pool:
            list(pool.map(enrich, STORIES))
        assert world.clusters() == events(STORIES)
        for story in STORIES:
            found = world.stores.issues.enrichment(world.stores.contents.save(story.content()))
            assert found is not None
            members = sum(other.event == story.event for other in STORIES)
            assert found.factors["source_diversity"] == pytest.approx(1 - 1 / members)


def test_a_content_that_links_two_issues_merges_them_into_the_older() -> None:
    world = World()
    first = msgspec.structs.replace(ALDER_1, body=ALDER_1.body.split("\n")[0], title="Norwick Logistics in Port Alder")
    other = Report(
        "alder-fire", "http://news-d.localhost:8080/x", "Batteries burned", "Batteries on the second floor burned."
    )
    bridge = Report(
        "alder-fire",
        "http://news-e.localhost:8080/x",
        "Norwick Logistics in Port Alder: batteries burned",
        f"{first.body}\n{other.body}",
    )
    world.enrich(first)
    world.enrich(other)
    assert len(world.clusters()) == 2
    oldest = world.issue_with(first).issue_id
    world.enrich(bridge)
    assert len(world.clusters()) == 1
    merged = world.issue_with(bridge)
    assert merged.issue_id == oldest
    assert (merged.content_count, merged.source_count) == (3, 3)
    for report in (first, other, bridge):
        found = world.stores.issues.enrichment(world.stores.contents.save(report.content()))
        assert found is not None
        assert found.issue_id == oldest
        assert found.factors["source_diversity"] == pytest.approx(2 / 3)


def test_the_same_words_long_apart_are_two_events() -> None:
    world = World()
    world.enrich(ALDER_1)
    world.enrich(msgspec.structs.replace(ALDER_2, hours_ago=24 * 30))
    assert len(world.clusters()) == 2


def test_a_closed_issue_is_joined_by_nothing() -> None:
    world = World()
    world.enrich(ALDER_1)
    old = world.issue_with(ALDER_1).issue_id
    world.clock.advance(OPTIONS.close_after_ms + HOUR_MS)
    world.enrich(msgspec.structs.replace(ALDER_2, hours_ago=-73))
    assert world.issue_with(ALDER_2).issue_id != old


def test_silent_issues_fade_and_then_close_as_others_are_enriched() -> None:
    world = World()
    for story in (ALDER_1, ALDER_2, ALDER_3):
        world.enrich(story)
    assert world.issue_with(ALDER_1).state is IssueState.ACTIVE
    world.clock.advance(36 * HOUR_MS)
    world.enrich(KELLAN_1)
    faded = world.issue_with(ALDER_1)
    assert faded.state is IssueState.FADING
    assert faded.velocity < 0.01
    world.clock.advance(40 * HOUR_MS)
    assert age_issues(world.stores.issues, world.clock.now_ms(), OPTIONS) == 1
    assert world.issue_with(ALDER_1).state is IssueState.CLOSED
    assert world.issue_with(ALDER_1).title == faded.title


def test_for_a_large_issue_that_was_closed_its_newest_members_speak() -> None:
    world = World()
    world.enrich(KELLAN_1)
    issue_id = world.issue_with(KELLAN_1).issue_id

    def join(report: Report, number: int) -> int:
        content = msgspec.structs.replace(report, url=f"{report.url}/{number}").content()
        content_id = world.stores.contents.save(content)
        view = MemberView(
            content_id, issue_id, content.host, content.title, content.body, "en", NOW_MS, NOW_MS + number, (), ()
        )
        return world.stores.issues.assign(view, issue_id)

    # A running story whose beginning has nothing in common with what it is about by now.
    for number in range(100):
        join(KELLAN_1 if number < 60 else ALDER_1, number)
    read_again = msgspec.structs.replace(ALDER_1, url=f"{ALDER_1.url}/99")
    world.clock.advance(OPTIONS.close_after_ms + HOUR_MS)
    age_issues(world.stores.issues, world.clock.now_ms(), OPTIONS)
    assert world.issue_with(KELLAN_1).state is IssueState.CLOSED
    content = read_again.content()
    ref = ContentRef(content_id=world.stores.contents.save(content), url=content.url)
    world.handler.handle(ref, HandlerContext(Headers(root_id="again", other=((REPARSE, b"1"),))))
    assert world.issue_with(read_again).issue_id == issue_id


def member(content_id: int, title: str = "T", body: str = "", entities: tuple[str, ...] = ()) -> MemberView:
    return MemberView(content_id, 1, "a.example", title, body, "en", NOW_MS, NOW_MS, (), entities)


def vector(report: Report) -> TextVector:
    return vector_of(member(1, report.title, report.body))


def telling(names: Collection[str] = (), **numbers: Collection[str]) -> TextVector:
    """A vector of which only names and numbers are known."""
    said = {unit: frozenset(values) for unit, values in numbers.items()}
    return TextVector(np.zeros(0, np.int32), np.zeros(0, np.float32), frozenset(names), said)


def close(cosine: float, one: TextVector, other: TextVector, apart_ms: int = 0) -> float:
    return float(decayed(np.array([cosine]), np.array([apart_ms]), OPTIONS)[0]) * in_common(one, other)


NAMES = st.sets(st.sampled_from(["ann", "lee", "alder", "norwick", "un"]))
NUMBERS = st.dictionaries(st.sampled_from(["peopl", "%", "명"]), st.sets(st.sampled_from("1379"), min_size=1))
TELLING = st.builds(lambda names, numbers: telling(names, **numbers), NAMES, NUMBERS)


@given(st.floats(0, 1), st.integers(-(10**9), 10**9), TELLING, TELLING)
def test_closeness_is_the_same_from_either_side_and_never_above_the_cosine(
    cosine: float, apart_ms: int, one: TextVector, other: TextVector
) -> None:
    found = close(cosine, one, other, apart_ms)
    assert found == close(cosine, other, one, -apart_ms)
    assert 0.0 <= found <= cosine


def test_closeness_halves_in_three_days() -> None:
    assert close(0.8, telling(), telling(), 72 * HOUR_MS) == pytest.approx(0.4)


def test_those_who_name_nobody_in_common_are_strangers() -> None:
    alder = telling(["alder", "norwick", "delgado"])
    assert close(0.8, alder, telling(["alder", "ostrander"])) == pytest.approx(0.8)
    assert close(0.8, alder, telling(["kellan", "ostrander"])) == pytest.approx(0.4)
    assert close(0.8, alder, telling(["kellan"])) == pytest.approx(0.8), "too few names to go by"


def test_the_same_things_counted_with_other_results_are_another_day() -> None:
    today = telling(degree=["21"], kilometre=["30"], percent=["10"])
    assert close(0.8, today, today) == pytest.approx(0.8)
    assert close(0.8, today, telling(degree=["24"], kilometre=["18"], percent=["60"])) == pytest.approx(0.4)
    assert close(0.8, today, telling(degree=["21"], kilometre=["18"])) == pytest.approx(0.6)
    assert close(0.8, today, telling(degree=["24"])) == pytest.approx(0.8), "a single figure may have been revised"


def test_the_better_half_decides() -> None:
    assert better_half(np.array([0.1, 0.5, 0.7])) == pytest.approx(0.6)
    assert better_half(np.array([0.4])) == pytest.approx(0.4)
    assert better_half(np.zeros(0)) == 0.0


def test_cosines_are_those_of_the_texts() -> None:
    alder, kellan, empty = vector(ALDER_1), vector(KELLAN_1), vector_of(member(1, "", ""))
    everything = [alder, kellan, empty]
    weighed = Weighed(everything)
    itself, other, nothing = weighed.alike(alder)
    assert itself == pytest.approx(1.0)
    assert 0.0 < other < 0.3
    assert nothing == 0.0
    assert not weighed.alike(empty).any()
    assert not len(Weighed([]).alike(alder))
    assert weighed.alike(alder)[1] == other, "one comparison leaves nothing behind for the next"


def test_names_and_numbers_weigh_more_than_other_words() -> None:
    plain = vector_of(member(1, "Fire in Alder hurts 12 people"))
    named = vector_of(member(1, "Fire in Alder hurts 12 people", entities=("Alder",)))
    raised = named.weights / plain.weights
    assert sorted(raised) == pytest.approx([1.0] * (len(raised) - 1) + [1.75])
    assert max(plain.weights) / min(plain.weights) == pytest.approx(1.75), "12 people"
    assert named.names == {"alder"}
    assert named.numbers == {"peopl": {"12"}}


def test_what_the_lead_says_weighs_more_than_what_comes_later() -> None:
    lead = "Batteries burned in Alder. "
    background = "Storage rules changed twice. " * 20
    early, late = (vector_of(member(1, "", body)) for body in (lead + background, background + lead))
    words = vector_of(member(1, "", "Batteries")).positions
    assert early.weights[np.isin(early.positions, words)] == pytest.approx([1.0 + np.log(2.0)])
    assert late.weights[np.isin(late.positions, words)] == pytest.approx([1.0])


def test_the_lead_ends_with_a_word_where_words_are_told_by_spaces() -> None:
    spaced, unspaced = "lead " * 59 + "storages " * 20, "語" * 400
    assert set(vector_of(member(1, "", spaced)).positions) == set(vector_of(member(1, "", "lead storages")).positions)
    assert len(vector_of(member(1, "", unspaced)).positions) == 1


def test_words_are_as_rare_as_the_issues_that_say_them_are_few() -> None:
    of_one_event, of_two_events = [vector(ALDER_1)] * 4 + [vector(KELLAN_1)], [vector(ALDER_1), vector(KELLAN_1)]
    shared = Weighed(of_one_event, shares=np.array([0.25] * 4 + [1.0]))
    assert shared.rarity == pytest.approx(Weighed(of_two_events).rarity)
    assert shared.rarity.min() > Weighed(of_one_event).rarity.min()


def test_the_most_central_text_is_the_one_most_like_the_others() -> None:
    texts = [("storm hits coast", ""), ("storm hits coast of Alder", ""), ("bread prices", "")]
    assert most_central([vector_of(member(1, *text)) for text in texts]) == 0
    assert most_central([vector_of(member(1, "", ""))]) == 0


def test_the_cache_of_vectors_is_bounded_and_notices_a_new_title() -> None:
    cache = VectorCache(2)
    for content_id in (1, 2, 3):
        cache.put(member(content_id))
    forgotten, kept, renamed = cache.find([member(1), member(3), msgspec.structs.replace(member(3), title="Other")])
    assert forgotten is None
    assert kept is not None
    assert renamed is None

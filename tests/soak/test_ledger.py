"""The ledger finds what is lost, and takes nothing for an end that doesn't show."""

from itertools import count

import pytest

from issuetracker_dagster.model.stage import Topic
from tests.soak.ledger import Database, End, Expected, Ledger, Seen

URL = "http://soak.localhost/story/1"
_places = count()


def seen(topic: Topic, root_id: str = "r", url: str = URL, **told: object) -> Seen:
    return Seen(topic=topic, place=f"{topic}@{next(_places)}", root_id=root_id, url=url, **told)  # type: ignore[arg-type]


def ledger(*records: Seen) -> Ledger:
    found = Ledger()
    for each in records:
        found.note(each)
    return found


def database(contents: dict[int, str] | None = None, stored: str = "", blacklisted: str = "") -> Database:
    return Database(contents or {}, {stored}, {blacklisted})


WHOLE = (Topic.CRAWL_LOW, Topic.FETCHED, Topic.NORMALIZED, Topic.VALIDATED, Topic.ENRICHED)


def journey(upto: int = len(WHOLE), root_id: str = "r", url: str = URL) -> list[Seen]:
    return [
        seen(topic, root_id, url, generation=0, at_ms=place, content_id=5 if place > 1 else 0)
        for place, topic in enumerate(WHOLE[:upto])
    ]


def test_a_whole_journey_is_enriched_when_sql_says_so_too() -> None:
    judged = ledger(*journey()).judge([], database({5: "enriched"}))
    assert judged.ends == {End.ENRICHED: 1}
    assert not judged.lost
    assert ledger(*journey()).judge([], database({5: "validated"})).ends == {End.LOST: 1}


@pytest.mark.parametrize("upto", [1, 2, 3, 4])
def test_a_journey_that_breaks_off_is_lost_and_says_where(upto: int) -> None:
    judged = ledger(*journey(upto)).judge([], database({5: "parsed"}))
    (lost,) = judged.lost
    assert lost.root_id == "r"
    assert lost.why == f"went no further than {WHOLE[upto - 1]}"
    assert lost.places[-1].startswith(WHOLE[upto - 1])


def test_what_was_acknowledged_and_never_reached_a_topic_is_lost() -> None:
    judged = ledger().judge([Expected("gone", URL, End.ENRICHED)], database())
    assert [(one.root_id, one.why) for one in judged.lost] == [("gone", "never reached a topic")]


def test_each_other_end_has_to_show_in_a_topic_or_in_sql() -> None:
    rejected = ledger(*journey(3))
    assert rejected.judge([], database({5: "rejected"})).ends == {End.REJECTED: 1}
    dead = ledger(*journey(2), seen(Topic.DLQ, generation=0, at_ms=9, reason="http_404"))
    assert dead.judge([], database()).ends == {End.DEAD: 1}
    assert dead.judge([], database()).reasons == {"http_404": 1}
    assert ledger(*journey(1)).judge([], database(stored=URL)).ends == {End.UNCHANGED: 1}
    assert ledger(*journey(2)).judge([], database(blacklisted=URL)).ends == {End.INDEX: 1}
    listed = [seen(topic, generation=0, at_ms=0, target_type="category") for topic in WHOLE[:2]]
    assert ledger(*listed).judge([], database()).ends == {End.LINKS: 1}


def test_an_end_that_had_to_be_another_one_is_told() -> None:
    dead = ledger(*journey(2), seen(Topic.DLQ, generation=0, at_ms=9, reason="max_deliveries"))
    (otherwise,) = dead.judge([Expected("r", URL, End.ENRICHED)], database()).otherwise
    assert otherwise.why == "had to be enriched, was dead-lettered"


def test_a_healthy_page_may_be_dead_for_a_retry_that_could_not_be_written() -> None:
    dead = ledger(*journey(2), seen(Topic.DLQ, generation=0, at_ms=9, reason="retry_unavailable"))
    judged = dead.judge([Expected("r", URL, End.ENRICHED)], database())
    assert not judged.otherwise
    assert judged.reasons == {"retry_unavailable": 1}


def test_a_link_of_a_list_has_to_be_published_and_to_arrive() -> None:
    link = "http://soak.localhost/linked/1"
    listed = [seen(topic, generation=0, at_ms=0, target_type="category") for topic in WHOLE[:2]]
    expected = [Expected("r", URL, End.LINKS, (link,))]
    assert "was never published" in ledger(*listed).judge(expected, database()).lost[0].why
    whole = ledger(*listed, *journey(root_id="child", url=link)).judge(expected, database({5: "enriched"}))
    assert not whole.lost
    assert not whole.otherwise


def test_repeats_are_counted_and_a_record_that_is_read_twice_is_none() -> None:
    twice = seen(Topic.FETCHED, generation=0, at_ms=1)
    again = seen(Topic.FETCHED, generation=0, at_ms=2)
    retried = seen(Topic.FETCHED, generation=1, at_ms=3)
    judged = ledger(twice, twice, again, retried).judge([], database())
    assert judged.repeats[Topic.FETCHED] == 1
    assert judged.records == {Topic.FETCHED: 3}


def test_a_root_with_two_contents_is_told() -> None:
    records = [seen(Topic.NORMALIZED, generation=0, at_ms=each, content_id=each) for each in (1, 2)]
    assert ledger(*records).judge([], database()).two_contents == ("r",)


def test_the_first_new_content_after_a_fault_is_found() -> None:
    arrived = [seen(Topic.ENRICHED, f"r{at_ms}", generation=0, at_ms=at_ms) for at_ms in (10, 30, 20)]
    repeat = seen(Topic.ENRICHED, "r10", generation=0, at_ms=12)
    found = ledger(*arrived, repeat)
    assert found.enriched_after(11) == 20
    assert found.enriched_after(30) is None

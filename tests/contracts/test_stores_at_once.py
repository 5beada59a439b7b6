"""Writers that meet on the same few rows: whatever their order, none waits for another for ever."""

import random
import threading
from collections.abc import Callable

import pytest

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.records import Enrichment, Verdict
from tests.contracts.store_worlds import Stores, article, member

WRITERS, STEPS = 4, 40


def actions(stores: Stores, contents: list[int], dice: random.Random) -> list[Callable[[], object]]:
    """Every write that two workers can do at the same time to one content or issue."""
    one, two = dice.choice(contents[-6:]), dice.choice(contents[-6:])
    texts = [f"Text {number}" for number in range(3)]

    def merge() -> None:
        issues = [view.issue_id for view in stores.issues.views([one, two])]
        stores.issues.merge(issues[0], issues[-1])

    def another() -> None:
        new = stores.contents.save(article(dice.randrange(10_000)))
        stores.issues.assign(member(new), None)
        contents.append(new)

    return [
        lambda: stores.contents.save(article(one, body=dice.choice(texts))),
        lambda: stores.contents.record_verdict(one, Verdict(accepted=dice.random() < 0.5)),
        lambda: stores.contents.clear_date(one, "after the fetch"),
        lambda: stores.contents.first_with_hash("hash", one),
        lambda: stores.contents.save_signature(one, [f"b{dice.randrange(4)}" for _ in range(3)], b"s"),
        lambda: stores.contents.link_copy(one, duplicate_of=two, near_duplicate_of=two),
        lambda: stores.issues.save_enrichment(Enrichment(content_id=one, trust=0.5)),
        lambda: stores.issues.assign(member(one, seen_ms=dice.randrange(1_000)), None),
        merge,
        merge,
        another,
    ]


@pytest.mark.slow
def test_writers_at_once_on_the_same_rows_never_block_each_other(stores: Stores) -> None:
    contents = [stores.contents.save(article(number)) for number in range(1, 5)]
    for content_id in contents:
        stores.issues.assign(member(content_id), None)
    failures: list[BaseException] = []

    def write(seed: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(STEPS):
                try:
                    dice.choice(actions(stores, contents, dice))()
                except PermanentError as error:
                    # An issue that another writer has merged away meanwhile is no failure.
                    if error.code != "unknown_issue":
                        raise
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert failures == []
    views = stores.issues.views(contents)
    assert [view.content_id for view in views] == sorted(set(contents))
    for issue_id in {view.issue_id for view in views}:
        issue = stores.issues.get(issue_id)
        assert issue is not None
        assert issue.content_count == len(stores.issues.members(issue_id))
    assert stores.reports.counts()["issues"] == len({view.issue_id for view in views})

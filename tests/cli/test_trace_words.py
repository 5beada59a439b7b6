"""What `issuetracker trace` says, without any server."""

from issuetracker_dagster.cli.trace_words import place_lines
from issuetracker_dagster.model.whereabouts import Place, Search


def test_places_of_a_server_that_is_out_share_a_line() -> None:
    search = Search(unasked={"topic fetched": "Kafka is out", "frontier": "Redis is out", "topic dlq": "Kafka is out"})
    lines = list(place_lines(["r"], "", search, 0))
    assert lines[1].split(maxsplit=1)[1] == "in none of the places that could be asked"
    told = [line for line in lines if line.startswith("not asked")]
    assert [line.split(maxsplit=2)[2] for line in told] == [
        "topic fetched, topic dlq: Kafka is out",
        "frontier: Redis is out",
    ]


def test_a_wait_says_how_much_is_left_of_it_and_how_long_it_has_been_over() -> None:
    waiting = Place(kind="retries", name="fetched", state="waiting", root_id="r", until_ms=65_000)
    told = [list(place_lines(["r"], "", Search(places=(waiting,)), now_ms))[1] for now_ms in (60_000, 68_000)]
    assert told[0].endswith("waiting, for another 5s")
    assert told[1].endswith("waiting, due for 3s")


def test_nowhere_is_said_only_when_every_place_was_asked() -> None:
    assert list(place_lines(["r"], "", Search(), 0))[1].split()[1] == "nowhere:"

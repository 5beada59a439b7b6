"""What `issuetracker trace` says, without any server."""

from issuetracker_dagster.cli.trace_words import place_lines
from issuetracker_dagster.model.whereabouts import Search


def test_places_of_a_server_that_is_out_share_a_line() -> None:
    search = Search(unasked={"topic fetched": "Kafka is out", "frontier": "Redis is out", "topic dlq": "Kafka is out"})
    lines = list(place_lines(["r"], "", search, 0))
    assert lines[1].split(maxsplit=1)[1] == "in none of the places that could be asked"
    told = [line for line in lines if line.startswith("not asked")]
    assert [line.split(maxsplit=2)[2] for line in told] == [
        "topic fetched, topic dlq: Kafka is out",
        "frontier: Redis is out",
    ]


def test_nowhere_is_said_only_when_every_place_was_asked() -> None:
    assert list(place_lines(["r"], "", Search(), 0))[1].split()[1] == "nowhere:"

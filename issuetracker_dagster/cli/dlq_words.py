"""How the `dlq` commands speak of letters: anybody may have written them, so nothing of them reaches a terminal raw."""

from collections.abc import Iterator

from issuetracker_dagster.flow.redrive import RedriveReport
from issuetracker_dagster.model.durations import about_duration
from issuetracker_dagster.model.letters import Letter
from issuetracker_dagster.model.redrive import EXPLAINED


def printable(text: str) -> str:
    """The text with everything that a terminal might obey written as an escape; line breaks and tabs stay."""
    return "".join(sign if sign.isprintable() or sign in "\n\t" else ascii(sign)[1:-1] for sign in text)


def line_of(text: str, limit: int) -> str:
    """The same in one line of at most that many characters."""
    line = printable(" ".join(text[: 4 * limit].split()))
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


def age(at_ms: int, now_ms: int) -> str:
    """How long ago."""
    return about_duration(now_ms - at_ms)


def state_word(letter: Letter) -> str:
    """Its state, where those that only force redrives are told apart."""
    return "exhausted" if letter.is_exhausted else letter.state.value


def redrive_words(report: RedriveReport, *, dry_run: bool) -> Iterator[str]:
    """What a redrive did, a line each."""
    topics = ", ".join(f"{count} to {topic}" for topic, count in sorted(report.by_topic.items()))
    done = "Would redrive" if dry_run else "Redriven"
    yield f"{done}: {report.redriven}{f' ({topics})' if topics else ''}."
    for left, count in sorted(report.left.items()):
        yield f"Left: {count} {left.value} ({EXPLAINED[left]})."

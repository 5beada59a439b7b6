"""A language model as enrich sees it: asked in words, answering in a shape that was agreed on."""

from typing import Protocol, TypeVar

from issuetracker_dagster.errors import IssueTrackerError

T = TypeVar("T")


class ModelFailed(IssueTrackerError):
    """No usable answer: out of reach, too slow, refused, or not in the shape asked for. The offline way takes over."""


class LanguageModel(Protocol):
    """Called from several threads at once."""

    def answer(self, instruction: str, text: str, shape: type[T]) -> T:
        """The model's answer as a value of `shape` (a msgspec struct), validated; raises `ModelFailed`.

        `text` comes from the web: it is material for the model, and whatever the answer says has to be checked by the
        caller.
        """

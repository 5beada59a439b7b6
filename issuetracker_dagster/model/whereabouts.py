"""Where a message is: one place of the journey, as `issuetracker trace` tells it. Field names are those of `--json`."""

from typing import Literal

import msgspec

Kind = Literal["topic", "buffer", "queue", "frontier", "retries", "dlq", "content"]


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A message at one place. `name` is that of the topic, stage, host or content; `until_ms` (Unix, 0: none) is when
    a lease ends or a wait is over.

    `state` is `unread`, `waiting`, `draining`, `ready`, `leased`, `delayed`, `outbox`, `open`, `redriven`, `purged` or
    what a content's status is.
    """

    kind: Kind
    name: str
    state: str
    root_id: str
    generation: int | None = None
    priority: str = ""
    until_ms: int = 0
    url: str = ""
    detail: str = ""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, which places couldn't be asked and why, and which were too large to be looked through whole."""

    places: tuple[Place, ...] = ()
    unasked: dict[str, str] = {}
    incomplete: tuple[str, ...] = ()

    def plus(self, other: "Search") -> "Search":
        """Both together."""
        return Search(
            places=self.places + other.places,
            unasked={**self.unasked, **other.unasked},
            incomplete=self.incomplete + other.incomplete,
        )

"""What assets show beside their lineage: where they really lie, the settings that shape them, the guide's section."""

from typing import TypedDict

OWNERS = ("team:issuetracker",)

SEEDS_GUIDE = "operating-sources.md#seeds"
RULES_GUIDE = "operating-sources.md#rules"
REPARSE_GUIDE = "operating-sources.md#reading-pages-again"
DIGEST_GUIDE = "operating-sources.md#the-digest"
BUFFER_GUIDE = "operating.md#the-buffer"
QUEUE_GUIDE = "operating.md#between-queue-and-kafka"
FIGURES_GUIDE = "operating.md#figures"
HISTORY_GUIDE = "operating.md#history"
OUTAGES_GUIDE = "operating-failures.md#when-something-is-out"
LETTERS_GUIDE = "operating-failures.md#dead-letters"


class Described(TypedDict):
    """What every asset says of itself, as arguments of `AssetSpec` and of `@asset`."""

    group_name: str
    kinds: set[str]
    owners: list[str]
    description: str
    metadata: dict[str, str]


def described(kind: str, group: str, description: str, guide: str, *settings: str, **places: str) -> Described:
    """The facts of one asset.

    `settings` are names of variables; `places` name the topic, key or table as tools for that server know it.
    """
    metadata = {**places, "guide": f"docs/{guide}"} | ({"settings": ", ".join(settings)} if settings else {})
    return Described(group_name=group, kinds={kind}, owners=list(OWNERS), description=description, metadata=metadata)

"""How the DLQ stands: open letters of the last hour, by stage and reason, against what the stages handled meanwhile.

A letter that was redriven or purged is dealt with; one that dies again is another.
"""

from collections import Counter
from collections.abc import Mapping

import msgspec

from issuetracker_dagster.model.stage import FACTS, Stage

HOUR_MS = 3_600_000


class DlqHealth(msgspec.Struct, frozen=True, kw_only=True):
    """Open `letters` of the last hour by (stage, reason), `arrived` records of the last hour by topic.

    `unindexed` letters lie on the topic and aren't in the index yet, so nothing is known of their stage or age.
    """

    letters: Mapping[tuple[str, str], int]
    arrived: Mapping[str, int]
    unindexed: int = 0

    @property
    def total(self) -> int:
        """Open letters of the last hour; those that aren't indexed count as such, whatever their age."""
        return sum(self.letters.values()) + self.unindexed

    def of_stage(self, stage: Stage) -> int:
        """Open letters of the last hour that the stage gave up."""
        return sum(count for (name, _), count in self.letters.items() if name == stage.value)

    def handled(self, stage: Stage) -> int:
        """About how many messages the stage ended in that hour: what came for it or, while it works off what waited,
        what it passed on and gave up."""
        facts = FACTS[stage]
        came = sum(self.arrived.get(topic.value, 0) for topic in facts.inputs)
        return max(came, self.arrived.get(facts.output.value, 0) + self.of_stage(stage))

    def share(self, stage: Stage) -> float:
        """Dead letters among what the stage handled, from 0 to 1."""
        handled = self.handled(stage)
        return self.of_stage(stage) / handled if handled else 0.0

    def most(self, count: int) -> list[tuple[str, str, int]]:
        """The commonest (stage, reason) with their letters."""
        return [(stage, reason, found) for (stage, reason), found in Counter(dict(self.letters)).most_common(count)]

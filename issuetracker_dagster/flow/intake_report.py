"""What an intake says of its ticks."""

import msgspec


class IntakeReport(msgspec.Struct, frozen=True):
    """One tick in numbers. `skipped` says why nothing could be done; `rewound_to_ms` that a lost queue is refilled."""

    stored: int = 0
    known: int = 0
    dead_lettered: int = 0
    evicted: int = 0
    refused: int = 0
    lost_to_retention: int = 0
    rewound_to_ms: int | None = None
    skipped: str = ""

    def plus(self, step: "IntakeReport") -> "IntakeReport":
        """The counts of both; everything else stays."""
        return msgspec.structs.replace(
            self,
            stored=self.stored + step.stored,
            known=self.known + step.known,
            dead_lettered=self.dead_lettered + step.dead_lettered,
            evicted=self.evicted + step.evicted,
            refused=self.refused + step.refused,
        )

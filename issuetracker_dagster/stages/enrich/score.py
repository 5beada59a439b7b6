"""Step 4: trust, pure."""

from collections.abc import Sequence

from issuetracker_dagster.model.records import Content, ContentClaim
from issuetracker_dagster.stages.enrich.steps import Extraction, Score
from issuetracker_dagster.stages.validate.measure import count_words

CONTEXT_FIELDS = 6
_LONG_BODY_WORDS = 200


class FormulaScorer:
    """trust = 0.5 claim_support_ratio + 0.3 source_diversity + 0.2 context_completeness."""

    def score(self, claims: Sequence[ContentClaim], source_count: int, context_completeness: float) -> Score:
        """`source_count` counts the distinct sources of the issue, this content's own included."""
        supported = sum(claim.status == "supported" for claim in claims)
        contradicted = sum(claim.status == "contradicted" for claim in claims)
        factors = {
            "claim_support_ratio": supported / len(claims) if claims else 0.5,
            "source_diversity": 1 - 1 / max(1, source_count),
            "context_completeness": context_completeness,
        }
        trust = (
            0.5 * factors["claim_support_ratio"]
            + 0.3 * factors["source_diversity"]
            + 0.2 * factors["context_completeness"]
        )
        return Score(min(1.0, trust), factors, _rationale(len(claims), supported, contradicted, source_count, factors))


def context_completeness(content: Content, extraction: Extraction) -> float:
    """The share of author, date, two entities, three keywords, summary, and a body of 200 words that is present.

    Words are counted by the measure of the script, as validate does.
    """
    present = (
        bool(content.author.strip()),
        content.published_ms > 0,
        len(extraction.entities) >= 2,
        len(extraction.keywords) >= 3,
        bool(content.summary.strip()),
        count_words(content.body).words >= _LONG_BODY_WORDS,
    )
    return sum(present) / CONTEXT_FIELDS


def _rationale(claims: int, supported: int, contradicted: int, sources: int, factors: dict[str, float]) -> str:
    if claims:
        said = f"{supported} of {claims} claims are supported by other sources and {contradicted} contradicted"
    else:
        said = "It makes no claim that could be checked"
    carried = "no other source carries the issue" if sources <= 1 else f"{sources} sources carry the issue"
    context = round(factors["context_completeness"] * CONTEXT_FIELDS)
    return f"{said}, {carried}, and {context} of {CONTEXT_FIELDS} context fields are present."

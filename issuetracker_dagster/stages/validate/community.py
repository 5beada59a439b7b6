"""The rules for community posts, pure: short and untitled ones are fine, floods aren't."""

from issuetracker_dagster.model.records import Content, Verdict
from issuetracker_dagster.stages.validate.measure import flood_share
from issuetracker_dagster.stages.validate.options import ValidateOptions
from issuetracker_dagster.stages.validate.verdict import Fault, Found, present, verdict_of, weighted


def judge_community(content: Content, options: ValidateOptions) -> Verdict:
    """Body, spam and quality, in that order; quality = 0.6 body + 0.4 meta."""
    body = content.body.strip()
    scores = {
        "body": body_score(len(body), options.community_body_min),
        "meta": weighted((present(content.title), 0.4), (content.published_ms > 0, 0.3), (present(content.url), 0.3)),
        "flood": flood_share(body),
    }
    quality = 0.6 * scores["body"] + 0.4 * scores["meta"]
    fault = _body_fault(body, options) or _flood_fault(scores["flood"], options) or _quality_fault(quality, options)
    return verdict_of(fault, quality, scores, ())


def body_score(length: int, shortest: int = 50) -> float:
    """Below `shortest` code points 0, from 200 on 1, else n/200."""
    if length < shortest:
        return 0.0
    return min(1.0, length / 200)


def _body_fault(body: str, options: ValidateOptions) -> Found:
    if not body:
        return Fault("VAL_001", "the body is missing", refetch=True)
    if len(body) < options.community_body_min:
        reason = f"the body has {len(body)} characters, at least {options.community_body_min} are needed"
        return Fault("VAL_003", reason, refetch=True)
    return None


def _flood_fault(share: float, options: ValidateOptions) -> Found:
    if share > options.community_flood_max:
        return Fault("VAL_006", f"{share:.0%} of the characters are in runs of equal ones")
    return None


def _quality_fault(quality: float, options: ValidateOptions) -> Found:
    # As with news: a sum of tenths may miss the limit by an ulp.
    if quality + 1e-9 < options.community_quality_min:
        return Fault("VAL_005", f"quality {quality:.2f} is below {options.community_quality_min:.2f}")
    return None

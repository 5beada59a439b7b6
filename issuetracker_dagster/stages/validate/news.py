"""The rules for news, pure: what is missing, too short, too long, spam, or too poor to keep."""

from issuetracker_dagster.model.records import Content, Verdict
from issuetracker_dagster.stages.validate.measure import count_words, symbol_share, upper_share
from issuetracker_dagster.stages.validate.options import ValidateOptions
from issuetracker_dagster.stages.validate.verdict import Fault, Found, present, verdict_of, weighted


def judge_news(content: Content, options: ValidateOptions) -> Verdict:
    """Title, body, date, spam and quality, in that order; the first fault decides, every score is kept.

    quality = 0.4 words + 0.3 meta + 0.3 structure.
    """
    title, body = content.title.strip(), content.body.strip()
    counted = count_words(body)
    scores = {
        "words": word_score(counted.words),
        "meta": weighted((present(content.author), 0.4), (present(content.category), 0.3), (bool(content.tags), 0.3)),
        "structure": weighted((present(content.url), 0.3), (present(content.summary), 0.3), ("\n" in body, 0.4)),
        "upper": upper_share(title + body),
        "symbols": symbol_share(title + body),
    }
    quality = 0.4 * scores["words"] + 0.3 * scores["meta"] + 0.3 * scores["structure"]
    fault = (
        _title_fault(title, options)
        or _body_fault(body, options)
        or _date_fault(content)
        or _spam_fault(scores, options)
        or _quality_fault(quality, options)
    )
    return verdict_of(fault, quality, scores, (f"words_measure:{counted.measure}",))


def word_score(words: float) -> float:
    """No words 0.5 (then the body rule speaks), fewer than 50 n/50 x 0.5, up to 200 linear to 1, more 1."""
    if words <= 0:
        return 0.5
    if words < 50:
        return words / 50 * 0.5
    if words < 200:
        return 0.5 + (words - 50) / 150 * 0.5
    return 1.0


def _title_fault(title: str, options: ValidateOptions) -> Found:
    if not title:
        return Fault("VAL_001", "the title is missing")
    if len(title) < options.news_title_min:
        return Fault("VAL_003", f"the title has {len(title)} characters, at least {options.news_title_min} are needed")
    if len(title) > options.news_title_max:
        return Fault("VAL_004", f"the title has {len(title)} characters, at most {options.news_title_max} are allowed")
    return None


def _body_fault(body: str, options: ValidateOptions) -> Found:
    if not body:
        return Fault("VAL_001", "the body is missing", refetch=True)
    if len(body) < options.news_body_min:
        reason = f"the body has {len(body)} characters, at least {options.news_body_min} are needed"
        return Fault("VAL_003", reason, refetch=True)
    if len(body) > options.news_body_max:
        return Fault("VAL_004", f"the body has {len(body)} characters, at most {options.news_body_max} are allowed")
    return None


def _date_fault(content: Content) -> Found:
    if content.date_required and content.published_ms <= 0:
        return Fault("VAL_001", "the date of publication is missing", refetch=True)
    return None


def _spam_fault(scores: dict[str, float], options: ValidateOptions) -> Found:
    if scores["upper"] > options.news_upper_max:
        return Fault("VAL_006", f"{scores['upper']:.0%} of the characters are capitals")
    if scores["symbols"] > options.news_symbols_max:
        return Fault("VAL_006", f"{scores['symbols']:.0%} of the characters are punctuation or symbols")
    return None


def _quality_fault(quality: float, options: ValidateOptions) -> Found:
    # Sums of tenths miss their exact value by an ulp; a text that reaches the limit on paper must pass.
    if quality + 1e-9 < options.news_quality_min:
        return Fault("VAL_005", f"quality {quality:.2f} is below {options.news_quality_min:.2f}")
    return None

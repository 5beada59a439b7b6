"""Numbers in a sentence with what they count, pure: `12 people` and `열두 명` are figures, dates and times aren't."""

import re

import msgspec

from issuetracker_dagster.stages.enrich.words import TOKEN, stem

_NUMBER = re.compile(r"\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,6})?|\d{1,15}(?:\.\d{1,6})?")
_SPELLED = """
two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
twenty
"""
_WORDS = {word: value for value, word in enumerate(_SPELLED.split(), start=2)}
_WORD_NUMBER = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_ENGLISH_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_SCALE = re.compile(r"[\s-]?(hundred|thousand|million|billion|trillion)\b", re.IGNORECASE)
_KOREAN_SCALES = {"십": 10.0, "백": 100.0, "천": 1e3, "만": 1e4, "억": 1e8, "조": 1e12}
_KOREAN_SCALE = re.compile(r"(?:천만|백만|십만|천억|백억|십억|[십백천만억조])")
_KOREAN_UNIT = re.compile(
    r"\s?여?\s?(명|건|개|대|곳|마리|채|척|원|달러|유로|엔|위안|퍼센트|킬로미터|미터|톤|점|표|배|도|회|차례|층|가구|세대|동|"
    r"년|월|일|시|분|초|주|개월)"
)
_TIMES = """
년 월 일 시 분 초 주 개월 am pm a.m p.m o'clock year month week day hour minut second
january february march april may jun july august september october november december
jan feb mar apr aug sept oct nov dec
"""
_TIME_UNITS = frozenset(_TIMES.split())
_MONTH_BEFORE = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|aug|sept|"
    r"oct|nov|dec)\.?\s$",
    re.IGNORECASE,
)
_OF_THE_CLOCK = re.compile(r"\s?[ap]\.?m\b", re.IGNORECASE)
_FATES = {
    "dead": re.compile(r"\b(?:died|dead|deaths?|dies|kill)|사망|숨진|숨졌|숨지", re.IGNORECASE),
    "injured": re.compile(r"\b(?:injur|hurt|wound)|부상|다쳤|다친|다쳐|중상|경상", re.IGNORECASE),
    "missing": re.compile(r"\bmissing|실종", re.IGNORECASE),
}
_ROUGHLY = re.compile(
    r"(?:about|around|nearly|almost|some|over|under|more than|less than|at least|up to|약|최소|최대)\s?$", re.IGNORECASE
)
_SMALLER_PART = re.compile(r"\s?(\d{1,4})")
_CURRENCY = {"$": "dollar", "€": "euro", "£": "pound", "¥": "yen", "₩": "원"}
_UNIT_NAMES = {"percent": "%", "percentage": "%", "퍼센트": "%", "달러": "dollar", "유로": "euro", "엔": "yen"}
_MOST_PARTS = 8
"""Of one Korean number (`1조 2억 3만 4천`); a body may be nothing but numbers in a row."""
_UNIT_WORDS = 3
"""How many words after a number may say what it counts: `12 young Korean sailors`."""


class Figure(msgspec.Struct, frozen=True):
    """A value and the stems of the words that may be its unit.

    `rough` when the text says about, at least, ...; `fates` tells the dead from the injured and the missing, all of
    whom are counted in people.
    """

    value: float
    units: frozenset[str]
    rough: bool = False
    fates: frozenset[str] = frozenset()


def figures(sentence: str) -> tuple[Figure, ...]:
    """The figures of a sentence; years, dates, times of day, and numbers without a unit are left out."""
    found = []
    end = 0
    while match := _NUMBER.search(sentence, end):
        value, end = _scaled(float(match.group().replace(",", "")), sentence, match.end())
        found.append((value, match.start(), end))
    for match in _WORD_NUMBER.finditer(sentence):
        value, end = _scaled(float(_WORDS[match.group().lower()]), sentence, match.end())
        found.append((value, match.start(), end))
    return tuple(figure for value, start, end in found if (figure := _figure(sentence, value, start, end)))


def comparable(one: Figure, other: Figure) -> bool:
    """Whether two figures count the same kind of thing."""
    if not one.units & other.units:
        return False
    return not one.fates or not other.fates or bool(one.fates & other.fates)


def agree(one: Figure, other: Figure) -> bool:
    """Whether two figures say the same: within 0.5 %, or within 10 % when one of them is rough."""
    margin = 0.10 if one.rough or other.rough else 0.005
    return abs(one.value - other.value) <= margin * max(one.value, other.value)


def _scaled(value: float, sentence: str, end: int) -> tuple[float, int]:
    english = _SCALE.match(sentence, end)
    if english:
        return value * _ENGLISH_SCALES[english.group(1).lower()], english.end()
    return _korean_scaled(value, sentence, end)


def _korean_scaled(value: float, sentence: str, end: int, parts: int = _MOST_PARTS) -> tuple[float, int]:
    scale = _KOREAN_SCALE.match(sentence, end)
    if not scale:
        return value, end
    for character in scale.group():
        value *= _KOREAN_SCALES[character]
    rest = _SMALLER_PART.match(sentence, scale.end()) if parts > 1 else None
    # 3만 5000: the second part belongs to the first number while it is smaller than that.
    if rest:
        smaller, rest_end = _korean_scaled(float(rest.group(1)), sentence, rest.end(), parts - 1)
        if smaller < value:
            return value + smaller, rest_end
    return value, scale.end()


def _figure(sentence: str, value: float, start: int, end: int) -> Figure | None:
    before, after = sentence[max(0, start - 12) : start], sentence[end : end + 60]
    if before[-1:].isalnum() or before.endswith((".", ",", ":", "-")) or after[:1] in (":", "/"):
        return None
    rough = bool(_ROUGHLY.search(before.rstrip("".join(_CURRENCY)))) or after.lstrip().startswith("여")
    units = _units(before, after)
    if not units or units & _TIME_UNITS or _MONTH_BEFORE.search(before) or _OF_THE_CLOCK.match(after):
        return None
    nearby = f"{sentence[max(0, start - 25) : start]} {sentence[end : end + 40]}"
    return Figure(value, units, rough, frozenset(name for name, fate in _FATES.items() if fate.search(nearby)))


def _units(before: str, after: str) -> frozenset[str]:
    if before[-1:] in _CURRENCY:
        return frozenset({_CURRENCY[before[-1:]]})
    if after.startswith("%"):
        return frozenset({"%"})
    korean = _KOREAN_UNIT.match(after)
    if korean:
        return frozenset({_UNIT_NAMES.get(korean.group(1), korean.group(1))})
    found: list[str] = []
    for match in TOKEN.finditer(after):
        if any(mark in after[: match.start()] for mark in ",;.()") or len(found) == _UNIT_WORDS:
            break
        word = match.group().lower()
        if word in ("and", "of", "in", "on", "at", "to", "were", "was", "have", "had", "the", "from", "by", "as"):
            break
        found.append(_UNIT_NAMES.get(word, stem(word)))
    return frozenset(found)

"""Dates as pages write them, to Unix milliseconds. Whether one makes sense beside the fetch is validate's to judge."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateparser import parse as parse_any

_LABELS = re.compile(
    r"기사\s*입력|최종\s*수정|최초\s*등록|입력\s*시간|입력|수정|등록|승인|발행|작성일?|업데이트|송고|게시|일시"
    r"|published|updated|posted|last modified|on:",
    re.IGNORECASE,
)
# Offsets in minutes; feedparser and dateutil read these names as UTC.
_ZONES = {
    "KST": 540, "JST": 540, "IST": 330, "CET": 60, "CEST": 120, "MEZ": 60, "MESZ": 120, "EET": 120, "EEST": 180,
    "WET": 0, "WEST": 60, "BST": 60, "MSK": 180, "SGT": 480, "HKT": 480, "PHT": 480, "WIB": 420, "PKT": 300,
    "AEST": 600, "AEDT": 660, "ACST": 570, "AWST": 480, "NZST": 720, "NZDT": 780, "SAST": 120, "GMT": 0, "UTC": 0,
    "UT": 0, "Z": 0, "EST": -300, "EDT": -240, "CST": -360, "CDT": -300, "MST": -420, "MDT": -360,
    "PST": -480, "PDT": -420, "BRT": -180, "ART": -180,
}  # fmt: skip
# Names that mean one of two offsets, by the season.
_SEASONAL = {"ET": "America/New_York", "CT": "America/Chicago", "MT": "America/Denver", "PT": "America/Los_Angeles"}
_ZONE_AT_END = re.compile(
    r"[\s(]*(?:(?:GMT|UTC)?\s*([+-])(\d{1,2}):?(\d{2})?|\b([A-Z]{1,4}))\)?\s*$",
    re.IGNORECASE,
)
_YEAR_FIRST = re.compile(
    r"(?<!\d)(\d{4})\s*[-./년]\s*(\d{1,2})\s*[-./월]\s*(\d{1,2})(?!\d)\s*[일.]?"
    r"(?:[\sT,]*(?:\(?[월화수목금토일]요?일?\)?)?[\s,]*(오전|오후|AM|PM)?\s*(\d{1,2})\s*[:시]\s*(\d{1,2})"
    r"(?:\s*[:분]\s*(\d{1,2}))?(?:\.\d+)?\s*분?\s*(AM|PM)?)?",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"\d{10}|\d{13}")
_LONGEST = 120
_DEFAULT_ZONES = {".kr": "Asia/Seoul", ".jp": "Asia/Tokyo"}


def zone_of(host: str, language: str = "", configured: str = "") -> tzinfo:
    """The zone of dates that name none: the rule's, else that of a country with one zone, else UTC."""
    name = configured or next((zone for suffix, zone in _DEFAULT_ZONES.items() if host.endswith(suffix)), "")
    if not name and language.startswith("ko"):
        name = "Asia/Seoul"
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def parse_date(text: str, zone: tzinfo, fetched_ms: int = 0) -> int:
    """Unix milliseconds of a date in ISO 8601, RFC 2822, Korean or free English text; 0 when it is none.

    `zone` holds when the text names none; `fetched_ms` is what "3시간 전" counts from.
    """
    cleaned = " ".join(_LABELS.sub(" ", text).split()).strip(" :|·-")
    if not 4 <= len(cleaned) <= _LONGEST:
        return 0
    if _EPOCH.fullmatch(cleaned):
        return int(cleaned) * (1000 if len(cleaned) == 10 else 1)
    for read in (_iso, _year_first, _free):
        moment = read(cleaned, zone, fetched_ms)
        if moment is not None:
            return _to_ms(moment)
    return 0


def _to_ms(moment: datetime) -> int:
    try:
        milliseconds = int(moment.timestamp() * 1000)
    except (OverflowError, ValueError, OSError):
        return 0
    return max(0, milliseconds)


def _iso(text: str, zone: tzinfo, _fetched_ms: int) -> datetime | None:
    if not (text[:4].isdigit() and text[4:5] == "-"):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def _year_first(text: str, zone: tzinfo, _fetched_ms: int) -> datetime | None:
    """`2016/6/29 15:07:41`, `2026.11.30. 오후 3:07`, `2026년 11월 30일 15시 7분`.

    General parsers swap day and month here.
    """
    match = _YEAR_FIRST.search(text)
    if match is None:
        return None
    year, month, day = int(match[1]), int(match[2]), int(match[3])
    hour, minute, second = int(match[5] or 0), int(match[6] or 0), int(match[7] or 0)
    half = (match[4] or match[8] or "").upper()
    if half in ("오후", "PM") and hour < 12:
        hour += 12
    elif half in ("오전", "AM") and hour == 12:
        hour = 0
    named, _ = split_zone(text[match.end() - 1 :]) if match[5] else (None, "")
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=named or zone)
    except ValueError:
        return None


def split_zone(text: str) -> tuple[tzinfo | None, str]:
    """The zone that a date ends with (`KST`, `UTC+9`, `+0900`) and the text before it."""
    match = _ZONE_AT_END.search(text)
    if match is None:
        return None, text
    if match[1]:
        minutes = int(match[2]) * 60 + int(match[3] or 0)
        if minutes > 14 * 60:
            return None, text
        return timezone(timedelta(minutes=minutes if match[1] == "+" else -minutes)), text[: match.start()]
    if seasonal := _SEASONAL.get(match[4].upper()):
        return ZoneInfo(seasonal), text[: match.start()]
    offset = _ZONES.get(match[4].upper())
    return (None, text) if offset is None else (timezone(timedelta(minutes=offset)), text[: match.start()])


def _free(text: str, zone: tzinfo, fetched_ms: int) -> datetime | None:
    named, rest = split_zone(text) if ":" in text else (None, text)
    anchor = datetime.fromtimestamp(fetched_ms / 1000, named or zone) if fetched_ms else datetime.now(named or zone)
    settings = {
        "RELATIVE_BASE": anchor.replace(tzinfo=None),
        # "Copyright 1998-2026" and "5월" are no dates of an article.
        "REQUIRE_PARTS": ["day", "month", "year"],
        "PREFER_DATES_FROM": "past",
    }
    try:
        moment: datetime | None = parse_any(rest, languages=["ko", "en"], settings=settings)
    except (ValueError, OverflowError, RecursionError):
        return None
    if moment is None:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=named or zone)

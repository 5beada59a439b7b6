from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.stages.parser.dates import parse_date, zone_of

SEOUL = ZoneInfo("Asia/Seoul")
FETCHED_MS = int(datetime(2026, 11, 30, 12, 0, tzinfo=UTC).timestamp() * 1000)


def read(text: str) -> str:
    found = parse_date(text, SEOUL, FETCHED_MS)
    return datetime.fromtimestamp(found / 1000, UTC).strftime("%Y-%m-%d %H:%M") if found else ""


@pytest.mark.parametrize(
    ("written", "utc"),
    [
        ("2026-11-30T10:00:00+09:00", "2026-11-30 01:00"),
        ("2026-11-30T10:00:00+0900", "2026-11-30 01:00"),
        ("2026-11-30T10:00:00.123Z", "2026-11-30 10:00"),
        ("2026-11-30 10:00", "2026-11-30 01:00"),
        ("입력 2026.11.30 10:00 수정 2026.11.30 11:30", "2026-11-30 01:00"),
        ("기사입력 : 2026.11.30. 오후 3:07 |", "2026-11-30 06:07"),
        ("2026.11.30. 오전 12:30", "2026-11-29 15:30"),
        ("승인 2026.11.30 10:00 KST", "2026-11-30 01:00"),
        ("등록 2026-11-30 (월) 15:20", "2026-11-30 06:20"),
        ("2026년 11월 30일 15시 7분", "2026-11-30 06:07"),
        ("2016/6/29 15:07:41", "2016-06-29 06:07"),
        ("Mon, 30 Nov 2026 10:00:00 KST", "2026-11-30 01:00"),
        ("Mon, 30 Nov 2026 10:00:00 JST", "2026-11-30 01:00"),
        ("Mon, 30 Nov 2026 10:00:00 IST", "2026-11-30 04:30"),
        ("Mon, 30 Nov 2026 10:00:00 CET", "2026-11-30 09:00"),
        ("Mon, 30 Nov 2026 10:00:00 UTC+9", "2026-11-30 01:00"),
        ("Mon, 30 Nov 2026 10:00:00 +0000 (UTC)", "2026-11-30 10:00"),
        ("Mon, 30 Nov 2026 10:00:00 GMT", "2026-11-30 10:00"),
        ("Published June 3, 2024 at 5:00 p.m. ET", "2024-06-03 21:00"),
        ("Nov 30, 2026, 3:00 PM", "2026-11-30 06:00"),
        ("3시간 전", "2026-11-30 09:00"),
        ("2 hours ago", "2026-11-30 10:00"),
        ("1796000000", "2026-11-30 00:53"),
        ("1796000000000", "2026-11-30 00:53"),
    ],
)
def test_dates_of_real_pages_come_to_the_right_instant(written: str, utc: str) -> None:
    assert read(written) == utc


@pytest.mark.parametrize(
    "written",
    [
        "",
        "Copyright 1998-2026",
        "© 2026 Example Times",
        "5월",
        "월요일",
        "hello",
        "2026-13-45",
        "x" * 500,
        "0000-00-00",
    ],
)
def test_what_is_no_date_is_none(written: str) -> None:
    assert read(written) == ""


def test_a_rule_names_the_zone_else_the_country_else_the_language() -> None:
    def offset(host: str, language: str = "", configured: str = "") -> timedelta | None:
        return datetime(2026, 7, 1, tzinfo=zone_of(host, language, configured)).utcoffset()

    assert offset("a.example.kr") == timedelta(hours=9)
    assert offset("a.example.com", "ko") == timedelta(hours=9)
    assert offset("a.example.kr", "ko", "Europe/Berlin") == timedelta(hours=2)
    assert offset("a.example.com", "en") == timedelta(0)
    assert offset("a.example.kr", configured="Mars/Olympus") == timedelta(0)


@given(st.datetimes(datetime(1990, 1, 1), datetime(2035, 1, 1)), st.integers(-12 * 60, 14 * 60))
def test_iso_dates_with_a_zone_are_exact(moment: datetime, offset_minutes: int) -> None:
    aware = moment.replace(tzinfo=timezone(timedelta(minutes=offset_minutes)))
    assert parse_date(aware.isoformat(), UTC) == int(aware.timestamp() * 1000)


@given(st.text(max_size=130))
def test_no_text_breaks_the_reader(text: str) -> None:
    assert parse_date(text, SEOUL, FETCHED_MS) >= 0

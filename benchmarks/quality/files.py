"""Charsets and feeds: files whose name or first comment says what is in them."""

import re
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from issuetracker_dagster.errors import PermanentError
from issuetracker_dagster.model.urls import normalise
from issuetracker_dagster.stages.parser.charset import decode_page
from issuetracker_dagster.stages.parser.feeds import read_feed

CODECS = {
    "euc-kr": "cp949", "CP949": "cp949", "GB2312": "gb18030", "Big5": "big5hkscs", "SHIFT_JIS": "cp932",
    "utf-8": "utf-8", "windows-1251-russian": "cp1251", "windows-1252": "cp1252",
}  # fmt: skip
"""Folder of recorded files -> the codec by which the web reads what is labelled so."""

_MOST_REPLACED = 0.001
_FEED_URL = "http://127.0.0.1:8097/tests/feed.xml"
_LINK = re.compile(rb"Expect:[^\n]*entries\[0\]\['link(?:s'\]\[0\]\['href)?'\] == '(http[^']+)'")
_DATE = re.compile(rb"Expect:[^\n]*entries\[0\]\['(?:published|updated)_parsed'\] == \(([\d, ]+)\)")
_ENTRY = re.compile(rb"<(item|entry)>")


class Count(msgspec.Struct):
    """How many of how many are right, and what is wrong with the others."""

    total: int = 0
    wrong: list[str] = []

    def judge(self, name: str, problem: str) -> None:
        """Count one; an empty `problem` is none."""
        self.total += 1
        if problem:
            self.wrong.append(f"{name}: {problem}")

    @property
    def share(self) -> float:
        return 1 - len(self.wrong) / max(1, self.total)


def encodings(folder: Path) -> Count:
    """Files whose text is what the codec of their folder makes of them, without replaced characters.

    Which codec was found isn't asked: where two give the same text, nothing tells them apart.
    """
    count = Count()
    for path in sorted((folder / "encodings").rglob("*")):
        if path.is_file() and (expected := CODECS.get(path.parent.name)):
            data = path.read_bytes()
            decoded = decode_page(data)
            right = decoded.text == data.decode(expected, "replace").lstrip("\ufeff")
            right = right and decoded.replacement_share < _MOST_REPLACED
            count.judge(f"{path.parent.name}/{path.name}", "" if right else f"read as {decoded.charset}")
    return count


def feeds(folder: Path) -> Count:
    """Feeds read, or refused with a reason; links and dates of first entries where the file states them.

    Files that state a date have no link, without which nothing can be crawled: they are given one.
    """
    count = Count()
    for path in sorted(path for kind in ("wellformed", "illformed") for path in (folder / "feeds" / kind).iterdir()):
        count.judge(f"{path.parent.name}/{path.name}", _problem(path.read_bytes()))
    return count


def _problem(body: bytes) -> str:
    link, date = _LINK.search(body), _DATE.search(body)
    if date:
        body = _ENTRY.sub(rb'<\1><link href="https://a.example/1">https://a.example/1</link>', body)
    try:
        entries = read_feed(body, "", _FEED_URL)
    except PermanentError as refused:
        return "" if refused.code and not (link or date) else f"refused as {refused.code}"
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what this looks for
        return f"broke the reader: {error!r}"
    if link and normalise(link[1].decode()) not in [entry.url for entry in entries]:
        return "its link isn't found"
    if date and not any(_moment_ms(date[1]) == entry.published_ms for entry in entries):
        return "its date isn't found"
    return ""


def _moment_ms(parts: bytes) -> int:
    year, month, day, hour, minute, second = (int(part) for part in parts.split(b",")[:6])
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp() * 1000)

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from issuetracker_dagster.model.urls import BadUrl, authority_of, decoded_path, host_of, normalise, parse_http, url_hash

URLS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "urls"
needs_data = pytest.mark.skipif(not URLS.is_dir(), reason=f"no test data at {URLS}")

# What these lines of the foreign list ask for is refused here on purpose: another order of parameters or another number
# of slashes may be another page, and a browser sends characters such as | and [ as they are.
ON_PURPOSE = {
    "check that parameters are sorted",
    "normalize empty query parameter values",
    "sorting with query parameters with degenerate cases",
    "[ and ] need escaping as well",
    "special characters in path/query",
    "escape percent sign if it's initial to an invalid escape sequence",
    "boundary test: percent sign close to the end of string",
    "no protocol/scheme, see #271",
    "but do not break potentially valid URLs with less-used schemes",
    "check URLs without host (authority)",
    "file:/ URLs",
    "http:, http:/",
}


def pairs() -> list[tuple[str, str]]:
    if not URLS.is_dir():
        return []
    found: list[tuple[str, str]] = []
    heading = ""
    for line in (URLS / "weirdToNormalizedUrls.csv").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").strip()
        elif ", " in line and heading not in ON_PURPOSE:
            weird, _, normal = line.partition(", ")
            if "//" not in weird.split("://", 1)[-1]:
                found.append((weird.strip(), normal.strip()))
    return found


def wpt_cases() -> list[dict[str, str]]:
    if not URLS.is_dir():
        return []
    cases = json.loads((URLS / "urltestdata.json").read_text(encoding="utf-8"))
    return [case for case in cases if isinstance(case, dict)]


def test_tracking_parameters_go_and_all_others_stay_in_their_order() -> None:
    url = "https://a.example/view?utm_source=x&id=2&fbclid=y&page=1&UTM_medium=z&b="
    assert normalise(url) == "https://a.example/view?id=2&page=1&b="


def test_two_threads_of_a_forum_stay_two_pages() -> None:
    assert normalise("https://f.example/view?id=1") != normalise("https://f.example/view?id=2")


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("HTTP://News.Example.com:80/a", "http://news.example.com/a"),
        ("https://user:secret@a.example/x#part", "https://a.example/x"),
        ("https://a.example./x", "https://a.example/x"),
        ("https://a.example", "https://a.example/"),
        ("https://a.example/?", "https://a.example/"),
        ("https://a.example/?utm_source=x", "https://a.example/"),
        ("https://a.example/%ea%b0%80", "https://a.example/%EA%B0%80"),
        ("https://a.example/가", "https://a.example/%EA%B0%80"),
        ("https://a.example/%61%2Fb%7e", "https://a.example/a%2Fb~"),
        ("https://a.example/a/../b/./c", "https://a.example/b/c"),
        ("https://한국.kr/x", "https://xn--3e0b707e.kr/x"),
        ("https://a.example/x?%75tm_source=1&q=%2f", "https://a.example/x?q=%2F"),
    ],
)
def test_ways_to_write_one_page_are_one_url(written: str, known: str) -> None:
    assert normalise(written) == known


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://a.example/",
        "javascript:alert(1)",
        "mailto:a@b.c",
        "http://",
        "/a",
        "http://a b/",
        "http://./",
        "http://a.09../",
    ],
)
def test_what_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(BadUrl):
        normalise(url)


def test_relative_links_hang_on_their_base() -> None:
    assert normalise("../b?id=1#x", "https://a.example/n/1/") == "https://a.example/n/b?id=1"
    assert normalise("//b.example/x", "https://a.example/") == "https://b.example/x"


def test_rules_see_host_without_port_and_decoded_path() -> None:
    url = "HTTP://News.Example.com:8080/A%20b"
    assert host_of(url) == "news.example.com"
    assert authority_of(url) == "news.example.com:8080"
    assert decoded_path(url) == "/A b"


def test_the_hash_of_any_text_is_64_hex_digits() -> None:
    assert len(url_hash("https://a.example/\ud800")) == 64


@needs_data
@pytest.mark.parametrize(("weird", "normal"), pairs())
def test_odd_urls_come_to_the_known_form(weird: str, normal: str) -> None:
    assert normalise(weird) == normal


@needs_data
def test_urls_are_parsed_as_browsers_parse_them() -> None:
    checked = 0
    for case in wpt_cases():
        base = case.get("base") or None
        href = case.get("href", "")
        if href and not href.startswith(("http://", "https://")):
            continue
        if href:
            assert parse_http(case["input"], base).href == href
            checked += 1
        elif case.get("failure"):
            with pytest.raises(BadUrl):
                parse_http(case["input"], base)
            checked += 1
    assert checked > 400


@needs_data
def test_normalising_twice_changes_nothing_on_real_odd_urls() -> None:
    for case in wpt_cases():
        try:
            once = normalise(case["input"], case.get("base") or None)
        except BadUrl:
            continue
        assert normalise(once) == once


hosts = st.sampled_from(["a.example", "A.Example.", "xn--3e0b707e.kr", "한국.kr", "127.0.0.1", "[::1]", "a.example:80"])
rests = st.text(alphabet=st.sampled_from("ab/.%2eE5fF?&=#;:@ \t~_utm가\\|[]"), max_size=40)


@given(st.sampled_from(["http://", "https://"]), hosts, rests)
def test_normalising_twice_changes_nothing(scheme: str, host: str, rest: str) -> None:
    try:
        once = normalise(f"{scheme}{host}/{rest}")
    except BadUrl:
        return
    assert normalise(once) == once
    assert "#" not in once
    assert "utm_" not in once.partition("?")[2].lower() or "=" in once

import json
from pathlib import Path
from random import Random
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from issuetracker_dagster.model.urls import (
    BadUrl,
    ParameterRule,
    authority_of,
    decoded_path,
    host_of,
    normalise,
    parameter_rule,
    parse_http,
    spelled,
    url_hash,
)

URLS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "urls"
needs_data = pytest.mark.skipif(not URLS.is_dir(), reason=f"no test data at {URLS}")

SLASHES = "check that unnecessary ../ are removed"
ON_PURPOSE = {
    # Lines of the foreign list that are answered in another way here, by its headings, and why.
    "check that parameters are sorted": "some servers mind the order",
    "normalize empty query parameter values": "`?b` and `?b=` may be two pages",
    "sorting with query parameters with degenerate cases": "some servers mind the order",
    "[ and ] need escaping as well": "a browser sends them as they are",
    "special characters in path/query": "a browser sends ^, ` and | as they are",
    SLASHES: "another number of slashes may be another page",
    "no protocol/scheme, see #271": "a link without a scheme is relative to its page",
    "but do not break potentially valid URLs with less-used schemes": "http and https only",
    "check URLs without host (authority)": "http and https only",
    "file:/ URLs": "http and https only",
    "http:, http:/": "a URL without a host is none",
}


def pairs() -> list[tuple[str, str, str]]:
    """Heading, odd URL, and what the foreign list makes of it."""
    if not URLS.is_dir():
        return []
    found: list[tuple[str, str, str]] = []
    heading = ""
    for line in (URLS / "weirdToNormalizedUrls.csv").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ").strip()
        elif "," in line:
            weird, _, normal = line.partition(", " if ", " in line else ",")
            found.append((heading, weird.strip(), normal.strip()))
    return found


def answer(url: str) -> str:
    try:
        return normalise(url)
    except BadUrl:
        return ""


def wpt_cases() -> list[dict[str, str]]:
    if not URLS.is_dir():
        return []
    cases = json.loads((URLS / "urltestdata.json").read_text(encoding="utf-8"))
    return [case for case in cases if isinstance(case, dict)]


def test_tracking_parameters_go_and_all_others_stay_in_their_order() -> None:
    url = "https://a.example/view?utm_source=x&id=2&fbclid=y&page=1&UTM_medium=z&b="
    assert normalise(url) == "https://a.example/view?id=2&page=1&b="


def test_7_two_threads_of_a_forum_stay_two_pages() -> None:
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


@pytest.mark.parametrize(
    "url", ["https://user:s@cret@a b/x", "http:\\\\user:secret@a.example:x/", "ftp://u:cret@a.example/"]
)
def test_what_is_said_of_a_refused_url_holds_no_password(url: str) -> None:
    for refuse in (normalise, parse_http):
        with pytest.raises(BadUrl) as refused:
            refuse(url)
        assert "cret" not in str(refused.value)


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
def test_odd_urls_come_to_the_known_form_but_where_it_is_another_on_purpose() -> None:
    others = {heading for heading, weird, normal in pairs() if answer(weird) != normal}
    assert others == set(ON_PURPOSE)
    slashes = [(weird, normal) for heading, weird, normal in pairs() if heading == SLASHES and answer(weird) != normal]
    assert all("//" in weird.removeprefix("http://") for weird, _ in slashes)
    assert sum(answer(weird) == normal for _, weird, normal in pairs()) > 80


@needs_data
def test_hosts_that_are_none_are_refused() -> None:
    lines = (URLS / "invalidUrls.csv").read_text(encoding="utf-8").splitlines()
    invalid = [line for line in lines if line and not line.startswith("#")]
    assert len(invalid) == 2
    for url in invalid:
        with pytest.raises(BadUrl):
            normalise(url)


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


schemes = st.sampled_from(["http://", "https://", "HTTP://user:pw@"])
hosts = st.sampled_from(
    [
        "a.example",
        "A.Example.",
        "xn--3e0b707e.kr",
        "한국.kr",
        "127.0.0.1",
        "127.0.0.1.",
        "[::1]",
        "a.example:80",
        "a..:81",
    ]
)
rests = st.text(alphabet=st.sampled_from("ab0136/.%2eE5fF?&=#;:@ \t~_utm가\\|[]'^"), max_size=40)


@given(schemes, hosts, rests)
@example("http://", "a.example", "%%36%31")
@example("http://", "a.example", "?%7%35tm_source=1")
def test_7_normalising_twice_changes_nothing(scheme: str, host: str, rest: str) -> None:
    try:
        once = normalise(f"{scheme}{host}/{rest}")
    except BadUrl:
        return
    assert normalise(once) == once
    assert "#" not in once
    assert "@" not in authority_of(once)
    # Rules, keys and locks see the page as one under both spellings.
    assert host_of(once) == host_of(f"{scheme}{host}/{rest}").rstrip(".")
    assert parse_http(once).hostname == host_of(once)
    assert unquote(parse_http(once).pathname) == decoded_path(once)


@given(st.text(max_size=60), st.none() | st.sampled_from(["https://a.example/b/", "mailto:x", "\ud800"]))
@example("http://\ud800/", None)
def test_whatever_is_given_only_bad_url_is_raised(url: str, base: str | None) -> None:
    try:
        once = normalise(url, base)
    except BadUrl:
        return
    assert normalise(once) == once


names = st.sampled_from(["id", "no", "page", "q", "article_id", "utm", "ref"])
values = st.text(alphabet="abc0123456789-_.", max_size=8)
tracking = st.sampled_from(["utm_source=x", "UTM_Medium=y", "fbclid=1", "%75tm_id=z", "gclid"])


@given(st.lists(st.tuples(names, values), min_size=1, max_size=5), st.lists(tracking, max_size=3), st.randoms())
def test_7_every_parameter_counts_and_tracking_does_not(
    pairs: list[tuple[str, str]], noise: list[str], random: Random
) -> None:
    plain = "&".join(f"{name}={value}" for name, value in pairs)
    mixed = [f"{name}={value}" for name, value in pairs]
    for one in noise:
        mixed.insert(random.randrange(len(mixed) + 1), one)
    assert normalise(f"https://a.example/view?{'&'.join(mixed)}") == f"https://a.example/view?{plain}"
    other = "&".join([f"{pairs[0][0]}={pairs[0][1]}x", *[f"{name}={value}" for name, value in pairs[1:]]])
    assert normalise(f"https://a.example/view?{other}") != normalise(f"https://a.example/view?{plain}")


@given(st.text(alphabet="abcXYZ019-._~", min_size=1, max_size=12).filter(lambda word: word.strip(".")))
def test_3_host_port_and_escape_spellings_are_one_page(word: str) -> None:
    spellings = [
        f"http://news.example.com/{word}",
        f"HTTP://News.Example.com:80/{word}",
        f"http://u:p@news.example.com./{word}#part",
        "http://news.example.com/" + "".join(f"%{ord(character):02x}" for character in word),
        "http://news%2Eexample.com/" + "".join(f"%{ord(character):02X}" for character in word),
    ]
    assert {normalise(spelling) for spelling in spellings} == {spellings[0]}
    assert {(host_of(spelling).rstrip("."), decoded_path(spelling)) for spelling in spellings} == {
        ("news.example.com", f"/{word}")
    }


rules = st.builds(
    ParameterRule,
    keep=st.frozensets(st.sampled_from(["utm_source", "rss", "가"])),
    drop=st.frozensets(st.sampled_from(["a", "b", "ab", "rss", "", "가"])),
    any_order=st.booleans(),
)


@given(rests, rules)
@example("?b=2&%61=1&B=3", ParameterRule(any_order=True))
def test_7_twice_is_once_under_every_rule_of_a_host(rest: str, rule: ParameterRule) -> None:
    url = f"https://a.example/x?{rest}"
    once = normalise(url, rule=rule)
    assert normalise(once, rule=rule) == once
    # A link comes to the publisher spelled, and from there on it stays as it is.
    assert spelled(spelled(url)) == spelled(url)
    assert normalise(spelled(url), rule=rule) == once == spelled(once)


def test_what_a_host_drops_wins_over_what_it_keeps_and_no_rule_is_none() -> None:
    assert parameter_rule({"keep_params": "a\n A ", "drop_params": "a\n"}) == ParameterRule(drop=frozenset({"a"}))
    assert parameter_rule({"kind": "community", "keep_params": " \n", "any_param_order": "no"}) is None

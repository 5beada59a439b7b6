"""What `AiohttpFetcher` promises, on real sockets."""

import asyncio
import gzip
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from issuetracker_dagster.adapters.http.fetcher import AiohttpFetcher
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.ports.http import FetchRequest, FetchResponse, TimedOut
from tests.stages.hostile_pages import raw
from tests.stages.http_site import (
    Exchange,
    Site,
    endless,
    endless_sent,
    fixed,
    gzipped,
    in_turn,
    redirect,
    running_site,
)
from tests.waiting import eventually

MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.fixture(scope="module")
def fetcher() -> Iterator[AiohttpFetcher]:
    fetcher = AiohttpFetcher(allowed_networks=["127.0.0.1/32"])
    yield fetcher
    fetcher.close()


def get(
    fetcher: AiohttpFetcher, url: str, *, timeout_ms: int = 10_000, max_bytes: int = 10 * MEGABYTE, cut: bool = False
) -> FetchResponse:
    request = FetchRequest(
        url=url, user_agent="Tester/1", timeout_ms=timeout_ms, max_bytes=max_bytes, cut=cut, skip_types=("video/",)
    )
    return fetcher.fetch(request)


def refusal(fetcher: AiohttpFetcher, url: str, *, max_bytes: int = 10 * MEGABYTE) -> str:
    with pytest.raises(PermanentError) as caught:
        get(fetcher, url, max_bytes=max_bytes)
    return caught.value.code


def test_a_page_comes_with_status_headers_and_its_bytes_as_they_are(fetcher: AiohttpFetcher, site: Site) -> None:
    body = "<meta charset=euc-kr>한국어 뉴스".encode("cp949")
    site.pages["/korean"] = fixed(body, Content_Type="text/html; charset=EUC-KR", ETag='"k"')
    answer = get(fetcher, site.url("/korean"))
    assert (answer.status, answer.body, answer.content_type) == (200, body, "text/html")
    assert answer.headers["etag"] == '"k"'
    assert site.last("/korean").headers["user-agent"] == "Tester/1"


def test_headers_that_are_no_text_come_as_text_but_a_location_keeps_its_bytes(
    fetcher: AiohttpFetcher, site: Site
) -> None:
    odd = "뉴스".encode("cp949")

    def page(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Odd: " + odd + b"\r\nLocation: " + odd + b"\r\n\r\n")

    site.pages["/odd"] = page
    headers = get(fetcher, site.url("/odd")).headers
    assert headers["x-odd"].encode().decode() == headers["x-odd"]
    assert headers["location"].encode("utf-8", "surrogateescape") == odd


def test_a_redirect_is_an_answer_and_not_followed(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/moved"] = redirect("/elsewhere")
    answer = get(fetcher, site.url("/moved"))
    assert (answer.status, answer.headers["location"]) == (302, "/elsewhere")
    assert site.hits["/elsewhere"] == 0


@pytest.mark.parametrize(
    ("encoding", "encode"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", lambda body: gzip.compress(body[:100]) + gzip.compress(body[100:])),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body)[2:-4]),
        ("utf-8", bytes),
    ],
    ids=["gzip", "two members", "zlib", "bare deflate", "no real encoding"],
)
def test_content_encodings_are_undone(
    fetcher: AiohttpFetcher, site: Site, encoding: str, encode: Callable[[bytes], bytes]
) -> None:
    body = b"some words, " * 5_000
    site.pages["/encoded"] = fixed(encode(body), Content_Encoding=encoding)
    assert get(fetcher, site.url("/encoded")).body == body


def test_a_gzip_bomb_ends_at_the_limit(fetcher: AiohttpFetcher, site: Site) -> None:
    bomb = gzip.compress(b"\0" * 60 * MEGABYTE, 1)
    site.pages["/bomb"] = fixed(bomb, Content_Encoding="gzip")
    assert refusal(fetcher, site.url("/bomb")) == "too_large"


def test_compressed_input_that_decodes_to_nothing_ends_at_the_limit(fetcher: AiohttpFetcher, site: Site) -> None:
    empty_blocks = b"\x00\x00\x00\xff\xff" * 20_000
    pieces = iter([zlib.compress(b"")[:2]])
    site.pages["/nothing"] = endless(lambda: next(pieces, empty_blocks), Content_Encoding="deflate")
    assert refusal(fetcher, site.url("/nothing"), max_bytes=MEGABYTE) == "too_large"


def test_a_page_without_end_is_left_after_about_the_limit(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/endless"] = endless(lambda: b"x" * 50_000)
    assert refusal(fetcher, site.url("/endless")) == "too_large"
    assert eventually(lambda: endless_sent.get("/endless", 0)) < 30 * MEGABYTE


def test_a_page_of_50_megabytes_is_left_after_about_the_limit(fetcher: AiohttpFetcher, site: Site) -> None:
    sent: list[int] = []

    def huge(exchange: Exchange) -> None:
        exchange.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 50000000\r\n\r\n")
        written = 0
        while written < 50 * MEGABYTE and exchange.write(b"y" * 100_000):
            written += 100_000
        sent.append(written)

    site.pages["/huge"] = huge
    assert refusal(fetcher, site.url("/huge")) == "too_large"
    assert eventually(lambda: sent)[0] < 30 * MEGABYTE


def test_a_body_of_exactly_the_limit_is_whole(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/exact"] = fixed(b"z" * 1000)
    site.pages["/exact.gz"] = gzipped(b"z" * 1000)
    assert len(get(fetcher, site.url("/exact"), max_bytes=1000).body) == 1000
    assert len(get(fetcher, site.url("/exact.gz"), max_bytes=1000).body) == 1000
    assert refusal(fetcher, site.url("/exact.gz"), max_bytes=999) == "too_large"


def test_a_long_body_is_cut_when_asked(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/long"] = endless(lambda: b"x" * 50_000)
    assert get(fetcher, site.url("/long"), max_bytes=120_000, cut=True).body == b"x" * 120_000


def test_a_slow_drip_is_cut_by_the_total_deadline(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/drip"] = endless(lambda: b".", wait_s=0.05)
    started = time.monotonic()
    with pytest.raises(TimedOut, match="500 ms"):
        get(fetcher, site.url("/drip"), timeout_ms=500)
    assert time.monotonic() - started < 10


def test_a_name_look_up_that_hangs_is_cut_by_the_total_deadline() -> None:
    async def hanging(host: str, port: int) -> Sequence[str]:
        await asyncio.sleep(60)
        return []

    fetcher = AiohttpFetcher(lookup=hanging)
    try:
        with pytest.raises(TimedOut):
            get(fetcher, "http://slow.test/", timeout_ms=200)
    finally:
        fetcher.close()


def test_the_rest_of_a_video_is_not_read(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/film"] = endless(lambda: b"v" * 50_000, Content_Type="video/mp4")
    assert get(fetcher, site.url("/film")).body == b""


def test_a_truncated_gzip_is_asked_for_once_more_without_compression(fetcher: AiohttpFetcher, site: Site) -> None:
    half = gzip.compress(b"words " * 10_000)[:-20]
    site.pages["/half"] = in_turn(fixed(half, Content_Encoding="gzip"), fixed(b"the whole"))
    assert get(fetcher, site.url("/half")).body == b"the whole"
    assert site.last("/half").headers["accept-encoding"] == "identity"
    assert site.hits["/half"] == 2


def test_a_gzip_that_stays_truncated_is_an_error_for_later(fetcher: AiohttpFetcher, site: Site) -> None:
    half = gzip.compress(b"words " * 10_000)[:-20]
    site.pages["/half2"] = fixed(half, Content_Encoding="gzip")
    with pytest.raises(TransientError, match="ends in the middle"):
        get(fetcher, site.url("/half2"))
    assert site.hits["/half2"] == 2


@pytest.mark.parametrize("encoding", ["gzip", "br", "gzip, gzip"])
def test_what_cannot_be_decoded_is_refused_after_one_more_try(
    fetcher: AiohttpFetcher, site: Site, encoding: str
) -> None:
    path = "/rubbish-" + encoding.replace(", ", "-")
    site.pages[path] = fixed(b"not compressed at all", Content_Encoding=encoding)
    assert refusal(fetcher, site.url(path)) == "bad_encoding"
    assert site.hits[path] == 2


def test_a_body_that_breaks_off_is_an_error_for_later(fetcher: AiohttpFetcher, site: Site) -> None:
    site.pages["/broken"] = fixed(b"only this", Content_Length="1000")
    with pytest.raises(TransientError, match="ClientPayloadError"):
        get(fetcher, site.url("/broken"))


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Le"], ids=["nothing", "half a header"])
def test_a_server_that_hangs_up_is_not_asked_a_second_time(fetcher: AiohttpFetcher, site: Site, said: bytes) -> None:
    site.hits.clear()
    site.pages["/gone"] = raw(said)
    with pytest.raises(TransientError):
        get(fetcher, site.url("/gone"))
    assert site.hits["/gone"] == 1


def test_a_server_that_talks_no_http_is_an_error_for_later(fetcher: AiohttpFetcher, site: Site) -> None:
    def mail_server(exchange: Exchange) -> None:
        exchange.write(b"220 mail ready\r\n\r\n")

    site.pages["/smtp"] = mail_server
    with pytest.raises(TransientError):
        get(fetcher, site.url("/smtp"))


def test_a_refused_connection_is_an_error_for_later_that_names_the_url(fetcher: AiohttpFetcher) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    with pytest.raises(TransientError, match=url):
        get(fetcher, url)


def test_a_name_without_address_is_an_error_for_later() -> None:
    async def unknown(host: str, port: int) -> Sequence[str]:
        raise socket.gaierror(-2, "Name or service not known")

    fetcher = AiohttpFetcher(lookup=unknown)
    try:
        with pytest.raises(TransientError, match="not known"):
            get(fetcher, "http://nowhere.test/")
    finally:
        fetcher.close()


def test_the_connection_goes_to_the_address_that_was_checked(site: Site) -> None:
    answers = iter([["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2"]])
    asked: list[str] = []

    async def rebinding(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return next(answers)

    site.pages["/rebind"] = fixed(b"outside")
    fetcher = AiohttpFetcher(allowed_networks=["127.0.0.1/32"], lookup=rebinding)
    try:
        answer = get(fetcher, f"http://rebind.test:{site.port}/rebind")
        assert answer.body == b"outside"
        assert asked == ["rebind.test"]
        assert refusal(fetcher, f"http://rebind.test:{site.port + 1}/") == "private_address"
    finally:
        fetcher.close()


def test_private_addresses_can_be_allowed(site: Site) -> None:
    site.pages["/allowed"] = fixed(b"inside")
    fetcher = AiohttpFetcher(allow_private_addresses=True)
    try:
        assert get(fetcher, f"http://localhost:{site.port}/allowed").body == b"inside"
    finally:
        fetcher.close()


@pytest.mark.parametrize("url", ["ftp://a.test/", "http:///", "nothing", "http://a b/", "file:///etc/passwd"])
def test_what_is_no_web_page_is_refused(fetcher: AiohttpFetcher, url: str) -> None:
    assert refusal(fetcher, url) == "bad_url"


def test_many_threads_share_one_fetcher(fetcher: AiohttpFetcher, site: Site) -> None:
    together = threading.Barrier(20, timeout=10)

    def all_at_once(exchange: Exchange) -> None:
        together.wait()  # answers nobody until twenty are there
        exchange.send(200, exchange.path.encode())

    site.pages["/crowd"] = all_at_once
    urls = [site.url(f"/crowd?n={number}") for number in range(20)]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda url: get(fetcher, url), urls))
    assert [answer.body.decode() for answer in answers] == [f"/crowd?n={number}" for number in range(20)]


def test_close_breaks_off_what_is_under_way(site: Site) -> None:
    fetcher = AiohttpFetcher(allow_private_addresses=True)
    site.pages["/hang"] = endless(lambda: b".", wait_s=0.05)
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(get, fetcher, site.url("/hang"))
        eventually(lambda: site.hits["/hang"])
        fetcher.close()
        with pytest.raises(TransientError, match="closed"):
            under_way.result(5)
    with pytest.raises(TransientError, match="closed"):
        get(fetcher, site.url("/hang"))
    fetcher.close()

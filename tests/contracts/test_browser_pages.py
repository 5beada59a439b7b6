"""What a real Chromium makes of pages, and what pages can't make of it."""

import contextlib
import socket
from collections.abc import Iterator

import pytest

from issuetracker_dagster.adapters.browser.renderer import BrowserRenderer
from issuetracker_dagster.errors import PermanentError, TransientError
from issuetracker_dagster.ports.http import TimedOut
from tests.contracts.browser_world import MEGABYTE, failure, render, request, running_renderer, text
from tests.stages.http_site import Site, fixed, redirect, running_site

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

WORDS = "words of the article " * 20
WRITE = f"document.getElementById('root').textContent = '{WORDS}'"


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.fixture(scope="module")
def renderer() -> Iterator[BrowserRenderer]:
    with running_renderer() as renderer:
        yield renderer


def shell(script: str) -> str:
    """A page that is nothing without its script."""
    return f"<!doctype html><title>Shell</title><div id=root></div><script>{script}</script>"


def test_the_page_comes_out_as_its_script_has_made_it(renderer: BrowserRenderer) -> None:
    rendered = text(renderer, request(shell(WRITE)))
    assert rendered.startswith(
        '<!DOCTYPE html><html><head><title>Shell</title></head><body><div id="root">words of the'
    )


@pytest.mark.parametrize(
    "script",
    [
        f"fetch('/data').then(one => one.text()).then(text => root.textContent = text + '{WORDS}')",
        f"fetch('/data', {{method: 'POST', body: 'query'}}).then(() => {WRITE})",
        f"setTimeout(() => {WRITE}, 2000)",
        f"setTimeout(() => {{ document.open(); document.write('<p>{WORDS}'); document.close() }}, 300)",
        f"import('/module.js').then(() => {WRITE})",
        f"requestAnimationFrame(() => new IntersectionObserver(() => {WRITE}).observe(root))",
    ],
    ids=["fetched", "posted", "late", "written anew", "module", "seen"],
)
def test_pages_that_need_their_time_get_it(renderer: BrowserRenderer, site: Site, script: str) -> None:
    site.pages["/data"] = fixed(b"data")
    site.pages["/module.js"] = fixed(b"export default 1", Content_Type="text/javascript")
    assert WORDS.strip() in text(renderer, request(shell(script), site.url("/page"))).split("<script>")[0]


def test_bytes_are_read_in_their_charset_and_come_out_as_utf_8(renderer: BrowserRenderer) -> None:
    page = f"<p>한국어 뉴스 똠방각하 {WORDS}</p>"
    for body, label in ((page.encode("cp949"), "euc-kr"), (page.encode(), "euc-kr"), (page.encode(), "")):
        content_type = f"text/html; charset={label}" if label else "text/html"
        assert "한국어 뉴스 똠방각하" in text(renderer, request(body, content_type=content_type))


def test_the_crawler_says_its_name_and_only_what_a_document_needs_is_asked_for(
    renderer: BrowserRenderer, site: Site
) -> None:
    site.pages["/app.js"] = fixed(WRITE.encode(), Content_Type="text/javascript")
    site.pages["/app.css"] = fixed(
        b"@font-face{font-family:f;src:url(/font)} body{font-family:f;background:url(/back)}"
    )
    page = (
        "<link rel=stylesheet href=/app.css><link rel=icon href=/icon><link rel=prefetch href=/next><div id=root></div>"
        "<img src=/picture><video src=/film></video><iframe src=/frame></iframe><script src=/app.js></script>"
        "<script>navigator.sendBeacon('/beacon'); fetch('/put', {method: 'PUT'}); new EventSource('/events')</script>"
    )
    before = dict(site.hits)
    assert "words of the article" in text(renderer, request(page, site.url("/page")))
    asked = {path for path, count in site.hits.items() if count != before.get(path, 0)}
    assert asked == {"/app.js", "/app.css"}
    assert site.last("/app.js").headers["user-agent"] == "Tester/1"


def test_what_may_not_be_asked_for_isnt(renderer: BrowserRenderer, site: Site) -> None:
    asked: list[str] = []

    def may_ask(url: str) -> bool:
        asked.append(url)
        return "/forbidden" not in url

    site.pages["/forbidden"] = site.pages["/allowed"] = fixed(b"data")
    script = f"Promise.allSettled([fetch('/forbidden'), fetch('/allowed')]).then(() => {WRITE})"
    assert WORDS.strip() in text(renderer, request(shell(script), site.url("/page"), may_ask=may_ask))
    assert (site.hits["/forbidden"], site.hits["/allowed"]) == (0, 1)
    assert set(asked) == {site.url("/forbidden"), site.url("/allowed")}


@pytest.mark.parametrize("is_allowed", [False, True], ids=["private", "allowed"])
def test_no_way_leads_to_a_private_address(is_allowed: bool) -> None:
    """By any means of a page, by redirects, and by `localhost`, which browsers like to ask past their proxy.

    That each way is one shows where the address is allowed.
    """
    outside, inside = "127.0.0.2", "127.0.0.1"
    allowed = [f"{outside}/32", *([f"{inside}/32"] if is_allowed else [])]
    with running_site(outside) as site, running_site(inside) as secret, running_renderer(allowed=allowed) as renderer:
        site.pages["/lured"] = redirect(secret.url("/redirected"))
        origin = secret.url("")
        script = f"""
            const link = document.createElement('link'); link.rel = 'preconnect'; link.href = '{origin}';
            const other = document.createElement('script'); other.src = '{origin}/script';
            const sheet = document.createElement('style'); sheet.textContent = '@import url({origin}/sheet)';
            document.head.append(link, other, sheet);
            new WebSocket('{origin.replace("http", "ws")}/socket');
            const work = path => URL.createObjectURL(new Blob(["fetch('{origin}" + path + "', {{mode: 'no-cors'}})"]));
            new Worker(work('/worker')); new SharedWorker(work('/shared'));
            for (const url of ['{origin}/plain', 'http://localhost:{secret.port}/local', '/lured'])
                fetch(url, {{mode: 'no-cors'}});
            setTimeout(() => {WRITE}, 4000);
        """
        assert WORDS.strip() in text(renderer, request(shell(script), site.url("/page")))
        ways = {"/script", "/sheet", "/socket", "/worker", "/shared", "/plain", "/local", "/redirected"}
        assert site.hits["/lured"] == 1
        assert set(secret.hits) == (ways if is_allowed else set())


def test_calls_between_browsers_leave_neither_by_datagrams_nor_past_the_guard(renderer: BrowserRenderer) -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
        socket.create_server(("127.0.0.2", 0)) as connections,
    ):
        datagrams.bind(("127.0.0.1", 0))
        for listener in (datagrams, connections):
            listener.setblocking(False)
        turn = f"turn:127.0.0.2:{connections.getsockname()[1]}?transport=tcp"
        script = f"""
            const servers = [{{urls: 'stun:127.0.0.1:{datagrams.getsockname()[1]}'}},
                             {{urls: '{turn}', username: 'a', credential: 'b'}}];
            const peer = new RTCPeerConnection({{iceServers: servers}});
            peer.createDataChannel('x');
            peer.createOffer().then(offer => peer.setLocalDescription(offer));
            setTimeout(() => {WRITE}, 2000);
        """
        assert WORDS.strip() in text(renderer, request(shell(script)))
        with pytest.raises(BlockingIOError):
            datagrams.recv(1)
        with pytest.raises(BlockingIOError):
            connections.accept()


def test_a_script_that_leads_elsewhere_ends_the_rendering_with_the_place(renderer: BrowserRenderer, site: Site) -> None:
    for script in ("location = '/next'", "setTimeout(() => location.replace('/next'), 200)"):
        asked = request(shell(script), site.url("/page"), is_redirect=lambda url: url.endswith("/next"))
        assert render(renderer, asked).redirect == site.url("/next")
    refresh = request("<meta http-equiv=refresh content='0;url=/next'>", site.url("/page"), is_redirect=lambda _: True)
    assert render(renderer, refresh).redirect == site.url("/next")
    assert site.hits["/next"] == 0


@pytest.mark.parametrize(
    "script", ["location.reload()", "location = 'http://ads.example/'", "location = 'chrome://crash'", "history.back()"]
)
def test_a_script_that_leads_nowhere_leaves_the_page_as_it_is(
    renderer: BrowserRenderer, site: Site, script: str
) -> None:
    again = f"setInterval(() => {{ {script} }}, 10); {WRITE}"
    assert WORDS.strip() in text(renderer, request(shell(again), site.url("/page")))


def test_windows_dialogs_forms_and_downloads_come_to_nothing(renderer: BrowserRenderer, site: Site) -> None:
    script = f"""
        for (let count = 0; count < 1000; count++) {{ window.open('/window'); alert('look'); confirm('sure?') }}
        const form = document.createElement('form'); form.action = '/form'; form.target = '_blank';
        const link = document.createElement('a'); link.href = '/file'; link.download = 'file'; link.target = '_blank';
        document.body.append(form, link); form.submit(); link.click();
        window.onbeforeunload = () => 'stay'; {WRITE}
    """
    assert WORDS.strip() in text(renderer, request(shell(script), site.url("/page")))
    assert not site.hits.keys() & {"/window", "/form", "/file"}


def test_nothing_of_a_page_is_there_for_the_next_one(renderer: BrowserRenderer, site: Site) -> None:
    site.pages["/data"] = fixed(b"data", Set_Cookie="from=server; Path=/", Cache_Control="max-age=3600")
    script = f"""
        const found = document.cookie + localStorage.length + (navigator.serviceWorker ? 'workers' : '');
        navigator.serviceWorker?.register('/worker.js').catch(() => 0);
        fetch('/data').then(() => {{
            document.cookie = 'from=script; path=/'; localStorage.setItem('from', 'script');
            root.textContent = '[' + found + '] {WORDS}';
        }});
    """
    hits = site.hits["/data"]
    pages = [text(renderer, request(shell(script), site.url("/page"))) for _ in range(2)]
    assert all('<div id="root">[0' in page for page in pages)
    assert site.hits["/data"] == hits + 2
    assert "cookie" not in site.last("/data").headers
    assert site.hits["/worker.js"] == 0


@pytest.mark.parametrize("script", ["while (true);", "for (;;) setTimeout(0)", "new Promise(go => { for (;;) ; })"])
def test_a_page_that_hangs_ends_at_its_deadline_and_the_next_one_is_rendered(
    renderer: BrowserRenderer, script: str
) -> None:
    assert isinstance(failure(renderer, request(shell(script), timeout_ms=2_000)), TimedOut)
    assert "words of the article" in text(renderer, request(shell(WRITE)))


def test_a_page_that_never_rests_is_read_as_it_is(renderer: BrowserRenderer, site: Site) -> None:
    script = f"{WRITE}; setInterval(() => document.body.append('.'), 20); setInterval(() => fetch('/poll'), 50)"
    site.pages["/poll"] = fixed(b"")
    assert WORDS.strip() in text(renderer, request(shell(script), site.url("/page"), timeout_ms=6_000))


def test_a_page_that_replaces_itself_without_end_ends_at_its_deadline(renderer: BrowserRenderer) -> None:
    again = "location = URL.createObjectURL(new Blob([document.documentElement.outerHTML], {type: 'text/html'}))"
    asked = request(shell(again), timeout_ms=4_000)
    with contextlib.suppress(TimedOut):  # or it was read between two of its lives
        render(renderer, asked)
    assert "words of the article" in text(renderer, request(shell(WRITE)))


@pytest.mark.parametrize(
    "script",
    [
        "document.body.append('x'.repeat(2e6))",
        "for (let count = 0; count < 2e3; count++) document.body.append('x'.repeat(1000))",
        "document.body.setAttribute('data-x', 'x'.repeat(2e6))",
    ],
    ids=["text", "nodes", "attribute"],
)
def test_a_page_that_grows_beyond_its_limit_is_too_large(renderer: BrowserRenderer, script: str) -> None:
    with pytest.raises(PermanentError) as caught:
        render(renderer, request(f"<body><script>{script}</script>", max_bytes=MEGABYTE))
    assert caught.value.code == "too_large"


@pytest.mark.parametrize(
    "script",
    [
        "document.body.append('x'.repeat(2e8))",
        "document.body.innerHTML = ('<p>' + 'x'.repeat(1000) + '</p>').repeat(2e5)",
        "for (;;) document.body.append(document.createElement('p'), 'x'.repeat(1e5) + Math.random())",
        "const all = []; for (;;) all.push(new Float64Array(1e6).fill(1))",
    ],
    ids=["text", "elements", "without end", "memory"],
)
def test_hundreds_of_megabytes_end_the_page_and_nothing_else(renderer: BrowserRenderer, script: str) -> None:
    """As too large, or with the page's process, whichever limit it meets first."""
    with pytest.raises((PermanentError, TransientError)) as caught:
        render(renderer, request(f"<body><script>{script}</script>"))
    assert not isinstance(caught.value, TimedOut)
    assert "words of the article" in text(renderer, request(shell(WRITE)))


@pytest.mark.parametrize(
    "script",
    [
        "for (;;) console.log('x'.repeat(1e6) + Math.random())",
        "setInterval(() => { for (let count = 0; count < 500; count++) fetch('/flood?' + Math.random()) }, 1)",
        "setInterval(() => { for (let count = 0; count < 500; count++) location = '/flood?' + Math.random() }, 1)",
        "setInterval(() => { for (let count = 0; count < 50; count++) Promise.reject('x'.repeat(1e5)) }, 1)",
        "setInterval(() => new Worker(URL.createObjectURL(new Blob(['for (;;);']))), 1)",
    ],
    ids=["messages", "requests", "navigations", "errors", "workers"],
)
def test_a_flood_ends_with_its_page(renderer: BrowserRenderer, site: Site, script: str) -> None:
    asked = request(f"<p>{WORDS}<script>{script}</script>", site.url("/page"), timeout_ms=4_000)
    with contextlib.suppress(TransientError):
        assert WORDS.strip() in text(renderer, asked)
    assert "words of the article" in text(renderer, request(shell(WRITE)))


def test_names_in_a_page_dont_hide_it_from_being_measured(renderer: BrowserRenderer) -> None:
    names = "<form><input name=attributes><input name=nodeName></form><img name=documentElement><img name=readyState>"
    overrides = "Document.prototype.createTreeWalker = () => null; Element.prototype.outerHTML = ''"
    assert WORDS.strip() in text(renderer, request(f"{names}<script>{overrides}</script><p>{WORDS}"))
    with pytest.raises(PermanentError):
        render(renderer, request(f"{names}<script>{overrides}</script><p>{WORDS * 100}", max_bytes=10_000))


def test_the_traffic_and_the_requests_of_a_page_are_bounded(site: Site) -> None:
    site.pages["/big"] = fixed(b"x" * MEGABYTE)
    script = """(async () => {
        let got = 0;
        for (let count = 0; count < 10; count++) await fetch('/big?' + count)
            .then(answer => answer.arrayBuffer()).then(body => got += body.byteLength / 1e6).catch(() => 0);
        root.textContent = '[' + got + ']';
    })()"""
    asked = request(shell(script), site.url("/page"))
    with running_renderer(max_traffic=3_500_000) as renderer:
        assert "[3]</div>" in text(renderer, asked)
    with running_renderer(max_requests=5) as renderer:
        assert "[5]</div>" in text(renderer, asked)

"""Pages of servers that break the rules: what to write, in which pieces, how long."""

from tests.stages.http_site import Exchange, Page, fixed, redirect

OK = b"HTTP/1.1 200 OK\r\n"
HTML = b"Content-Type: text/html\r\n"
CHUNKED = OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n"
WORDS = b"<html><p>some words</p></html>"


def raw(*pieces: bytes) -> Page:
    """These bytes, and the connection is closed."""

    def page(exchange: Exchange) -> None:
        for piece in pieces:
            exchange.write(piece)

    return page


def flood(head: bytes, piece: bytes, wait_s: float = 0.0) -> Page:
    """The head, and then the piece until the other side leaves."""

    def page(exchange: Exchange) -> None:
        going = exchange.write(head)
        while going and not exchange.stopping.wait(wait_s):
            going = exchange.write(piece)

    return page


def later_on(now: bytes, then: bytes) -> Page:
    """Something that is whole, and in a while more of it."""

    def page(exchange: Exchange) -> None:
        exchange.write(now)
        exchange.stopping.wait(0.1)
        exchange.write(then)

    return page


def silence(head: bytes) -> Page:
    """The head, and then nothing until the other side leaves."""
    return flood(head, b"", 0.05)


def sized(length: bytes, body: bytes = WORDS) -> Page:
    """A Content-Length that may not be the body's."""
    return raw(OK + HTML + b"Content-Length: " + length + b"\r\n\r\n" + body)


def headed(*lines: bytes, body: bytes = WORDS) -> Page:
    """A page with header lines as they are, the connection closed at its end."""
    return raw(OK + HTML + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body)


def encoded(coding: str, body: bytes) -> Page:
    return fixed(body, Content_Encoding=coding)


def started(line: bytes) -> Page:
    """A page with a status line as it is."""
    return raw(line + b"\r\n" + HTML + b"\r\n" + WORDS)


def chunked(body: bytes) -> Page:
    return raw(CHUNKED + body)


def longer_and_longer(exchange: Exchange) -> None:
    """Redirects to a place that nobody has seen before."""
    redirect(exchange.path + ("&on" if "?" in exchange.path else "?on"))(exchange)


def reset(exchange: Exchange) -> None:
    """Half a page, and then the connection breaks."""
    exchange.write(OK + HTML + b"Content-Length: 1000\r\n\r\n" + WORDS)
    exchange.break_off()

"""Reads one robots.txt: from bytes with odd marks to an answer for one crawler and URL."""

import codecs
import re
from collections.abc import Iterator

from protego import Protego

_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_AGENT_LINE = re.compile(r"\s{0,50}user[- ]?agent\s{0,50}:?(?P<name>.*)", re.IGNORECASE)
_PRODUCT = re.compile(r"[A-Za-z0-9_-]+")
_COMPATIBLE = re.compile(r"compatible;\s{0,10}([A-Za-z0-9_-]+)")
_NOBODY = "User-agent: nobody-we-are"
_MAX_SITEMAPS = 50
_DAY_S = 86_400.0


class RobotsText:
    """The rules of one robots.txt for the crawler that calls itself `user_agent`."""

    def __init__(self, raw: bytes, user_agent: str) -> None:
        self._name = product_token(user_agent)
        self._rules = Protego.parse("\n".join(_bounded(decode(raw), self._name.lower())))

    def allows(self, url: str) -> bool:
        """Whether the URL may be fetched."""
        return bool(self._rules.can_fetch(url, self._name))

    @property
    def crawl_delay_ms(self) -> int:
        """The pause between requests that the host asks for, at most a day; 0 when it asks for none."""
        return int(min(self._rules.crawl_delay(self._name) or 0, _DAY_S) * 1000)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps named there, as they are written."""
        return tuple(dict.fromkeys(self._rules.sitemaps))[:_MAX_SITEMAPS]


def decode(raw: bytes) -> str:
    """The text without its byte order mark, with which the first line would be lost."""
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace")
    return raw.decode("utf-8", "replace")


def product_token(user_agent: str) -> str:
    """The name by which robots.txt speaks of a crawler: the first word of its user agent (RFC 9309, 2.2.1).

    Of `Mozilla/5.0 (compatible; Somebot/1.0)` it is `Somebot`.
    """
    compatible = _COMPATIBLE.search(user_agent)
    if compatible:
        return compatible.group(1)
    first = _PRODUCT.search(user_agent)
    return first.group() if first else "*"


def _bounded(text: str, name: str) -> Iterator[str]:
    """The lines, with groups of other crawlers under one name.

    The parser keeps each rule once for each agent of its group: half a megabyte of agents and rules would become
    hundreds of millions of rules. Who the others are doesn't matter.
    """
    for line in text.splitlines():
        match = _AGENT_LINE.match(line)
        if match is None:
            yield line
            continue
        agent = match["name"].partition("#")[0].strip()
        token = _PRODUCT.match(agent)
        if not agent or agent == "*":
            yield line
        elif token and token.group().lower() == name:
            yield f"User-agent: {token.group()}"  # without the version that some write behind it
        else:
            yield _NOBODY

"""Bodies that a page carries only inside its scripts: Next.js, Nuxt and other embedded state."""

import json
import re
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser

from issuetracker_dagster.stages.parser.fields import line_of

_NEXT_PUSH = re.compile(r"self\.__next_f\.push\(\s*(?=\[)")
_ASSIGNED = re.compile(
    r"(?:window\.)?(?:__INITIAL_STATE__|__PRELOADED_STATE__|__APOLLO_STATE__|__NUXT__|__DATA__|"
    r"__INITIAL_DATA__|Fusion\.globalContent)\s*=\s*(?=[{\[])"
)
_FLIGHT_ROW = re.compile(r"(?:^|\n)[0-9a-f]{1,6}:(?=[\[{\"])")
# A text row is `id:Tlength,text`; the length counts UTF-8 bytes.
_FLIGHT_TEXT = re.compile(r"(?:^|\n|[\]}\"])[0-9a-f]{1,6}:T([0-9a-f]{1,6}),")
_BODY_KEYS = re.compile(
    r"^(article_?)?(body|content|contents|text|html|story)(_?(html|text|body|content|raw))?$", re.IGNORECASE
)
_BLOCK_TEXT = ("text", "content", "html", "value", "children", "body", "data", "paragraph")
_BREAK = re.compile(r"</(?:p|div|h[1-6]|li|blockquote|tr|dt|dd|figcaption)>|<br\s*/?>", re.IGNORECASE)
_UNSEEN = re.compile(r"<!--.*?-->|<(script|style|noscript|template|iframe)\b.*?</\1>", re.IGNORECASE | re.DOTALL)
_ANY_TAG = re.compile(r"</?[A-Za-z]")
_INLINE = re.compile(
    r"</?(?:a|abbr|b|cite|em|font|i|mark|q|s|small|span|strong|sub|sup|u)(?:\s[^<>]{0,2000})?>", re.IGNORECASE
)
_MOST_NODES = 100_000
_MOST_BROKEN = 50
_SHORTEST_BODY = 200
_decoder = json.JSONDecoder(strict=False)


def embedded_body(page: LexborHTMLParser) -> str:
    """The longest text in the page's embedded state that looks like an article's body; empty when there is none."""
    scripts = [text for node in page.css("script:not([src])") if (text := node.text())]
    best = ""
    for value in _states(scripts):
        for text in _bodies(value):
            if len(text) > len(best):
                best = text
    return best if len(best) >= _SHORTEST_BODY else ""


def _states(scripts: list[str]) -> Iterator[object]:
    flight: list[str] = []
    for text in scripts:
        if text.lstrip()[:1] in "{[" and len(text) > _SHORTEST_BODY:
            yield _decoded(text, len(text) - len(text.lstrip()))
        for chunk in _after(_NEXT_PUSH, text):
            if isinstance(chunk, list) and len(chunk) > 1 and isinstance(chunk[1], str):
                flight.append(chunk[1])
        yield from _after(_ASSIGNED, text)
    if flight:
        yield from _flight_rows("".join(flight))


def _flight_rows(stream: str) -> Iterator[object]:
    yield from _after(_FLIGHT_ROW, stream)
    for match in _FLIGHT_TEXT.finditer(stream):
        size = int(match[1], 16)
        text = stream[match.end() : match.end() + size].encode("utf-8", "ignore")[:size].decode("utf-8", "ignore")
        yield {"body": text}


def _after(opening: re.Pattern[str], text: str) -> Iterator[object]:
    """The JSON values that follow each match."""
    broken = 0
    for match in opening.finditer(text):
        value = _decoded(text, match.end())
        # An unclosed string is read to the end each time: many of them would cost the square of the page.
        broken += value is None
        if broken > _MOST_BROKEN:
            return
        yield value


def _decoded(text: str, start: int) -> object:
    try:
        return _decoder.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _bodies(state: object) -> Iterator[str]:
    waiting = [state]
    seen = 0
    while waiting and seen < _MOST_NODES:
        current = waiting.pop()
        seen += 1
        if isinstance(current, dict):
            for name, value in current.items():
                if isinstance(value, str):
                    if len(value) >= _SHORTEST_BODY and _BODY_KEYS.match(str(name)):
                        yield plain_text(value)
                else:
                    waiting.append(value)
        elif isinstance(current, list):
            if joined := _joined_blocks(current):
                yield joined
            waiting.extend(current)


def _joined_blocks(blocks: list[object]) -> str:
    """Text of a list of content blocks (`[{"type": "paragraph", "text": ...}, ...]`)."""
    texts = [_block_text(block) for block in blocks[:2_000] if isinstance(block, dict)]
    told = [text for text in texts if text]
    # One long block isn't a list of paragraphs; teasers of other articles are short and carry links.
    return "\n\n".join(told) if len(told) >= 3 and sum(map(len, told)) / len(told) >= 60 else ""


def _block_text(block: dict[str, object]) -> str:
    if any(name in block for name in ("url", "href", "slug", "headline")):
        return ""
    for name in _BLOCK_TEXT:
        value = block.get(name)
        if isinstance(value, str):
            return plain_text(value)
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            return plain_text(str(value["text"]))
        if isinstance(value, list):
            return " ".join(
                str(item.get("text", "")) if isinstance(item, dict) else item
                for item in value
                if isinstance(item, dict | str)
            ).strip()
    return ""


def plain_text(markup: str) -> str:
    """Text of an HTML fragment, a blank line between paragraphs; plain text stays as it is, entities decoded."""
    if "&lt;p" in markup or "&lt;div" in markup:
        markup = markup.replace("&lt;", "<").replace("&gt;", ">")
    if _ANY_TAG.search(markup):
        # Tags inside a word or before a full stop leave no gap; all others do.
        markup = _INLINE.sub("", _BREAK.sub("\n", " ".join(_UNSEEN.sub(" ", markup).split())))
    return "\n\n".join(line for text in markup.split("\n") if (line := line_of(text, max(1_000, len(text)))))

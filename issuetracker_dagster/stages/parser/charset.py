"""Bytes to text: the first thing that happens to a fetched page, before any parser sees it."""

import codecs
import re

import msgspec
from charset_normalizer import from_bytes

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# Labels as pages write them, to the codec that reads what those pages really hold: cp949 is a superset of EUC-KR that
# Korean editors have always written, and so are the others of what their labels promise.
_WIDER = {
    "cp949": "cp949", "euckr": "cp949", "euc_kr": "cp949", "johab": "cp949", "korean": "cp949", "ks_c_5601": "cp949",
    "ks_c_5601_1987": "cp949", "ks_c_5601_1989": "cp949", "ksc5601": "cp949", "ksc_5601": "cp949", "ms949": "cp949",
    "uhc": "cp949", "windows_949": "cp949", "x_windows_949": "cp949",
    "gb2312": "gb18030", "gbk": "gb18030", "gb18030": "gb18030", "x_gbk": "gb18030", "gb_2312_80": "gb18030",
    "cp936": "gb18030", "big5": "big5hkscs", "big5_hkscs": "big5hkscs", "cp950": "big5hkscs", "big5hkscs": "big5hkscs",
    "shift_jis": "cp932", "sjis": "cp932", "x_sjis": "cp932", "windows_31j": "cp932", "cp932": "cp932",
    "euc_jp": "euc_jp", "x_euc_jp": "euc_jp", "iso_2022_jp": "iso2022_jp", "iso_2022_kr": "iso2022_kr",
    "iso_8859_9": "cp1254", "tis_620": "cp874", "iso_8859_11": "cp874", "windows_874": "cp874",
    "utf8": "utf-8", "utf_8": "utf-8", "utf_16": "utf-16-le", "utf_16le": "utf-16-le", "utf_16be": "utf-16-be",
    "koi8_r": "koi8_r", "koi8_u": "koi8_u", "macintosh": "mac_roman", "x_mac_cyrillic": "mac_cyrillic",
    **{f"windows_{n}": f"cp{n}" for n in range(1250, 1259)}, **{f"cp{n}": f"cp{n}" for n in range(1250, 1259)},
    **{f"iso_8859_{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
}  # fmt: skip
_LATIN_1 = frozenset(
    {"iso_8859_1", "iso8859_1", "latin1", "latin_1", "l1", "us_ascii", "ascii", "windows_1252", "cp1252"}
)
_HTTP_LABEL = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_META_LABEL = re.compile(rb"<meta[^>]{0,400}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_LABEL = re.compile(rb"^\s*<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_HANGUL = re.compile("[가-힣]")
_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_SCANNED_FOR_LABEL = 4_096
_GUESSED_FROM = 32_768
_TOLERATED_REPLACEMENTS = 0.02


class DecodedText(msgspec.Struct, frozen=True):
    """Text without NULs; `origin` says what named the charset, `replacement_share` is U+FFFD over all characters."""

    text: str
    charset: str
    origin: str
    replacement_share: float


def codec_of_label(label: str) -> str | None:
    """The codec for a label of HTTP, HTML or XML; None for what no document is written in (`rot13`, `utf-7`, ...)."""
    name = label.strip().lower().replace("-", "_").replace(":", "_")
    if name in _LATIN_1:
        return "cp1252"
    return _WIDER.get(name)


def decode_page(body: bytes, content_type: str = "") -> DecodedText:
    """The text of a page, by BOM, strict UTF-8, HTTP label unless latin-1, meta or XML label, then a guess.

    Never raises.
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return _decoded(body[len(bom) :], codec, "bom")
    labels = list(_labels(body, content_type))
    if b"\x1b$" in body[:_GUESSED_FROM] or b"\0" in body[:200]:
        # Seven-bit escapes and UTF-16 pass for UTF-8 byte by byte; only their label tells them apart.
        for codec, origin in labels:
            if codec.startswith(("iso2022", "utf-16")):
                return _decoded(body, codec, origin)
    try:
        return _measured(body.decode("utf-8"), "utf-8", "utf-8")
    except UnicodeDecodeError:
        return _decode_labelled(body, labels)


def _labels(body: bytes, content_type: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    http = _HTTP_LABEL.search(content_type)
    # Servers say latin-1 by default, whatever they send; it is believed when nothing else speaks.
    if http and (codec := codec_of_label(http[1])) and codec != "cp1252":
        found.append((codec, "http"))
    head = body[:_SCANNED_FOR_LABEL]
    inside = _XML_LABEL.search(head) or _META_LABEL.search(head)
    if inside and (codec := codec_of_label(inside[1].decode("ascii", "replace"))):
        found.append((codec, "meta"))
    return found


def _decode_labelled(body: bytes, labels: list[tuple[str, str]]) -> DecodedText:
    broken_utf8 = _decoded(body, "utf-8", "guess")
    if _mostly_utf8(broken_utf8.text):
        return broken_utf8
    tried = [broken_utf8]
    for codec, origin in labels:
        decoded = _decoded(body, codec, origin)
        if decoded.replacement_share <= _TOLERATED_REPLACEMENTS:
            return decoded
        tried.append(decoded)
    korean = _decoded(body, "cp949", "guess")
    if korean.replacement_share <= _TOLERATED_REPLACEMENTS and _looks_korean(korean.text):
        return korean
    tried.append(_guessed(body))
    return min(tried, key=lambda decoded: decoded.replacement_share)


def _mostly_utf8(text: str) -> bool:
    """A page cut inside a character or with one bad byte: valid sequences don't come about by chance."""
    replaced = text.count("\ufffd")
    return len(_NON_ASCII.findall(text)) - replaced > 10 * replaced


def _looks_korean(text: str) -> bool:
    sample = text[:_GUESSED_FROM]
    foreign = len(_NON_ASCII.findall(sample))
    return foreign > 0 and len(_HANGUL.findall(sample)) / foreign > 0.7


def _guessed(body: bytes) -> DecodedText:
    best = from_bytes(_telling_part(body)).best()
    codec = (codec_of_label(best.encoding) or best.encoding) if best else "cp1252"
    return _decoded(body, codec, "guess")


def _telling_part(body: bytes) -> bytes:
    """Bytes around the first non-ASCII one: a page may open with 100 KB of script that tells nothing."""
    first = next((match.start() for match in re.finditer(rb"[\x80-\xff]", body)), 0)
    start = max(0, first - 512)
    return body[start : start + _GUESSED_FROM]


def _decoded(body: bytes, codec: str, origin: str) -> DecodedText:
    return _measured(body.decode(codec, "replace"), codec, origin)


def _measured(text: str, codec: str, origin: str) -> DecodedText:
    # NUL ends strings in C parsers and is refused by PostgreSQL.
    clean = text.replace("\0", "")
    return DecodedText(clean, codec, origin, clean.count("\ufffd") / max(1, len(clean)))

from pathlib import Path

import pytest

from issuetracker_dagster.stages.parser.charset import codec_of_label, decode_page

KOREAN = "정부는 오늘 새 대책을 발표했다. 펲시콜라와 똠방각하도 나온다. "
EXPECTED = {
    "euc-kr": "cp949",
    "CP949": "cp949",
    "GB2312": "gb18030",
    "Big5": "big5hkscs",
    "SHIFT_JIS": "cp932",
    "utf-8": "utf-8",
    "windows-1251-russian": "cp1251",
}


def test_a_bom_wins_over_every_label() -> None:
    decoded = decode_page(b"\xef\xbb\xbf" + "가".encode(), "text/html; charset=euc-kr")
    assert (decoded.text, decoded.origin) == ("가", "bom")
    assert decode_page("가나".encode("utf-16"), "text/html; charset=euc-kr").text == "가나"


def test_utf_8_that_decodes_is_utf_8_whatever_the_labels_say() -> None:
    assert decode_page(KOREAN.encode(), "text/html; charset=euc-kr").text == KOREAN


@pytest.mark.parametrize("label", ["euc-kr", "EUC-KR", "ks_c_5601-1987", "korean", "windows-949", "ms949", "uhc"])
def test_the_whole_euc_kr_family_is_read_as_cp949(label: str) -> None:
    decoded = decode_page(KOREAN.encode("cp949"), f"text/html; charset={label}")
    assert (decoded.text, decoded.charset, decoded.origin) == (KOREAN, "cp949", "http")
    assert decoded.replacement_share == 0


def test_a_server_that_says_latin_1_of_everything_is_not_believed() -> None:
    page = f'<html><head><meta charset="euc-kr"></head><p>{KOREAN}</p>'
    decoded = decode_page(page.encode("cp949"), "text/html; charset=ISO-8859-1")
    assert (decoded.text, decoded.origin) == (page, "meta")


def test_korean_without_any_label_is_recognised() -> None:
    assert decode_page((KOREAN * 3).encode("cp949"), "text/html").charset == "cp949"


def test_a_wrong_http_label_gives_way_to_the_meta_label() -> None:
    page = f'<meta http-equiv="Content-Type" content="text/html; charset=euc-kr"><p>{KOREAN * 5}'
    assert decode_page(page.encode("cp949"), "text/html; charset=utf-8").text == page


def test_one_bad_byte_does_not_turn_utf_8_into_mojibake() -> None:
    decoded = decode_page(KOREAN.encode() * 5 + b"\xec", "text/html")
    assert decoded.charset == "utf-8"
    assert 0 < decoded.replacement_share < 0.01


def test_seven_bit_japanese_is_read_by_its_label() -> None:
    text = "日本の政府は今日発表した"
    assert decode_page(text.encode("iso2022_jp"), "text/html; charset=iso-2022-jp").text == text


def test_nuls_never_come_through() -> None:
    assert decode_page(b"a\0b\0c").text == "abc"


@pytest.mark.parametrize("label", ["rot13", "utf-7", "idna", "unicode_escape", "base64", "x-unknown", ""])
def test_what_is_no_charset_of_documents_is_no_label(label: str) -> None:
    assert codec_of_label(label) is None


def test_bytes_of_no_charset_still_give_text_with_its_share_of_replacements() -> None:
    decoded = decode_page(bytes(range(256)) * 40, "text/html; charset=utf-8")
    assert 0 <= decoded.replacement_share <= 1


def test_real_files_of_each_charset_come_out_whole(shared_data: Path) -> None:
    checked = 0
    for path in sorted((shared_data / "encodings").rglob("*")):
        if path.is_file() and path.parent.name in EXPECTED:
            decoded = decode_page(path.read_bytes())
            assert decoded.charset == EXPECTED[path.parent.name], path.name
            assert decoded.replacement_share < 0.001, path.name
            checked += 1
    assert checked >= 25

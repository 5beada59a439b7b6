"""Each rule about a site's talk around its article, on the smallest body that shows it."""

import pytest

from issuetracker_dagster.stages.parser.blocks import Block, Kind
from issuetracker_dagster.stages.parser.boilerplate import Known, article_blocks, known
from tests.stages.parser_world import SENTENCE

NOTHING = Known()


def told(text: str = SENTENCE * 2, kind: Kind = "paragraph") -> Block:
    return Block(kind, text.strip())


def linked(text: str, kind: Kind = "paragraph") -> Block:
    return Block(kind, text, linked=len(text), links=1)


BODY = [told(f"{number}. {SENTENCE * 2}") for number in range(8)]


def kept(*blocks: Block, context: Known = NOTHING) -> list[Block]:
    return article_blocks(blocks, context)


def amid(block: Block) -> list[Block]:
    """The block in the middle of an article."""
    return kept(*BODY[:4], block, *BODY[4:])


def after(*blocks: Block) -> list[Block]:
    return kept(*BODY, *blocks)


def before(*blocks: Block, context: Known = NOTHING) -> list[Block]:
    return kept(*blocks, *BODY, context=context)


def test_an_article_without_the_sites_talk_stays_as_it_is() -> None:
    assert kept(*BODY) == BODY


@pytest.mark.parametrize("text", ["Five more bridges that the flood took", "관련기사 더 보기", "▶ 이 기사도 보세요"])
def test_a_line_that_is_nothing_but_a_link_goes(text: str) -> None:
    assert amid(linked(text)) == BODY


def test_a_linked_sentence_and_a_linked_heading_in_the_middle_stay() -> None:
    sentence = linked("The council had rejected the same plan twice within the last three years.")
    assert sentence in amid(sentence)
    heading = linked("Stone Bridge 3000", "heading")
    assert heading in amid(heading)


def test_a_line_that_points_to_another_page_goes() -> None:
    assert amid(Block("paragraph", "Read also: how the bridge fell", linked=19, links=1)) == BODY


def test_a_list_of_links_goes_and_a_list_of_the_article_stays() -> None:
    links = [linked(f"Story {number} of the flood", "item") for number in range(5)]
    assert kept(*BODY[:4], *links, *BODY[4:]) == BODY
    items = [told(f"Point {number} of the plan", "item") for number in range(5)]
    assert kept(*BODY[:4], *items, *BODY[4:]) == [*BODY[:4], *items, *BODY[4:]]


def test_a_page_that_is_made_of_links_keeps_them() -> None:
    links = [linked(f"Story {number} of the flood, told by a reader", "item") for number in range(20)]
    assert kept(told("Letters of the week, in the order in which they came."), *links)[1:] == links


def test_the_title_isnt_repeated_at_the_top() -> None:
    context = known(["Council votes to rebuild the bridge"], [])
    assert before(told("Council votes to rebuild the bridge!", "heading"), context=context) == BODY
    assert before(told("to rebuild the bridge", "heading"), context=context) == BODY
    kicker = "After the flood: Council votes to rebuild the bridge"
    assert before(told(kicker, "heading"), context=context) == BODY
    assert told(kicker) in before(told(kicker), context=context)
    later = told("Council votes to rebuild the bridge")
    assert kept(*BODY, later, *BODY, context=context) == [*BODY, later, *BODY]


@pytest.mark.parametrize(
    "text",
    ["By Ann Lee, Seoul", "Von Ann Lee", "Ann Lee", "2026-11-30 10:00", "30.11.2026", "입력 2026.11.30 오전 10:00",
     "https://news.example.com/world/1"],
)  # fmt: skip
def test_bylines_dates_and_addresses_at_the_top_go(text: str) -> None:
    assert before(told(text), context=known([], ["Ann Lee"])) == BODY


def test_an_address_in_the_middle_is_a_source_and_stays() -> None:
    for address in (told("https://data.example.org/bridges"), linked("https://data.example.org/bridges")):
        assert address in amid(address)


@pytest.mark.parametrize(
    "text",
    ["Advertisement", "ADVERTISEMENT", "Story continues below advertisement", "Related stories", "Lesen Sie auch: mehr",
     "À lire aussi", "Leia também:", "Te puede interesar", "Lees ook", "Czytaj więcej", "Les også", "Baca juga:",
     "Читайте также", "広告", "관련기사", "많이 본 뉴스", "사진=연합뉴스", "[사진 제공 시청]"],
)  # fmt: skip
def test_labels_go_in_every_language(text: str) -> None:
    assert amid(told(text)) == BODY


def test_the_pages_own_address_at_the_end_goes() -> None:
    assert after(linked("https://news.example.com/world/1")) == BODY


def test_a_sentence_that_begins_like_a_label_stays() -> None:
    for text in ("Advertisements were torn down by the crowd.", "관련기사를 쓴 기자는 사실이 아니라고 말했다."):
        assert told(text) in amid(told(text))


@pytest.mark.parametrize(
    "text",
    ["Sign up for our newsletter to read more about bridges.", "Ann Lee is a staff writer in Seoul.",
     "© 2026 Example. All rights reserved.", "Abonnez-vous pour lire la suite de cet article.",
     "홍길동 기자 hong@example.co.kr", "저작권자 ⓒ 예시일보, 무단 전재 및 재배포 금지",
     "기사 제보 및 보도자료는 예시일보로 보내 주세요.",
     "記事・写真の無断転載を禁じます。", "More stories", "Ann Lee"],
)  # fmt: skip
def test_calls_notes_and_stray_lines_at_the_end_go(text: str) -> None:
    assert after(told(text)) == BODY
    assert after(told(text), told("Follow us on Facebook.")) == BODY


def test_a_heading_that_heads_nothing_goes() -> None:
    assert after(told("You can do something about it, too", "heading")) == BODY


def test_what_reads_like_a_call_stays_within_the_article() -> None:
    call = told("Sign up for our newsletter, the leaflet said, and nobody did.")
    assert call in amid(call)


@pytest.mark.parametrize(
    "text",
    ["The court's ruling on copyright is expected in March.", "He asked the council for more from the fund.",
     "Her comments are on record.", "It wants to become a member of the union.",
     "Nobody has used the TikTok app since.",
     "Lo escribió en su cuenta ayer.", "Netflix ha perso molti abbonati in marzo.", "Er sagte ihr seine ihre Meinung.",
     "장관은 저작권 보호를 강조했다.", "한 독자는 구독을 끊었다고 말했다."],
)  # fmt: skip
def test_a_last_sentence_about_such_things_stays(text: str) -> None:
    assert told(text) in after(told(text))


def test_a_longer_run_of_short_lines_at_the_end_is_a_list_of_the_article() -> None:
    dates = [told(f"{day} May, The Forum, Los Angeles") for day in range(1, 9)]
    assert after(*dates) == [*BODY, *dates]


def test_the_end_loses_no_more_than_a_fifth() -> None:
    calls = [told(f"Subscribe to the paper number {number}. " * 4) for number in range(30)]
    left = sum(len(block.text) for block in after(*calls))
    assert left >= 0.8 * sum(len(block.text) for block in [*BODY, *calls])


def test_a_body_of_which_no_rule_leaves_anything_stays_whole() -> None:
    assert kept(told("Advertisement"), told("Related stories")) == [told("Advertisement"), told("Related stories")]


def test_no_blocks_are_no_body() -> None:
    assert kept() == []

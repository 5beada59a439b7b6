"""How the extractor's tree becomes blocks that know their links."""

from lxml import etree

from issuetracker_dagster.stages.parser.blocks import Block, read_blocks, text_of


def blocks(inner: str) -> list[Block]:
    return read_blocks(etree.fromstring(f"<body>{inner}</body>"))


def test_a_block_knows_how_much_of_it_is_links() -> None:
    assert blocks("<p>Read <ref target='/a'>the report</ref> of <ref>May</ref>.</p>") == [
        Block("paragraph", "Read the report of May.", linked=13, links=2)
    ]


def test_kinds_rows_and_line_breaks_are_told_apart() -> None:
    found = blocks(
        "<head>Results</head><list><item>One <hi>two</hi></item><item><p>three</p></item></list>"
        "<table><row><cell>a</cell><cell><p>b</p></cell></row></table><p>first<lb/>second</p>"
    )
    assert [(block.kind, block.text) for block in found] == [
        ("heading", "Results"), ("item", "One two"), ("item", "three"), ("row", "a | b"),
        ("paragraph", "first"), ("paragraph", "second"),
    ]  # fmt: skip


def test_text_outside_of_any_element_is_kept() -> None:
    assert [block.text for block in blocks("before<p>inside</p>after")] == ["before", "inside", "after"]


def test_links_that_open_on_hover_leave_their_first() -> None:
    box = "<ref>Ann Lee</ref><ref>Ann Lee</ref> <ref>Lee wins the vote in the council</ref> <ref>MORE</ref>"
    assert [block.text for block in blocks(f"<p>Senator {box} (A) said so.</p>")] == ["Senator Ann Lee (A) said so."]


def test_two_links_beside_each_other_both_stay() -> None:
    assert [block.text for block in blocks("<p>By <ref>Ann Lee</ref> <ref>Bo Kim</ref> in Seoul</p>")] == [
        "By Ann Lee Bo Kim in Seoul"
    ]


def test_comments_and_instructions_in_the_tree_say_nothing() -> None:
    assert [block.text for block in blocks("<p>a<!-- x -->b<?y z?>c</p>")] == ["abc"]


def test_text_has_a_line_a_block_and_a_dash_before_items() -> None:
    assert text_of(blocks("<p>Shops:</p><list><item>one</item><item>two</item></list>")) == "Shops:\n- one\n- two"


def test_a_sentence_ends_in_every_script() -> None:
    for text in ("It ended.", "“Is it over?”", "끝났다.", "終わった。", "समाप्त हुआ।", "ختم ہوا۔"):
        assert Block("paragraph", text).ends_a_sentence, text
    assert not Block("paragraph", "Photo: Ann Lee").ends_a_sentence

"""How deep a page nests its boxes, told from its text before a tree is built of it.

The tree builder looks through all open elements at each new box: a hundred thousand of them, half a megabyte, take it
half a minute.
"""

import re

DEEPEST = 20_000
"""No editor nests boxes so deep; a tree of this depth takes a second. Threads whose posts leave one open stay below."""

# Elements that only their own end tag closes. Paragraphs and list items end where the next begins.
_BOX = re.compile(
    r"<(/?)(?:div|section|article|aside|nav|main|header|footer|figure|blockquote|[uod]l|center|details|dialog|fieldset|"
    r"hgroup|address|menu|search|summary|listing|pre)(?![\w-])",
    re.IGNORECASE,
)


def is_too_deep(text: str) -> bool:
    """Whether more than `DEEPEST` boxes are open at once somewhere."""
    if text.count("<") <= DEEPEST:
        return False
    depth = 0
    for match in _BOX.finditer(text):
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > DEEPEST:
            return True
    return False

"""Sentences of a text, and which of them are claims, pure."""

import re

_BREAK = re.compile(r"[.!?…][\"”’'」』)\]]{0,3}\s+|[。！？][」』”]{0,2}|\n+")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|Gen|Sen|Rep|Gov|St|vs|No|Jan|Feb|Aug|Sept|Oct|Nov|Dec|U\.S|U\.K|U\.N)\.$"
)
_QUOTE = re.compile(r"[“”„«»「」『』]|\"[^\"\n]{3,300}\"|(?:^|\s)['‘][^'’\n]{3,300}['’]")
_NUMBER = re.compile(r"\d")
_REPORTING = re.compile(
    r"\b(?:said|says|told|announced|reported|according to|confirmed|claimed|claims|denied|warned|stated|added|argued|"
    r"estimated|sagte|erklärte|teilte|laut|berichtete|déclaré|selon|annoncé|affirmé|dijo|según|anunció|afirmó)\b"
    r"|밝혔다|말했다|전했다|발표했다|설명했다|주장했다|강조했다|따르면|보도했다|경고했다|확인했다|덧붙였다|述べた|発表した|表示|宣布",
    re.IGNORECASE,
)

LONGEST_TEXT = 20_000
"""Characters that are read for claims; news says what it has to say before that."""
_SHORTEST_CLAIM = 12
_LONGEST_CLAIM = 500


def sentences(text: str) -> list[str]:
    """The sentences of the first 20,000 characters, each on one line. `Mr.`, initials and `U.S.` don't end one."""
    found: list[str] = []
    start = 0
    text = text[:LONGEST_TEXT]
    for match in _BREAK.finditer(text):
        candidate = text[start : match.end()].rstrip()
        following = text[match.end() : match.end() + 1]
        if "\n" not in match.group() and (following.islower() or _ABBREVIATION.search(candidate[-12:])):
            continue
        found.append(candidate)
        start = match.end()
    found.append(text[start:])
    return [" ".join(sentence.split()) for sentence in found if sentence.strip()]


def is_claim(sentence: str) -> bool:
    """Whether it can be checked: it carries a number, a quote or a reporting verb, and has the length of a sentence."""
    if not _SHORTEST_CLAIM <= len(sentence) <= _LONGEST_CLAIM:
        return False
    return any(pattern.search(sentence) for pattern in (_NUMBER, _QUOTE, _REPORTING))

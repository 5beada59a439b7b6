"""Named things in a text, pure: capitalised spans; where letters have no case, nouns of the title."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from issuetracker_dagster.stages.enrich.sentences import sentences
from issuetracker_dagster.stages.enrich.stopwords import STOPWORDS
from issuetracker_dagster.stages.enrich.words import TOKEN, UNCASED, terms

Nouns = Callable[[str], Sequence[str]]
"""From a text to its nouns, for a language with an analyser."""

_CONNECTORS = frozenset({" ", " of ", " de ", " van ", " von ", " bin ", " al ", " da ", " du ", " la "})
_OFFICES = """
president minister prime chancellor mayor governor senator king queen prince princess chief judge general captain
professor sir lord lady director officer spokesman spokeswoman spokesperson
"""
_TITLES = frozenset(_OFFICES.split())
_VERBAL = ("다", "요", "까", "며", "고", "서", "해", "한", "할", "된", "될", "듯", "중")
_LONGEST_SPAN = 4
_TITLE_WEIGHT = 3


def named_entities(title: str, body: str, most: int, nouns: Nouns | None = None) -> tuple[str, ...]:
    """Up to `most` names, the ones said most often first. `nouns` analyses text in a script without case."""
    if 2 * sum(map(len, UNCASED.findall(title or body[:200]))) > len(re.sub(r"\W", "", title or body[:200])):
        return _uncased(title, body, most, nouns)
    return _cased(title, body, most)


def name_words(entities: Sequence[str]) -> frozenset[str]:
    """The words of the names, in lower case: `Mayor Ann Lee` and `Lee` have one in common."""
    parts = (word for entity in entities for word in entity.split())
    told = (part.casefold() for part in parts if _is_acronym(part) or part.casefold() not in STOPWORDS)
    return frozenset(part for part in told if part not in _TITLES)


def _cased(title: str, body: str, most: int) -> tuple[str, ...]:
    strong: Counter[str] = Counter()
    weak: Counter[str] = Counter()
    lines = [(sentence, 1) for sentence in sentences(body)]
    if not _is_headline_case(title):
        lines.append((title, _TITLE_WEIGHT))
    for line, weight in lines:
        for span, is_first in _spans(line):
            single = len(span) == 1 and not (span[0].isupper() and len(span[0]) > 1)
            (weak if is_first and single else strong)[" ".join(span)] += weight
    known = {word for name in strong for word in name.split()}
    for name, count in weak.items():
        if name in known:
            strong[name] += count
    in_title = {match.group().casefold() for match in TOKEN.finditer(title)}
    for name in strong:
        if all(word.casefold() in in_title for word in name.split()):
            strong[name] += _TITLE_WEIGHT
    return _without_parts([name for name, _ in strong.most_common(most * 2)])[:most]


def _is_headline_case(title: str) -> bool:
    tokens = [match.group() for match in TOKEN.finditer(title)][1:]
    return 2 * sum(token[0].isupper() for token in tokens) > len(tokens)


def _spans(line: str) -> list[tuple[list[str], bool]]:
    """Runs of capitalised words, and whether a run begins the line. Leading stop words and titles are cut off."""
    spans: list[tuple[list[str], bool]] = []
    run: list[str] = []
    first = False
    last_end = 0
    for position, match in enumerate(TOKEN.finditer(line)):
        token = match.group()
        gap = line[last_end : match.start()]
        if not token[0].isupper():
            continue
        # Bank of Norland is one name, Tom Reyes of Port Alder are two.
        if run and (gap not in _CONNECTORS or len(run) == _LONGEST_SPAN or (gap == " of " and len(run) > 1)):
            spans.append((run, first))
            run = []
        if not run:
            first = position == 0
        elif gap != " ":
            run[-1] += gap.rstrip()
        run.append(token.removesuffix("'s").removesuffix("’s"))
        last_end = match.end()
    spans.append((run, first))
    trimmed = ((_trim(found), begins) for found, begins in spans)
    return [(found, begins) for found, begins in trimmed if found]


def _trim(run: list[str]) -> list[str]:
    while run and not _is_acronym(run[0]) and (run[0].casefold() in STOPWORDS or run[0].casefold() in _TITLES):
        run = run[1:]
    return [] if len(run) == 1 and len(run[0]) < 2 else run


def _is_acronym(word: str) -> bool:
    """The UN and the US aren't `un` and `us`."""
    return word.isupper() and 2 <= len(word) <= 5


def _without_parts(names: Sequence[str]) -> tuple[str, ...]:
    """Names that aren't a part of a longer one that is said too."""
    padded = [f" {name} " for name in names]
    return tuple(name for name in names if not any(f" {name} " in other and f" {name} " != other for other in padded))


def _uncased(title: str, body: str, most: int, nouns: Nouns | None) -> tuple[str, ...]:
    read = nouns or _guessed_nouns
    # Only what the headline names is told from the crowd of nouns; the body says how much it is about it.
    in_title = dict.fromkeys(read(title))
    counts = {noun: body.count(noun) for noun in in_title}
    capitals = (match.group() for match in re.finditer(r"\b[A-Z][A-Za-z]+\b", title))
    counts.update({name: 1 + body.count(name) for name in capitals})
    ranked = sorted((noun for noun, count in counts.items() if count > 0), key=lambda noun: -counts[noun])
    return tuple(ranked[:most])


def _guessed_nouns(text: str) -> list[str]:
    found: list[str] = []
    for match in UNCASED.finditer(text):
        if match.start() and text[match.start() - 1].isdigit():
            continue
        roots = (root for root in terms(match.group()) if len(root) >= 2)
        found.extend(root for root in roots if root not in STOPWORDS and not root.endswith(_VERBAL))
    return found

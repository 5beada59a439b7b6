"""Step 1 offline: language, keywords, names and claims of one content."""

from collections import Counter

from issuetracker_dagster.model.records import Content
from issuetracker_dagster.stages.enrich.entities import Nouns, named_entities
from issuetracker_dagster.stages.enrich.options import EnrichOptions
from issuetracker_dagster.stages.enrich.sentences import LONGEST_TEXT, is_claim, sentences
from issuetracker_dagster.stages.enrich.steps import Extraction
from issuetracker_dagster.stages.enrich.stopwords import STOPWORDS
from issuetracker_dagster.stages.enrich.words import terms, words
from issuetracker_dagster.stages.language import detect_language

UNKNOWN_LANGUAGE = "und"
_TITLE_WEIGHT = 3


class LocalExtractor:
    """Needs nothing but the text; the same text gives the same answer."""

    def __init__(self, options: EnrichOptions, korean_nouns: Nouns | None = None) -> None:
        self._options = options
        self._korean_nouns = korean_nouns

    def extract(self, content: Content) -> Extraction:
        """The extraction; `language` is `und` when it can't be told."""
        language = content.language or detect_language(f"{content.title}\n{content.body}") or UNKNOWN_LANGUAGE
        body = content.body[:LONGEST_TEXT]
        nouns = self._korean_nouns if language == "ko" else None
        claims = dict.fromkeys(sentence for sentence in sentences(body) if is_claim(sentence))
        return Extraction(
            language=language,
            keywords=keywords(content.title, body, self._options.keywords_max, nouns),
            entities=named_entities(content.title, body, self._options.entities_max, nouns),
            claims=tuple(claims)[: self._options.claims_max],
        )


def keywords(title: str, body: str, most: int, nouns: Nouns | None = None) -> tuple[str, ...]:
    """The words said most, those of the title counting three times more; forms of one word count as one."""
    counts: Counter[str] = Counter()
    forms: dict[str, str] = {}
    for text, weight in ((title, 1 + _TITLE_WEIGHT), (body, 1)):
        for word in nouns(text) if nouns else words(text):
            for root in terms(word):
                if len(root) < 2 or root in STOPWORDS or root[0].isdigit():
                    continue
                counts[root] += weight
                # An English stem is no word: it is shown in the form that came first.
                forms.setdefault(root, word if root.isascii() else root)
    return tuple(forms[root] for root, _ in counts.most_common(most))

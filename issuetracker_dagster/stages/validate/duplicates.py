"""Fingerprints of a text, pure. Stored signatures stay comparable only while the constants here stay as they are."""

import hashlib
import re
import unicodedata
import zlib

import msgspec
import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

PERMUTATIONS = 128
BANDS = 16
"""16 bands of 8 rows: a pair of similarity 0.85 shares a band with 99 %, one of 0.5 with 6 %."""
WORDS_PER_SHINGLE = 4
CHARACTERS_PER_SHINGLE = 5

_ROWS = PERMUTATIONS // BANDS
_SEED = 1
_VALUES_AT_ONCE = 4_096
_GAP = re.compile(r"[\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3041-\u30ff\u3131-\u318e\u3400-\u9fff\uac00-\ud7a3]")
_TEMPLATE = MinHash(num_perm=PERMUTATIONS, seed=_SEED, hashfunc=zlib.crc32, scheme="affine32")


class Fingerprint(msgspec.Struct, frozen=True):
    """`text_hash` tells equal texts, `signature` (128 uint32) similar ones, `bands` where to look for those."""

    text_hash: str
    signature: bytes
    bands: tuple[str, ...]


def fingerprint(text: str) -> Fingerprint:
    """The fingerprint of a body. Letter case, punctuation, white space and compatibility forms make no difference."""
    normal = normal_text(text)
    values = _minhash(shingles(normal))
    signature = values.tobytes()
    bands = tuple(
        f"{band}:{hashlib.blake2b(values[band * _ROWS : (band + 1) * _ROWS].tobytes(), digest_size=8).hexdigest()}"
        for band in range(BANDS)
    )
    return Fingerprint(text_hash(normal), signature, bands)


def normal_text(text: str) -> str:
    """Case-folded words with single spaces, nothing else."""
    return _GAP.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def text_hash(normal: str) -> str:
    """SHA-256 in hex of a normalised text."""
    return hashlib.sha256(normal.encode("utf-8", "surrogatepass")).hexdigest()


def shingles(normal: str) -> set[bytes]:
    """Runs of four words; of five characters without their spaces where a script sets few or none (Korean included)."""
    if 2 * len(_UNSPACED.findall(normal)) > len(normal):
        units, size, glue = list(normal.replace(" ", "")), CHARACTERS_PER_SHINGLE, ""
    else:
        units, size, glue = normal.split(" "), WORDS_PER_SHINGLE, " "
    last = max(1, len(units) - size + 1)
    return {glue.join(units[start : start + size]).encode("utf-8", "surrogatepass") for start in range(last)}


def similarity(left: bytes, right: bytes) -> float:
    """The estimated Jaccard similarity of two signatures, in [0, 1]; 0 when one was made in another way."""
    if len(left) != len(right) or len(left) != PERMUTATIONS * 4:
        return 0.0
    return float(np.mean(np.frombuffer(left, dtype="<u4") == np.frombuffer(right, dtype="<u4")))


def _minhash(grams: set[bytes]) -> NDArray[np.uint32]:
    sketch = _TEMPLATE.copy()
    values = list(grams)
    # The library makes a table of every value by every permutation: a gigabyte for a million characters.
    for start in range(0, len(values), _VALUES_AT_ONCE):
        sketch.update_batch(values[start : start + _VALUES_AT_ONCE])
    return np.asarray(sketch.hashvalues).astype("<u4")

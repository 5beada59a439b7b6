"""Which code read a page: kept with each content, so that what older code read can be found and read again."""

import hashlib
from functools import cache
from pathlib import Path


@cache
def code_version() -> str:
    """The first 12 digits of a hash over the parser's own modules: another one whenever any of them changed."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(module.read_bytes() for module in modules)).hexdigest()[:12]

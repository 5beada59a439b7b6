"""How flags are set in the Dagster that runs on this home: `demo` sets them for its own alone, and commands beside it
would take them for unset."""

from collections.abc import Mapping

_WORDS = {"true": True, "false": False}


def as_running(environment: Mapping[str, str] | None, variable: str, own: bool | None) -> bool | None:
    """A three-valued flag as the environment of the running code server has it; `own` where that doesn't say."""
    given = (environment or {}).get(variable, "").strip().lower()
    return _WORDS.get(given, own)

"""Finding 9: what a part of the flow needs is asked for when it is built, by name, not at its first message."""

import importlib
import inspect
import pkgutil
from enum import Enum

import msgspec
import pytest

from issuetracker_dagster import flow
from issuetracker_dagster.flow.handle import StageWork

MAY_BE_ABSENT = {
    # Named by what goes on without it.
    "StageWork.urls": "without Redis a stage works unlocked",
    "Crew.urls": "without Redis a stage works unlocked",
    "Settler.upgrader": "only the parser sees empty pages",
}


def parts() -> list[type]:
    """Every public class of the flow that is built with something of its own."""
    found = []
    for module in pkgutil.iter_modules(flow.__path__):
        loaded = importlib.import_module(f"{flow.__name__}.{module.name}")
        found += [
            kind
            for name, kind in inspect.getmembers(loaded, inspect.isclass)
            if kind.__module__ == loaded.__name__ and not name.startswith("_") and _is_part(kind)
        ]
    return found


def _is_part(kind: type) -> bool:
    """Not a protocol and not a value, of which None may be one; an error is a value, too."""
    is_value = issubclass(kind, Enum | BaseException) or (issubclass(kind, msgspec.Struct) and kind is not StageWork)
    return not is_value and not getattr(kind, "_is_protocol", False)


def needs(kind: type) -> list[inspect.Parameter]:
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [each for each in inspect.signature(kind).parameters.values() if each.kind in named]


@pytest.mark.parametrize("kind", parts(), ids=lambda kind: kind.__name__)
def test_9_a_missing_dependency_is_found_at_construction_by_name(kind: type) -> None:
    required = [each.name for each in needs(kind) if each.default is inspect.Parameter.empty]
    for missing in required:
        with pytest.raises(TypeError, match=missing):
            kind(**{name: object() for name in required if name != missing})


def test_9_no_dependency_is_absent_by_default_but_those_that_are_done_without() -> None:
    absent = {f"{kind.__name__}.{each.name}" for kind in parts() for each in needs(kind) if each.default is None}
    assert absent == set(MAY_BE_ABSENT)

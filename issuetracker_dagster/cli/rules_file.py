"""The YAML form of parser rules. Reading names every fault by its position; what is written reads back the same.

```yaml
rules:
  - host: news.example.com
    path: ^/breaking/
    type: article
    priority: high
    enabled: true
    selectors: {title: {css: h1}}
    options: {timezone: Asia/Seoul}
```
"""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
import yaml

from issuetracker_dagster.cli.files import NotPlainYaml, composed, repeated_keys, value_of
from issuetracker_dagster.flow.rule_set import Place, WantedRule
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.priority import Priority, priority_from_label
from issuetracker_dagster.model.rules import ParserRule, SelectorSpec, check_host, check_path

T = TypeVar("T")
_KEYS = ("host", "path", "type", "priority", "enabled", "selectors", "options")
_SELECTOR_KEYS = ("css", "attribute", "multi")


class WrongFile(ValueError):
    """A rule file that can't be used; `faults` are sentences, each with its position and what to write instead."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))
        self.faults = tuple(faults)


def read_rules(text: str) -> list[WantedRule]:
    """The rules of a file; raises `WrongFile` with all its faults."""
    try:
        root = composed(text)
        repeated = repeated_keys(root) if root else []
        found = value_of(root) if root and not repeated else None
    except NotPlainYaml as error:
        raise WrongFile([str(error)]) from None
    if repeated:
        # Readers take the last of two equal keys, so that one of two priorities would vanish without a word.
        raise WrongFile([f"line {line}: {key!r} is there twice; leave one out" for line, key in repeated])
    if not isinstance(found, dict) or not isinstance(found.get("rules"), list):
        raise WrongFile(["the file has no list named rules; write 'rules:' and below it '- host: news.example.com'"])
    faults = [_unknown(str(key), ("rules",), "the file") for key in found if key != "rules"]
    rules: list[WantedRule] = []
    places: dict[Place, int] = {}
    for number, given in enumerate(found["rules"], start=1):
        rule = _Reader(number, faults).rule(given)
        if rule is None:
            continue
        first = places.setdefault(rule.place, number)
        if first != number:
            faults.append(f"rule {number} is about the same host, path and type as rule {first}; leave one of them out")
        rules.append(rule)
    if faults:
        raise WrongFile(faults)
    return rules


def written(rules: Iterable[ParserRule]) -> str:
    """The file of these rules."""
    text = yaml.safe_dump(
        {"rules": [_plain(rule) for rule in rules]}, sort_keys=False, allow_unicode=True, width=10_000
    )
    return str(text)


class _Reader:
    """Reads one rule and notes its faults."""

    def __init__(self, number: int, faults: list[str]) -> None:
        self._number = number
        self._faults = faults

    def rule(self, given: object) -> WantedRule | None:
        """The rule; None when it has no usable host, path or type by which to name it."""
        if not isinstance(given, dict):
            self._faults.append(f"rule {self._number} isn't a mapping; write '- host: news.example.com' and so on")
            return None
        for key in given:
            if key not in _KEYS:
                self._faults.append(_unknown(str(key), _KEYS, f"rule {self._number}"))
        before = len(self._faults)
        if "host" not in given:
            self._fault("host", "missing; write 'news.example.com' or '*.example.com'")
        host = self._read(given, "host", lambda value: check_host(_text(value)), "")
        path = self._read(given, "path", lambda value: check_path(_text(value)), "")
        kind = self._read(given, "type", _type, TargetType.ARTICLE)
        priority = self._read(given, "priority", _priority, None)
        enabled = self._read(given, "enabled", _switch, None)
        selectors = self._read(given, "selectors", _selectors, None)
        options = self._read(given, "options", _options, None)
        if len(self._faults) > before:
            return None
        return WantedRule(
            host=host,
            path=path,
            target_type=kind,
            priority=priority,
            enabled=enabled,
            selectors=selectors,
            options=options,
        )

    def _read(self, given: Mapping[str, object], key: str, read: Callable[[object], T], default: T) -> T:
        if key not in given:
            return default
        try:
            return read(given[key])
        except ValueError as error:
            self._fault(key, str(error))
            return default

    def _fault(self, key: str, words: str) -> None:
        self._faults.append(f"rule {self._number}, {key}: {words}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} isn't text; write it in quotes, or '' for none")
    return value


def _type(value: object) -> TargetType:
    try:
        return TargetType(str(value))
    except ValueError:
        raise ValueError(f"{value!r} is none of {', '.join(kind.value for kind in TargetType)}") from None


def _priority(value: object) -> Priority:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(f"{value!r} is none of high, normal, low (or 1, 2, 3)")
    return priority_from_label(str(value))


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def _selectors(value: object) -> dict[str, SelectorSpec]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} isn't a mapping; write 'title: {{css: h1}}'")
    return {_text(name): _selector(_text(name), spec) for name, spec in value.items()}


def _selector(name: str, given: object) -> SelectorSpec:
    if isinstance(given, dict):
        for key in given:
            if key not in _SELECTOR_KEYS:
                raise ValueError(_unknown(str(key), _SELECTOR_KEYS, name))
    if given == "" or (isinstance(given, dict) and given.get("css") == ""):
        raise ValueError(f"{name}: an empty selector finds nothing; leave it out")
    try:
        return msgspec.convert({"css": given} if isinstance(given, str) else given, SelectorSpec)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name}: {error}; write 'css: h1', and attribute (text) or multi (true) as needed") from None


def _options(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError(f"{value!r} isn't a mapping; write 'timezone: Asia/Seoul'")
    wrong = [name for name, text in value.items() if not (isinstance(name, str) and isinstance(text, str))]
    if wrong:
        raise ValueError(f"the value of {wrong[0]} isn't text; write it in quotes")
    return value


def _unknown(key: str, known: Sequence[str], where: str) -> str:
    near = difflib.get_close_matches(key, known, 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"{where}: {key!r} is unknown; {hint}"


def _plain(rule: ParserRule) -> dict[str, object]:
    # Empty selectors and options are written, too: what is left out stays as it is, and an import brought nothing back
    # of a rule that had none.
    return {
        "host": rule.host_pattern,
        "path": rule.path_pattern,
        "type": rule.target_type.value,
        "priority": Priority(rule.crawl_priority).label,
        "enabled": rule.enabled,
        "selectors": {name: _plain_selector(spec) for name, spec in rule.selectors.items()},
        "options": dict(rule.options),
    }


def _plain_selector(spec: SelectorSpec) -> dict[str, object]:
    given = msgspec.structs.asdict(spec)
    return {name: value for name, value in given.items() if name == "css" or value}

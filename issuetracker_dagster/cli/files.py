"""Files that the `import` and `export` commands take: text in, its YAML as plain nodes, text out."""

from pathlib import Path

import click
import yaml

MOST_BYTES = 16_000_000
"""A hundred thousand rules; more is another file by mistake."""


class NotPlainYaml(ValueError):
    """What isn't YAML, or more than its plain part; a sentence with the line."""


class _PlainLoader(yaml.SafeLoader):
    """Reads values as they are written: without aliases, which can make a small file a huge one, and without tags.

    Dates stay text, since nothing here is one.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML reads it from the class
        first: [(tag, form) for tag, form in forms if not tag.endswith(":timestamp")]
        for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise NotPlainYaml(f"line {line}: aliases such as *{event.anchor} aren't read; write it out here")
        if getattr(event, "tag", None) is not None:
            raise NotPlainYaml(f"line {line}: tags such as {event.tag} aren't read; leave it out")
        node: yaml.Node | None = super().compose_node(parent, index)
        return node


def composed(text: str) -> yaml.Node | None:
    """The nodes of a YAML text, None of an empty one; raises `NotPlainYaml`."""
    try:
        node: yaml.Node | None = _PlainLoader(text).get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise NotPlainYaml(f"the file isn't YAML: {where}{error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise NotPlainYaml(f"the file isn't YAML: {' '.join(str(error).split())}") from None
    except RecursionError:
        raise NotPlainYaml("the file isn't YAML that can be read: it is nested too deeply") from None
    return node


def value_of(node: yaml.Node) -> object:
    """The value of a composed node; raises `NotPlainYaml` for one that is none, such as a list as a key."""
    try:
        return _PlainLoader("").construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else node.start_mark.line
        raise NotPlainYaml(f"line {line + 1}: {error.problem}") from None
    except ValueError as error:  # a number that none is, such as 0x_
        raise NotPlainYaml(f"below line {node.start_mark.line + 1}: {error}; write text in quotes") from None


def repeated_keys(node: yaml.Node) -> list[tuple[int, str]]:
    """Keys that are twice in a mapping, with their lines: YAML readers take the last one without a word."""
    found: list[tuple[int, str]] = []
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                found.append((key.start_mark.line + 1, key.value))
            seen.add(str(key.value))
            found += repeated_keys(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            found += repeated_keys(item)
    return found


def read_text(file: str) -> str:
    """The text of a file, of standard input for `-`; raises `ClickException` that says what is wrong with it."""
    try:
        with click.open_file(file, "rb") as opened:
            content: bytes = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise click.ClickException(f"{file} can't be read: {error.strerror}; nothing was changed") from None
    if len(content) > MOST_BYTES:
        raise click.ClickException(f"{file} has more than {MOST_BYTES // 10**6} MB; nothing was changed")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise click.ClickException(f"{file} isn't UTF-8 text; nothing was changed") from None


def write_text(file: str, text: str, *, overwrite: bool) -> None:
    """Write to a file that isn't there yet, or may be replaced; raises `ClickException` that says why it can't be."""
    try:
        with Path(file).open("w" if overwrite else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise click.ClickException(f"{file} is there already; --overwrite replaces it, comments and all") from None
    except OSError as error:
        raise click.ClickException(f"{file} can't be written: {error.strerror}") from None

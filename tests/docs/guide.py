"""Runs the examples of a guide: `yaml` blocks are files, `console` blocks commands and what they print."""

import re
import shlex

from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.ports.traces import PublishedJob
from tests.cli.terminal import Terminal

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ issuetracker "


def run(guide: str, terminal: Terminal) -> str:
    """The guide with what its commands really print; equal to the guide when all is as it says."""
    return _BLOCK.sub(lambda block: f"```{block[1]}\n{_done(block[1], block[2], terminal)}```", guide)


def _done(kind: str, text: str, terminal: Terminal) -> str:
    first, _, rest = text.partition("\n")
    if kind == "yaml":
        terminal.write(first.removeprefix("# "), text)
    elif first == "# published lately":
        terminal.stores.published_recent.write([_published(url) for url in rest.split()])
    elif kind == "console":
        commands = [line for line in text.splitlines() if line.startswith(_PROMPT)]
        return "".join(f"{line}\n{_printed(line, terminal)}" for line in commands)
    return text


def _printed(line: str, terminal: Terminal) -> str:
    _, output = terminal.run(*shlex.split(line.removeprefix(_PROMPT)))
    return output


def _published(url: str) -> PublishedJob:
    return PublishedJob(
        url=url, host=url.split("/")[2], target_type=TargetType.ARTICLE, priority=2, decided_by="default", at_ms=0
    )

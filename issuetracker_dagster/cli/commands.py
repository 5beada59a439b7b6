"""Which commands there are, and where: a module is imported when its command is asked for.

The clients of Kafka, Redis and SQL take over a second to import, and help needs none of them.
"""

from importlib import import_module
from keyword import iskeyword

import click

COMMANDS = {
    "blacklist": ("blacklist", "Pages that are dropped, or read for their links only."),
    "db": ("database", "Migrate the database."),
    "demo": ("services", "Like `dev`, with a news site of its own, its seeds and rules."),
    "dev": ("services", "Start what is missing, migrate, and run `dagster dev`."),
    "digest": ("digest", "The issues that move fastest, in the terminal or as a page."),
    "dlq": ("dlq", "Dead letters: messages that can't go on."),
    "doctor": ("doctor", "Test the set-up and name each fix."),
    "down": ("services", "Stop the services of this home folder; their data stays."),
    "metrics": ("metrics", "Serve the figures of the pipeline to Prometheus."),
    "publish": ("publish", "Publish crawl jobs for URLs."),
    "purge": ("purge", "Remove what has grown old, by the PURGE_* settings."),
    "queue": ("queue", "Look into the stage queues, move entries, give them back to Kafka."),
    "reparse": ("reparse", "Read stored pages again, without fetching them."),
    "report": ("reading", "Show the latest issues and contents."),
    "rules": ("rules", "Priority and reading of pages, by host and path."),
    "seeds": ("seeds", "Entry URLs that are crawled at intervals."),
    "settings": ("reading", "List every setting with its default and meaning."),
    "status": ("status", "Show what runs, where, and how full the queues are."),
    "top": ("top", "Watch stages, bands, rates, workers and backlogs live."),
    "trace": ("trace", "Tell where a message or a page is and has been."),
    "try": ("try_page", "Show what each stage makes of one page, without storing it."),
    "up": ("services", "Start Kafka, Valkey and the database in the background."),
    "why": ("why", "Explain what happens to a URL when it is published."),
}
"""Name of the command and of its object -> its module, and what it is for in a line."""


class Commands(click.Group):
    """The commands of the table, in the order of their names."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        name = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name
        command: click.Command = getattr(import_module(f"{__package__}.{COMMANDS[cmd_name][0]}"), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

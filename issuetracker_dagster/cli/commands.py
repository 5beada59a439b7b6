"""Which commands there are, and where: a module is imported when its command is asked for.

The clients of Kafka, Redis and SQL take over a second to import, and help needs none of them.
"""

from importlib import import_module

import click

COMMANDS = {
    "blacklist": ("blacklist", "Pages that are dropped, or read for their links only."),
    "db": ("database", "Migrate the database."),
    "demo": ("services", "Like `dev`, with a news site of its own, its seeds and rules."),
    "dev": ("services", "Start what is missing, migrate, and run `dagster dev`."),
    "dlq": ("dlq", "Dead letters: messages that can't go on."),
    "down": ("services", "Stop the services of this home folder; their data stays."),
    "publish": ("publish", "Publish crawl jobs for URLs."),
    "report": ("reading", "Show the latest issues and contents."),
    "rules": ("rules", "Priority and reading of pages, by host and path."),
    "seeds": ("seeds", "Entry URLs that are crawled at intervals."),
    "settings": ("reading", "List every setting with its default and meaning."),
    "status": ("status", "Show what runs, where, and how full the queues are."),
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
        command: click.Command = getattr(import_module(f"{__package__}.{COMMANDS[cmd_name][0]}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])

"""The entry point: commands, and what an error looks like to the person who typed them."""

import logging
import sys

import click

from issuetracker_dagster.cli.commands import Commands
from issuetracker_dagster.errors import ConfigError, IssueTrackerError


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--verbose", "-v", is_flag=True, help="Show log lines of this command, too.")
def cli(verbose: bool) -> None:
    """A news and community crawler on Kafka, Redis, SQL and Dagster.

    `issuetracker demo` shows it at work on a news site of its own; `issuetracker dev` runs it on yours.
    """
    logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, format="%(levelname)s %(name)s %(message)s")
    if not verbose:
        logging.getLogger("kafka").setLevel(logging.CRITICAL)


def main() -> None:
    """Run the command; exit 2 for a wrong setting or argument, 1 for anything that failed, 130 after Ctrl-C."""
    try:
        # Click returns the code of a command that asks for one, and doesn't raise.
        sys.exit(cli.main(standalone_mode=False) or 0)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except ConfigError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(2)
    except IssueTrackerError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

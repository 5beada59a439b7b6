"""The entry point: commands, and what an error looks like to the person who typed them."""

import logging
import sys

import click

from issuetracker_dagster.cli.blacklist import blacklist
from issuetracker_dagster.cli.database import db
from issuetracker_dagster.cli.dlq import dlq
from issuetracker_dagster.cli.publish import publish
from issuetracker_dagster.cli.reading import report, settings
from issuetracker_dagster.cli.rules import rules
from issuetracker_dagster.cli.seeds import seeds
from issuetracker_dagster.cli.services import demo, dev, down, status, up
from issuetracker_dagster.cli.why import why
from issuetracker_dagster.errors import ConfigError, IssueTrackerError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--verbose", "-v", is_flag=True, help="Show log lines of this command, too.")
def cli(verbose: bool) -> None:
    """A news and community crawler on Kafka, Redis, SQL and Dagster.

    `issuetracker demo` shows it at work on a news site of its own; `issuetracker dev` runs it on yours.
    """
    logging.basicConfig(level=logging.DEBUG if verbose else logging.ERROR, format="%(levelname)s %(name)s %(message)s")
    if not verbose:
        logging.getLogger("kafka").setLevel(logging.CRITICAL)


for command in (up, down, status, dev, demo, db, publish, why, rules, blacklist, seeds, dlq, report, settings):
    cli.add_command(command)


def main() -> None:
    """Run the command; exit 2 for a wrong setting or argument, 1 for anything that failed, 130 after Ctrl-C."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except ConfigError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(2)
    except IssueTrackerError as error:
        click.secho(f"Error: {error}", fg="red", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()

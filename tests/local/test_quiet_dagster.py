"""What of Dagster's output reaches a user of `issuetracker dev`."""

import http.server
import logging
import subprocess
import sys
import threading

from issuetracker_dagster.local.pipeline import Ui
from issuetracker_dagster.local.ports import choose_ports
from issuetracker_dagster.local.quiet_dagster import is_news

WRITES = """
import os, subprocess, sys
from issuetracker_dagster.local.quiet_dagster import without_colours
without_colours()
print("\\x1b[32mgreen\\x1b[0m", flush=True)
subprocess.run([sys.executable, "-c", "print('\\x1b[31mof a child\\x1b[0m')"])
"""


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("dagster", logging.WARNING, "dev.py", 1, text, None, None)


def test_colours_of_dagster_and_its_children_stay_out_of_a_file() -> None:
    done = subprocess.run([sys.executable, "-c", WRITES], capture_output=True, timeout=30, check=True)
    assert done.stdout == b"green\nof a child\n"


def test_the_copied_instance_settings_are_no_warning_and_all_else_is() -> None:
    assert not is_news(record("Found a dagster instance configuration value (dagster.yaml) in the current folder"))
    assert is_news(record("No nodes are running"))


def test_dagster_is_quiet_unless_asked_to_tell_more() -> None:
    assert "warning" in Ui("127.0.0.1", 3000).command()
    assert "info" in Ui("127.0.0.1", 3000, verbose=True).command()


def test_the_ui_counts_as_there_when_it_answers() -> None:
    (port,) = choose_ports(1)
    ui = Ui("0.0.0.0", port)  # noqa: S104 - nothing listens yet
    assert ui.url == f"http://127.0.0.1:{port}"
    assert not ui.answers()
    with http.server.HTTPServer(("127.0.0.1", port), _Answers) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        assert ui.answers()


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Not into the output of the tests."""

"""`issuetracker report` and `settings`: what came out and what can be set, fit for a terminal of 80 columns."""

from issuetracker_dagster.model.records import Content
from issuetracker_dagster.settings.load import variables
from tests.cli.terminal import Terminal


def test_what_a_page_calls_itself_cant_steer_the_terminal(terminal: Terminal) -> None:
    title = "Floods\x1b[2J\u202e [red]in the north[/red]"
    terminal.stores.contents.save(Content(url="https://x.com/1", host="x.com\x9b2J", title=title, body="Water."))
    told = terminal.does("report")
    assert "Floods" in told
    assert "[red]" in told
    assert not any(sign in told for sign in "\x1b\x9b\u202e")


def test_every_setting_has_its_whole_name_and_default(terminal: Terminal) -> None:
    lines = [line.split("│")[1].strip() for line in terminal.does("settings").splitlines() if line.startswith("│")]
    for name, default, _ in variables():
        told = lines[lines.index(name) + 1 :]
        assert default.replace(" ", "") in "".join(told[:3]).replace(" ", "")

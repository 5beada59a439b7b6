"""A real terminal of 80 columns and 24 lines: what a person would see there, and the keys that they would press."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests import services

COLUMNS, LINES = 80, 24
_NAME = "top"


class Screen:
    """A command that runs in a terminal of its own."""

    def __init__(self, program: str, socket: Path) -> None:
        self._tmux = [program, "-f", "/dev/null", "-S", str(socket)]

    def begin(self, script: Path) -> None:
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        self._do("new-session", "-d", "-s", _NAME, *size, f"sh {shlex.quote(str(script))}")

    def text(self) -> str:
        """What stands on the screen, each line as long as it is."""
        return self._do("capture-pane", "-p", "-t", _NAME)

    def press(self, *keys: str) -> None:
        """Press keys by tmux' names: `q`, `C-c`."""
        self._do("send-keys", "-t", _NAME, *keys)

    def resize(self, columns: int, lines: int) -> None:
        self._do("resize-window", "-t", _NAME, "-x", str(columns), "-y", str(lines))

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False, timeout=20)

    def _do(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], capture_output=True, text=True, check=False, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def screen(folder: Path, command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Screen]:
    """Run the command in a terminal; when it has ended its exit code and the terminal's modes stand there."""
    program = shutil.which("tmux")
    if program is None:
        services.missing("tmux (Debian package tmux)")
    script = folder / "in-terminal.sh"
    exports = [f"export {name}={shlex.quote(value)}" for name, value in {**environment, "LANG": "C.UTF-8"}.items()]
    asked = "stty -a | grep -o -e ' icanon' -e ' echo ' | tr -d '\\n'"
    ending = f'{shlex.join(command)}\necho "ended with $?, modes:$({asked})"\nexec cat'
    # Ctrl-C is for the command: the shell has to outlive it.
    script.write_text("\n".join([*exports, f"cd {shlex.quote(str(folder))}", "trap : INT", ending]) + "\n")
    # A socket's path may have about a hundred characters, and those of test folders have more.
    socket = Path("/tmp") / f"issuetracker-tmux-{os.getpid()}-{abs(hash(str(folder))) % 10**8}"
    opened = Screen(str(program), socket)
    try:
        opened.begin(script)
        yield opened
    finally:
        opened.close()
        socket.unlink(missing_ok=True)

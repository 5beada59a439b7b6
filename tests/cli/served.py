"""`issuetracker metrics` as a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path


class Served:
    """The command with these words, in a working folder and with this process's variables."""

    def __init__(self, folder: Path, *words: str) -> None:
        argv = [sys.executable, "-m", "issuetracker_dagster.cli.main", "metrics", *words]
        self.process = subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def url(self) -> str:
        """Where it serves; waits until it says so."""
        assert self.process.stdout is not None
        return next(word for word in self.process.stdout.readline().split() if word.startswith("http")).rstrip(";")

    def ends_after(self, number: signal.Signals) -> int:
        """Its exit code after this signal."""
        self.process.send_signal(number)
        return self.process.wait(30)

    def kill(self) -> None:
        """However it is."""
        self.process.kill()
        self.process.communicate()

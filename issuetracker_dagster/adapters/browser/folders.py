"""The folder of a browser for its profile and whatever it writes: gone with it, however it ends.

A driver that is killed leaves megabytes behind, and pages can bring that about. What a killed worker left is removed
when the next browser of the machine is started.
"""

import os
import shutil
import tempfile
from pathlib import Path

import psutil

_PREFIX = "issuetracker-browser-"


def new_folder() -> str:
    """A folder that is empty and bears the number of this process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            remove_folder(str(folder))
    return tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")


def remove_folder(folder: str) -> bool:
    """With all that is in it; whether all of it let itself be removed."""
    shutil.rmtree(folder, ignore_errors=True)
    return not os.path.exists(folder)

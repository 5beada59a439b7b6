"""How `dagster dev` is started for a home, and how one sees that its UI is there."""

import http.client
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from issuetracker_dagster.local.children import Identity
from issuetracker_dagster.local.endpoints import Endpoints

_PROJECT = Path(__file__).resolve().parents[2]
_QUIET_DAGSTER = "issuetracker_dagster.local.quiet_dagster"
_ANSWER_S = 1.0
_RELOAD_S = 60.0
_RELOAD = json.dumps({"query": "mutation { reloadWorkspace { __typename } }"})
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - where to ask, not where to listen


@dataclass(frozen=True)
class Ui:
    """Where the web UI is to be, and how much Dagster says in the terminal: with `verbose` each tick and launch."""

    host: str
    port: int
    verbose: bool = False

    @property
    def url(self) -> str:
        """What to open in a browser."""
        host = _EVERYWHERE.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def command(self) -> list[str]:
        """The command line of Dagster."""
        level = "info" if self.verbose else "warning"
        where = ["--host", self.host, "--port", str(self.port)]
        return [sys.executable, "-m", _QUIET_DAGSTER, "dev", *where, "--log-level", level, *_target()]

    @classmethod
    def of(cls, words: Sequence[str]) -> "Ui | None":
        """The one that a command line of `command` starts; None for any other command line."""
        if _QUIET_DAGSTER not in words or "--host" not in words or "--port" not in words:
            return None
        return cls(words[words.index("--host") + 1], int(words[words.index("--port") + 1]))

    def answers(self) -> bool:
        """Whether the UI can be opened."""
        return self._asked("GET", "/server_info", timeout_s=_ANSWER_S)

    def reload(self) -> bool:
        """Have the code loaded anew, as the button "Reload all" does; returns when that is done. Whether it worked."""
        return self._asked("POST", "/graphql", _RELOAD, timeout_s=_RELOAD_S)

    def _asked(self, method: str, path: str, body: str | None = None, *, timeout_s: float) -> bool:
        asked = http.client.HTTPConnection(_EVERYWHERE.get(self.host, self.host), self.port, timeout=timeout_s)
        try:
            asked.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            return asked.getresponse().status == http.HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            asked.close()


_STORAGE = """
# Added by `issuetracker dev`, which knows the place: where Dagster would put it, too.
{name}:
  module: issuetracker_dagster.defs.dagster_storage
  class: {kind}
  config:
    base_dir: {place}
"""


@dataclass(frozen=True)
class Prepared:
    """What has to be known once the services run: further variables for Dagster, hints for when its UI is there, and
    processes `beside` it that live as long as the command, however often Dagster is started."""

    environment: Mapping[str, str] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    beside: tuple[Identity, ...] = ()


def dagster_home(home: Path) -> Path:
    """The folder of Dagster's own state, with the instance settings of the project as they are now."""
    folder = home / "dagster"
    folder.mkdir(parents=True, exist_ok=True)
    settings = _PROJECT / "dagster.yaml"
    common = settings.read_text() if settings.exists() else ""
    (folder / "dagster.yaml").write_text(common + "".join(_storages(folder.absolute())))
    return folder


def _storages(folder: Path) -> Iterator[str]:
    """What names the classes that keep Dagster's state."""
    for name, kind, place in (
        ("run_storage", "SteadyRunStorage", "history"),
        ("event_log_storage", "SteadyEventLogStorage", "history/runs"),
        ("schedule_storage", "SteadyScheduleStorage", "schedules"),
    ):
        quoted = json.dumps(str(folder / place))  # as YAML has it, too
        yield _STORAGE.format(name=name, kind=kind, place=quoted)


def dagster_environment(endpoints: Endpoints, home: Path) -> dict[str, str]:
    """The variables with which `dagster` commands, this one's or a user's own, meet this home."""
    return {
        **endpoints.environment(),
        "ISSUETRACKER_HOME": str(home),
        "DAGSTER_HOME": str(dagster_home(home)),
        # The default is the number of cores + 4: sensors of one stage would wait for those of another.
        "DAGSTER_GRPC_MAX_WORKERS": "24",
        "DAGSTER_CODE_SERVER_MAX_WORKERS": "24",
    }


def _target() -> list[str]:
    if (Path.cwd() / "workspace.yaml").exists():
        return []
    workspace = _PROJECT / "workspace.yaml"
    return ["--workspace", str(workspace)] if workspace.exists() else ["-m", "issuetracker_dagster.definitions"]

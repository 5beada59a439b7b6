"""The check `reachable` on each server. While one is out all other checks on it keep what they said last; this one says
so at once.
"""

import dagster as dg

from issuetracker_dagster.defs.assets import server_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.limits import Level
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.servers import KAFKA, REDIS, SERVERS, SQL, ServerCheck

CHECK = "reachable"

_MEANWHILE = {
    KAFKA: "Messages stay where they are and are tried every five seconds; no attempt is used up",
    REDIS: "Fetch and stages that work by priority wait; other stages go on, without deduplication",
    SQL: "Messages come back every five seconds; no attempt is used up",
}


def judge_reachable(server: str, problem: str) -> dg.AssetCheckResult:
    """Whether the server answers what work begins with, so that it can be used."""
    facts = SERVERS[server]
    if not problem:
        return result(server_key(server), CHECK, Level.WELL, f"{facts.name} answers", {"answers": True})
    said = (
        f"{problem.rstrip('.')}. {_MEANWHILE[server]}. The other checks on it show what they found before. "
        "`issuetracker status` shows what runs, `issuetracker up` starts an embedded server that is missing; a server "
        f"of your own: start it, or mend {facts.variable}. `issuetracker doctor` tests the way there. Everything goes "
        "on by itself"
    )
    return result(server_key(server), CHECK, Level.ERROR, said, {"answers": False})


def reach_evaluations(problems: dict[str, str]) -> list[dg.AssetCheckEvaluation]:
    """The results of all servers as runless events; servers without a problem can be used."""
    return [as_evaluation(judge_reachable(server, problems.get(server, ""))) for server in SERVERS]


def reach_checks() -> list[dg.AssetChecksDefinition]:
    """The check of each server."""
    return [_check(server) for server in SERVERS]


def _check(server: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=server_key(server), name=CHECK, description=judge_reachable.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge_reachable(server, ServerCheck().problems(wiring).get(server, ""))

    return check

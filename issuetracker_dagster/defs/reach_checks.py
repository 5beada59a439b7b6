"""The check `reachable` on each server. While one is out all other checks on it keep what they said last; this one says
so at once. One that is only full is looked at all the same.
"""

from collections.abc import Mapping

import dagster as dg

from issuetracker_dagster.defs.assets import server_key
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.limits import Level
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.servers import KAFKA, REDIS, SERVERS, SQL, Problem, ServerCheck

CHECK = "reachable"

_MEANWHILE = {
    KAFKA: "Messages stay where they are and are tried every five seconds; no attempt is used up",
    REDIS: "Fetch and stages that work by priority wait; other stages go on, without deduplication",
    SQL: "Messages come back every five seconds; no attempt is used up",
}
_WHILE_FULL = (
    "Intakes leave messages in Kafka, crawl jobs go past the buffer, and what fails goes back to where it was taken. "
    "The other checks on it go on"
)


def judge_reachable(server: str, problem: Problem | None) -> dg.AssetCheckResult:
    """Whether the server answers what work begins with, so that it can be used."""
    facts = SERVERS[server]
    if problem is None:
        return result(server_key(server), CHECK, Level.WELL, f"{facts.name} answers", {"answers": True})
    why = problem.why.rstrip(".")
    if problem.is_full:
        said = f"{why}. {_WHILE_FULL}. Everything goes on by itself once there is room"
        return result(server_key(server), CHECK, Level.ERROR, said, {"answers": True})
    said = (
        f"{why}. {_MEANWHILE[server]}. The other checks on it show what they found before. "
        "`issuetracker status` shows what runs, `issuetracker up` starts an embedded server that is missing; a server "
        f"of your own: start it, or mend {facts.variable}. `issuetracker doctor` tests the way there. Everything goes "
        "on by itself"
    )
    return result(server_key(server), CHECK, Level.ERROR, said, {"answers": False})


def reach_evaluations(problems: Mapping[str, Problem]) -> list[dg.AssetCheckEvaluation]:
    """The results of all servers as runless events; servers without a problem can be used."""
    return [as_evaluation(judge_reachable(server, problems.get(server))) for server in SERVERS]


def reach_checks() -> list[dg.AssetChecksDefinition]:
    """The check of each server."""
    return [_check(server) for server in SERVERS]


def _check(server: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=server_key(server), name=CHECK, description=judge_reachable.__doc__)
    def check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
        return judge_reachable(server, ServerCheck().problems(wiring).get(server))

    return check

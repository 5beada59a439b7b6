"""The rules by which a page is tried: those stored, others in their place, and nothing that is added is kept."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from issuetracker_dagster.adapters.memory.store_rules import MemoryParserRules
from issuetracker_dagster.adapters.sql.engine import parse_url
from issuetracker_dagster.errors import Unavailable
from issuetracker_dagster.flow.resolve import PriorityTable
from issuetracker_dagster.flow.rule_set import WantedRule, after, changes, priorities
from issuetracker_dagster.flow.rules import HostTable, sift
from issuetracker_dagster.model.digest import one_line
from issuetracker_dagster.model.headers import TargetType
from issuetracker_dagster.model.rules import BlacklistEntry, FetcherRule, ParserRule, host_forms
from issuetracker_dagster.ports.rules import ParserRules
from issuetracker_dagster.stages.parser.selection import rule_for
from issuetracker_dagster.wiring.endpoints import endpoints
from issuetracker_dagster.wiring.parts import Wiring
from issuetracker_dagster.wiring.snapshots import LatestPriorities


class TrialRules(MemoryParserRules):
    """Reads `stored`, keeps to itself what the parser adds to the blacklist.

    `listed` stands for all stored rules, `only` for all of its type that are about `url`.
    """

    def __init__(
        self,
        stored: ParserRules,
        url: str,
        *,
        listed: Sequence[ParserRule] | None = None,
        only: ParserRule | None = None,
    ) -> None:
        super().__init__()
        self._stored = stored
        self._url = url
        self._listed = None if listed is None else [rule for rule in listed if rule.enabled]
        self._only = only

    def for_host(self, host: str, target_type: TargetType) -> Sequence[ParserRule]:
        if self._listed is None:
            found = list(self._stored.for_host(host, target_type))
        else:
            forms = host_forms(host)
            found = [
                rule for rule in self._listed if rule.target_type is target_type and rule.host_pattern in forms
            ]  # fmt: skip
        if self._only is None or self._only.target_type is not target_type:
            return found
        return [*(rule for rule in found if rule_for([rule], self._url) is None), self._only]

    def with_options(self, names: Sequence[str]) -> Sequence[tuple[str, str, Mapping[str, str]]]:
        if self._listed is None:
            return self._stored.with_options(names)
        return [
            (rule.host_pattern, rule.path_pattern, rule.options)
            for rule in self._listed
            if any(name in rule.options for name in names)
        ]

    def blacklist(self) -> Sequence[BlacklistEntry]:
        return [*self._stored.blacklist(), *super().blacklist()]

    def fetcher_rule(self, host: str) -> FetcherRule | None:
        return self._stored.fetcher_rule(host)


class RuleBook:
    """What is known of rules: parser rules, the priorities of publishers, and in `told` where they come from.

    Of a database that can't be asked nothing is known, and `told` says why. `wanted` are rules of a file, which go
    before stored ones of the same place.
    """

    def __init__(self, wiring: Wiring, wanted: Sequence[WantedRule] | None = None, file: str = "") -> None:
        self.stored: ParserRules = MemoryParserRules()
        self.listed: Sequence[ParserRule] | None = None
        self.priorities: PriorityTable = HostTable(())
        self.is_stored = False
        try:
            _must_exist(wiring)
            stored = wiring.stores.parser_rules
            stored.blacklist()
            self.priorities = LatestPriorities(wiring.stores.rule_snapshots)()
            self.stored, self.told, self.is_stored = stored, "of the database", True
        except Unavailable as error:
            self.told = f"none, and no blacklist: {one_line(str(error))}"
        if wanted is not None:
            known = self.stored.all()
            self.listed = after(known, changes(known, wanted))
            good, _ = sift((rule.host, rule.path, rule) for rule in priorities(self.listed))
            self.priorities = HostTable(good)
            self.told = f"of {one_line(file)}; beside them: {self.told}"


def _must_exist(wiring: Wiring) -> None:
    """Raise `Unavailable` where there is no file of SQLite yet: asking would make one."""
    url = parse_url(endpoints(wiring.settings).database)
    if url.get_backend_name() == "sqlite" and url.database and not Path(url.database).exists():
        raise Unavailable(f"there is no {url.database} (DATABASE_URL)")

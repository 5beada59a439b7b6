"""Checks on what parsing yields by host: `rules_match` on the rules, `extraction` on the contents."""

from collections.abc import Sequence

import dagster as dg

from issuetracker_dagster.defs.assets import table_key
from issuetracker_dagster.defs.flags import sensor_cursor
from issuetracker_dagster.defs.losses import PROBE
from issuetracker_dagster.defs.results import as_evaluation, result
from issuetracker_dagster.model.durations import exact_duration
from issuetracker_dagster.model.extraction import (
    BEFORE_MS,
    GARBLED,
    WINDOW_MS,
    HostYield,
    LostFields,
    ParsedPage,
    RuleYield,
    host_yields,
    lately_lost,
    remember_lost,
    rule_yields,
)
from issuetracker_dagster.model.limits import Level
from issuetracker_dagster.model.probe import decode_probe
from issuetracker_dagster.wiring.parts import Wiring

RULES, CONTENTS = table_key("parser_rules"), table_key("contents")
RULES_MATCH, EXTRACTION = "rules_match", "extraction"
MOST_PAGES = 2_000
"""Pages looked at of each time, the latest: more would cost the probe more than they'd tell."""
NAMED = 5
_WINDOW = exact_duration(WINDOW_MS)


def judge_rules(rules: Sequence[RuleYield]) -> dg.AssetCheckResult:
    """Whether the parser rules still find something on the pages that they are for."""
    stale = [rule for rule in rules if rule.is_stale]
    said = f"{len(rules)} rules were asked within {_WINDOW} and found something"
    some = [rule for rule in rules if rule.misses_some]
    if some:
        said += f", but for a few pages, which may be of another kind: {'; '.join(map(_missed, some[:NAMED]))}"
    if stale:
        told = "; ".join(f"{_missed(rule)} ({', '.join(rule.samples)})" for rule in stale[:NAMED])
        said = (
            f"gone stale within {_WINDOW}: {told}. The site's layout has changed, or the rule is "
            "for other pages. General extraction stands in meanwhile. Compare the selectors (`issuetracker rules show "
            f"{stale[0].rule_id}`) with such a page, mend them (`issuetracker rules edit {stale[0].rule_id}`), then "
            f"`issuetracker reparse --rule {stale[0].rule_id} --missed` reads those pages again"
        )
    dead = any(not rule.used for rule in stale)
    level = (Level.ERROR if dead else Level.WARN) if stale else Level.WELL
    figures = {"stale": len(stale), "missed": sum(r.missed for r in rules), "used": sum(r.used for r in rules)}
    return result(RULES, RULES_MATCH, level, said, figures)


def _missed(rule: RuleYield) -> str:
    return f"rule {rule.rule_id} found nothing on {rule.missed} of {rule.missed + rule.used} pages of {rule.host}"


def judge_extraction(hosts: Sequence[HostYield]) -> dg.AssetCheckResult:
    """Whether hosts still have the fields that they had the day before, and their text comes out readable."""
    bad = [host for host in hosts if host.lost or host.is_garbled]
    pages, looked_at = sum(host.pages for host in hosts), sum(1 for host in hosts if host.pages)
    said = f"{pages} pages of {looked_at} hosts within {_WINDOW}; all have what they had, and can be read"
    if bad:
        more = f"; and {len(bad) - NAMED} more hosts" if len(bad) > NAMED else ""
        said = (
            f"{'; '.join(map(_told, bad[:NAMED]))}{more}. The site's layout or charset has changed: look at such a "
            f"page, write or mend a rule for the host, then `issuetracker reparse --host {bad[0].host}` reads the "
            "stored pages again. A lost field is told until it is back, for a week at most"
        )
    without_body = any("body" in host.lost for host in bad)
    level = (Level.ERROR if without_body else Level.WARN) if bad else Level.WELL
    garbled = max((host.garbled for host in hosts), default=0.0)
    figures = {"pages": pages, "hosts": looked_at, "bad_hosts": len(bad), "worst_garbled_share": round(garbled, 4)}
    return result(CONTENTS, EXTRACTION, level, said, figures)


def _told(host: HostYield) -> str:
    parts = [f"no {', '.join(host.lost)} any more"] if host.lost else []
    if host.is_garbled:
        parts.append(f"{host.garbled:.1%} of the characters can't be read, more than {GARBLED:.0%}")
    seen = f"on {host.pages} pages ({', '.join(host.samples)})" if host.pages else "when it had pages last"
    return f"{host.host}: {' and '.join(parts)} {seen}"


def _latest(wiring: Wiring) -> Sequence[ParsedPage]:
    now_ms = wiring.clock.now_ms()
    return wiring.stores.parsed_pages.between(now_ms - WINDOW_MS, now_ms + WINDOW_MS, MOST_PAGES)


def _before(wiring: Wiring) -> Sequence[ParsedPage]:
    until_ms = wiring.clock.now_ms() - WINDOW_MS
    return wiring.stores.parsed_pages.between(until_ms - BEFORE_MS, until_ms, MOST_PAGES)


@dg.asset_check(asset=RULES, name=RULES_MATCH, description=judge_rules.__doc__)
def rules_match_check(wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    return judge_rules(rule_yields(_latest(wiring)))


@dg.asset_check(asset=CONTENTS, name=EXTRACTION, description=judge_extraction.__doc__)
def extraction_check(context: dg.AssetCheckExecutionContext, wiring: dg.ResourceParam[Wiring]) -> dg.AssetCheckResult:
    known = lately_lost(decode_probe(sensor_cursor(context, PROBE)).lost_fields, wiring.clock.now_ms())
    return judge_extraction(host_yields(_latest(wiring), _before(wiring), known))


def look_at_extraction(wiring: Wiring, known: LostFields) -> tuple[list[dg.AssetCheckEvaluation], str, LostFields]:
    """What the health probe tells about parsing, and which fields it remembers as lost then. Raises `Unavailable`."""
    now_ms, latest = wiring.clock.now_ms(), _latest(wiring)
    known = lately_lost(known, now_ms)
    hosts = host_yields(latest, _before(wiring), known)
    results = judge_rules(rule_yields(latest)), judge_extraction(hosts)
    told = [as_evaluation(each) for each in results]
    return told, f"{len(latest)} pages parsed within {_WINDOW}", remember_lost(known, hosts, now_ms)

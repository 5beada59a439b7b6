"""What all checks share: a result out of a judgement, and the same as an event that belongs to no run."""

from collections.abc import Mapping

import dagster as dg

from issuetracker_dagster.model.limits import Level


def result(
    key: dg.AssetKey, name: str, level: Level, said: str, figures: Mapping[str, float | int | bool]
) -> dg.AssetCheckResult:
    """The result of the check `name` on an asset. Figures are numbers, so that the UI plots them."""
    return dg.AssetCheckResult(
        passed=level is Level.WELL,
        severity=dg.AssetCheckSeverity.ERROR if level is Level.ERROR else dg.AssetCheckSeverity.WARN,
        asset_key=key,
        check_name=name,
        description=said,
        metadata=dict(figures),
    )


def as_evaluation(result: dg.AssetCheckResult) -> dg.AssetCheckEvaluation:
    """A result that names its asset and its check, as a runless event."""
    if result.asset_key is None or result.check_name is None:
        raise ValueError("a result without a name belongs to nothing outside a run")
    return dg.AssetCheckEvaluation(
        asset_key=result.asset_key,
        check_name=result.check_name,
        passed=result.passed,
        severity=result.severity,
        metadata=result.metadata,
        description=result.description,
    )

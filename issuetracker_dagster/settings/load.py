"""Reading all settings once, with one error that names every bad variable."""

import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr, ValidationError

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.settings.groups import (
    GROUPS,
    CheckSettings,
    EnrichSettings,
    FetchSettings,
    GeneralSettings,
    Group,
    KafkaSettings,
    LanguageModelSettings,
    ParserSettings,
    PublishSettings,
    PurgeSettings,
    QueueSettings,
    RedisSettings,
    RetrySettings,
    ShiftSettings,
    StageSwitches,
    ValidateQueueSettings,
    ValidateSettings,
)
from issuetracker_dagster.settings.kinds import accepted


class Settings:
    """All settings, by group; immutable once built. Raises `ConfigError` naming every bad variable at once."""

    def __init__(self, env_file: Path | None = Path(".env")) -> None:
        problems: list[str] = []
        for name, group in GROUPS.items():
            try:
                object.__setattr__(self, name, _read(group, env_file))
            except ValidationError as error:
                problems += [_explain(group, detail) for detail in error.errors()]
        if not problems:
            problems = list(_contradictions(self))
        if problems:
            raise ConfigError("\n".join(problems))

    general: GeneralSettings
    kafka: KafkaSettings
    redis: RedisSettings
    parser: ParserSettings
    validate: ValidateQueueSettings
    enrich: EnrichSettings
    stages: StageSwitches
    fetch: FetchSettings
    shift: ShiftSettings
    retry: RetrySettings
    publish: PublishSettings
    verdict: ValidateSettings
    language_model: LanguageModelSettings
    check: CheckSettings
    purge: PurgeSettings

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are frozen; {name} can't be set")

    @property
    def home(self) -> Path:
        return self.general.issuetracker_home.resolve()

    def queue(self, stage: str) -> QueueSettings:
        """Workers and queue of `parser`, `validate` or `enrich`."""
        by_stage: dict[str, QueueSettings] = {"parser": self.parser, "validate": self.validate, "enrich": self.enrich}
        return by_stage[stage]

    def stage_enabled(self, stage: str) -> bool | None:
        """The three-valued switch `STAGES_<STAGE>_ENABLED`, the scheduler's included."""
        value: bool | None = getattr(self.stages, f"{stage}_enabled")
        return value

    def slots(self, stage: str) -> int:
        """Worker runs that a stage keeps alive."""
        return self.fetch.slots if stage == "fetch" else self.queue(stage).slots


def variables() -> Iterator[tuple[str, str, str]]:
    """(name, default as text, meaning with the accepted values) of every variable, in the order of the groups."""
    for group in GROUPS.values():
        yield from _variables(group)


def env_example() -> str:
    """The text of `.env.example`: every variable commented out with its default, meaning and accepted values."""
    lines = [
        "# Every setting: its meaning (and what is accepted), then its default. Copy this file to .env and uncomment",
        "# what you change; variables of the environment win over .env. An empty value is the same as none.",
    ]
    for group in GROUPS.values():
        lines += ["", f"# ---- {group.title} ----"]
        for name, default, meaning in _variables(group):
            lines += ["", *textwrap.wrap(f"# {meaning}", width=118, subsequent_indent="# "), f"# {name}={default}"]
    return "\n".join(lines) + "\n"


def _variables(group: type[Group]) -> Iterator[tuple[str, str, str]]:
    for field_name, field in group.model_fields.items():
        values = accepted(field)
        meaning = f"{field.description} ({values})" if values else str(field.description)
        yield _variable(group, field_name), _default_text(field.default), meaning


def _read(group: type[Group], env_file: Path | None) -> Group:
    read: Callable[..., Group] = group
    return read(_env_file=env_file)


def _variable(group: type[Group], field_name: str) -> str:
    return (str(group.model_config.get("env_prefix", "")) + field_name).upper()


def _default_text(default: object) -> str:
    if default is None:
        return ""
    if isinstance(default, SecretStr):
        return default.get_secret_value()
    return str(default).lower() if isinstance(default, bool) else str(default)


def _explain(group: type[Group], detail: Mapping[str, Any]) -> str:
    field_name = str(detail["loc"][0])
    field = group.model_fields[field_name]
    name = _variable(group, field_name)
    # A refused secret must not be repeated in a log.
    given = "a value" if field.annotation is SecretStr else repr(detail["input"])
    return f"{name}={given} isn't accepted: {detail['msg'].removeprefix('Value error, ')} ({field.description})"


def _contradictions(settings: Settings) -> Iterator[str]:
    switches = settings.stages
    if {switches.fetch_enabled, switches.parser_enabled, switches.validate_enabled, switches.enrich_enabled} == {False}:
        yield (
            "STAGES_FETCH_ENABLED, STAGES_PARSER_ENABLED, STAGES_VALIDATE_ENABLED and STAGES_ENRICH_ENABLED are all "
            "false, so nothing would ever run; set at least one to true or leave it unset"
        )
    if settings.shift.worker_dead_after <= settings.shift.worker_heartbeat:
        yield (
            "WORKER_DEAD_AFTER must be longer than WORKER_HEARTBEAT, since a worker run that is silent for so long is "
            "failed and replaced; three times as long leaves room for a lost sign"
        )
    for name in ("depth", "age", "lag", "retries", "frontier", "dead", "dead_share", "buffer", "late"):
        warn, error = (getattr(settings.check, f"{name}_{level}") for level in ("warn", "error"))
        pairs = [(warn[band], error[band]) for band in warn] if isinstance(warn, dict) else [(warn, error)]
        if any(high and low > high for low, high in pairs):
            shared = f"CHECK_{name.upper()}"
            yield f"{shared}_ERROR must not be below {shared}_WARN, or nothing would ever be a warning"
    for stage in ("parser", "validate", "enrich"):
        queue = settings.queue(stage)
        if queue.zset_entry_ttl >= settings.kafka.retention:
            yield (
                f"KAFKA_RETENTION must be longer than {stage.upper()}_ZSET_ENTRY_TTL, since a lost queue is rebuilt "
                "from Kafka"
            )

"""Settings: read once, validated, explained."""

from pathlib import Path

import pytest

from issuetracker_dagster.errors import ConfigError
from issuetracker_dagster.settings.load import Settings, env_example, variables

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, _, _ in variables():
        monkeypatch.delenv(name, raising=False)


def test_defaults_are_those_of_the_contract() -> None:
    settings = Settings(env_file=None)
    assert settings.parser.zset_queue_key == "parser:zset:queue"
    assert settings.parser.zset_lease == 60_000
    assert (settings.parser.worker_count, settings.validate.worker_count, settings.enrich.worker_count) == (6, 8, 4)
    assert settings.kafka.retention == 7 * 86_400_000
    assert settings.fetch.max_bytes == 10_000_000
    assert settings.stage_enabled("fetch") is None


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [
        ("PARSER_ZSET_LEASE", "soon", "a duration such as 500ms, 30s, 5m, 24h or 7d"),
        ("PRIORITY_RULES_REFRESH_INTERVAL", "0", "a duration longer than 0, such as 500ms, 30s, 5m"),
        ("ENRICH_ZSET_ENTRY_TTL", "0", "a duration longer than 0"),
        ("WORKER_HEARTBEAT", "0s", "a duration longer than 0"),
        ("FETCH_MAX_BYTES", "big", "a size such as 10MB"),
        ("FETCH_ROBOTS", "maybe", "'obey' or 'ignore'"),
        ("ENRICH_ZSET_OVERFLOW", "drop", "'evict' or 'backpressure'"),
        ("PARSER_ZSET_QUEUE_KEY", "{parser}", "without braces"),
        ("VALIDATE_PRIORITY_QUEUE_ENABLED", "perhaps", "valid boolean"),
        ("PRIORITY_BY_SOURCE", "wire=urgent", "high, normal or low, such as wire=high"),
        ("PRIORITY_BY_SOURCE", "=high", "high, normal or low, such as wire=high"),
        ("PRIORITY_BY_SOURCE", "wire=high,wire=low", "each source has one priority"),
        ("KAFKA_PARTITIONS_HIGH", "0", "greater than or equal to 1"),
    ],
)
def test_a_bad_value_names_the_variable_and_what_is_accepted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, accepted: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as caught:
        Settings(env_file=None)
    assert f"{name}='{value}'" in str(caught.value)
    assert accepted in str(caught.value)


def test_every_bad_variable_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETRY_BASE", "x")
    monkeypatch.setenv("PARSER_SLOTS", "-1")
    with pytest.raises(ConfigError) as caught:
        Settings(env_file=None)
    assert "RETRY_BASE" in str(caught.value)
    assert "PARSER_SLOTS" in str(caught.value)


def test_all_stages_switched_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for stage in ("FETCH", "PARSER", "VALIDATE", "ENRICH"):
        monkeypatch.setenv(f"STAGES_{stage}_ENABLED", "false")
    with pytest.raises(ConfigError, match=r"STAGES_FETCH_ENABLED.*all false"):
        Settings(env_file=None)


def test_retention_shorter_than_the_time_to_live_of_an_entry_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_RETENTION", "1h")
    with pytest.raises(ConfigError, match="KAFKA_RETENTION"):
        Settings(env_file=None)


def test_workers_that_would_count_as_dead_between_two_signs_of_life_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WORKER_HEARTBEAT", "15s")
    with pytest.raises(ConfigError, match="WORKER_DEAD_AFTER must be longer than WORKER_HEARTBEAT"):
        Settings(env_file=None)


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:hunter2@localhost:1")
    monkeypatch.setenv("ENRICH_LLM_API_KEY", "hunter2")
    settings = Settings(env_file=None)
    assert "hunter2" not in repr(settings.redis) + repr(settings.language_model)
    assert settings.redis.url.get_secret_value().startswith("redis://:hunter2")


@pytest.mark.parametrize(("text", "value"), [("", None), ("unset", None), ("true", True), ("false", False)])
def test_a_toggle_has_three_values(monkeypatch: pytest.MonkeyPatch, text: str, value: bool | None) -> None:
    monkeypatch.setenv("PARSER_PRIORITY_QUEUE_ENABLED", text)
    assert Settings(env_file=None).parser.priority_queue_enabled is value


@pytest.mark.parametrize(
    ("text", "value"), [("", {}), ("wire=high, archive = low", {"wire": "high", "archive": "low"})]
)
def test_sources_get_their_priority_by_name(monkeypatch: pytest.MonkeyPatch, text: str, value: dict[str, str]) -> None:
    monkeypatch.setenv("PRIORITY_BY_SOURCE", text)
    assert Settings(env_file=None).publish.priority_by_source == value


def test_settings_are_frozen() -> None:
    settings = Settings(env_file=None)
    with pytest.raises(AttributeError, match="frozen"):
        settings.general = settings.general


def test_a_dotenv_file_is_read(tmp_path: Path) -> None:
    dotenv = tmp_path / ".env"
    dotenv.write_text("PARSER_SLOTS=3\n")
    assert Settings(env_file=dotenv).parser.slots == 3


def test_the_example_file_lists_every_setting() -> None:
    assert (ROOT / ".env.example").read_text() == env_example()


@pytest.mark.parametrize(
    ("name", "text", "field", "value"),
    [
        ("CHECK_AGE_WARN", "high=30s, normal=1h, low=0", "age_warn", {"high": 30_000, "normal": 3_600_000, "low": 0}),
        ("CHECK_DEPTH_WARN", "low=0.8,normal=0,high=0.05", "depth_warn", {"low": 0.8, "normal": 0.0, "high": 0.05}),
        ("CHECK_LAG_WARN", "high=1,normal=2,low=3", "lag_warn", {"high": 1, "normal": 2, "low": 3}),
    ],
)
def test_limits_of_checks_are_written_by_priority(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str, field: str, value: dict[str, float]
) -> None:
    monkeypatch.setenv(name, text)
    assert getattr(Settings(env_file=None).check, field) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CHECK_AGE_WARN", "5m"),
        ("CHECK_AGE_WARN", "high=5m,normal=1h"),
        ("CHECK_AGE_WARN", "high=5m,high=5m,low=1h"),
        ("CHECK_AGE_WARN", "high=5m,normal=soon,low=1h"),
        ("CHECK_DEPTH_ERROR", "high=0.5,normal=1.5,low=1"),
        ("CHECK_DEPTH_ERROR", "high=0.5,normal=nan,low=1"),
        ("CHECK_LAG_ERROR", "high=-1,normal=10,low=1"),
    ],
)
def test_a_limit_that_isnt_one_is_refused_with_an_example(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(ConfigError, match=rf"{name}=.*such as high="):
        Settings(env_file=None)


@pytest.mark.parametrize(
    ("warn", "error"), [("CHECK_LATE_WARN", "1h"), ("CHECK_AGE_WARN", "high=5m,normal=1h,low=21h")]
)
def test_a_warning_beyond_the_error_is_refused(monkeypatch: pytest.MonkeyPatch, warn: str, error: str) -> None:
    monkeypatch.setenv(warn, error)
    with pytest.raises(ConfigError, match=rf"{warn.replace('WARN', 'ERROR')} must not be below {warn}"):
        Settings(env_file=None)


def test_a_band_that_is_never_judged_contradicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHECK_AGE_ERROR", "high=30m,normal=6h,low=0")
    assert Settings(env_file=None).check.age_error["low"] == 0

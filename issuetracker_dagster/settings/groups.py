"""The table of settings: name, default, accepted values and meaning of each variable, in groups of one prefix."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from issuetracker_dagster.settings.kinds import (
    Count,
    Duration,
    Positive,
    QueueKey,
    Share,
    Size,
    Toggle,
    duration,
    size,
)


class Group(BaseSettings):
    """A group of variables with one prefix."""

    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True, env_ignore_empty=True
    )


class KafkaSettings(Group):
    model_config = SettingsConfigDict(env_prefix="KAFKA_")

    bootstrap_servers: str = Field("", description="host:port,…; empty: an embedded Kafka")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="how to connect"
    )
    sasl_mechanism: str = Field("", description="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER or GSSAPI")
    sasl_plain_username: str = Field("", description="user of PLAIN and SCRAM")
    sasl_plain_password: SecretStr = Field(SecretStr(""), description="its password")
    ssl_cafile: str = Field("", description="path of the CA's certificate")
    ssl_certfile: str = Field("", description="path of the client's certificate")
    ssl_keyfile: str = Field("", description="path of the client's key")
    ssl_password: SecretStr = Field(SecretStr(""), description="password of the client's key")
    ssl_check_hostname: bool = Field(True, description="whether the broker's name must match its certificate")
    topic_prefix: str = Field("issuetracker.", description="put before every topic name")
    partitions_high: Positive = Field(6, description="partitions of crawl.high")
    partitions_normal: Positive = Field(8, description="partitions of crawl.normal")
    partitions_low: Positive = Field(4, description="partitions of crawl.low")
    partitions_stage: Positive = Field(8, description="partitions of fetched, normalized, validated, enriched each")
    partitions_dlq: Positive = Field(4, description="partitions of dlq")
    retention: Duration = duration("7d", "how long topics keep messages; longer than every *_ZSET_ENTRY_TTL")


class RedisSettings(Group):
    model_config = SettingsConfigDict(env_prefix="REDIS_")

    url: SecretStr = Field(
        SecretStr(""), description="redis://, rediss:// or redis+sentinel://; empty: an embedded Valkey"
    )
    cluster: bool = Field(False, description="whether REDIS_URL names a node of a Redis Cluster")


class QueueSettings(Group):
    """Workers and priority queue of one stage; the prefix is the stage's name."""

    slots: Positive = Field(1, description="worker runs kept alive")
    worker_count: Positive = Field(6, description="concurrent handlers a run")
    priority_queue_enabled: Toggle = Field(
        None, description="unset: the intake sensor's toggle decides; true: on by default; false: off"
    )
    zset_queue_key: QueueKey = Field("queue", description="Redis key, no braces")
    zset_max_size: Positive = Field(100_000, description="most entries held")
    zset_entry_ttl: Duration = duration("24h", "older entries go to the DLQ as expired")
    zset_overflow: Literal["evict", "backpressure"] = Field(
        "evict", description="when full: evict the oldest of the lowest band to the DLQ, or leave the rest in Kafka"
    )
    zset_pop_timeout: Duration = duration("1s", "longest wait of a claim")
    zset_pop_batch_size: Annotated[int, Field(ge=1, le=1000)] = Field(100, description="most entries a claim")
    zset_lease: Duration = duration("60s", "how long a claimed entry is held without a sign of life")
    zset_max_deliveries: Positive = Field(5, description="deliveries after which an entry counts as poison")
    zset_max_wait: Duration = duration("0", "entries waiting longer get a share of the claims; 0: off")
    zset_max_wait_share: Share = Field(0.2, description="that share")


class ParserSettings(QueueSettings):
    model_config = SettingsConfigDict(env_prefix="PARSER_")

    zset_queue_key: QueueKey = Field("parser:zset:queue", description="Redis key, no braces")


class ValidateQueueSettings(QueueSettings):
    model_config = SettingsConfigDict(env_prefix="VALIDATE_")

    worker_count: Positive = Field(8, description="concurrent handlers a run")
    zset_queue_key: QueueKey = Field("validate:zset:queue", description="Redis key, no braces")


class EnrichSettings(QueueSettings):
    model_config = SettingsConfigDict(env_prefix="ENRICH_")

    worker_count: Positive = Field(4, description="concurrent handlers a run")
    zset_queue_key: QueueKey = Field("enrich:zset:queue", description="Redis key, no braces")


class StageSwitches(Group):
    """Three values each: unset = on unless the UI says otherwise, true, false = off whatever the UI says."""

    model_config = SettingsConfigDict(env_prefix="STAGES_")

    fetch_enabled: Toggle = Field(None, description="workers of fetch; unset: on, the UI may switch them off")
    parser_enabled: Toggle = Field(None, description="workers of parser")
    validate_enabled: Toggle = Field(None, description="workers of validate")
    enrich_enabled: Toggle = Field(None, description="workers of enrich")
    scheduler_enabled: Toggle = Field(None, description="publishing of due seeds")


class FetchSettings(Group):
    model_config = SettingsConfigDict(env_prefix="FETCH_")

    slots: Positive = Field(1, description="worker runs kept alive")
    high_worker_count: Positive = Field(3, description="concurrent fetches of high jobs a shift")
    normal_worker_count: Positive = Field(6, description="of normal jobs")
    low_worker_count: Positive = Field(2, description="of low jobs")
    user_agent: str = Field("IssueTrackerBot/0.1 (+https://example.com/bot)", description="User-Agent, with a contact")
    timeout: Duration = duration("30s", "longest time of a fetch in all")
    max_bytes: Size = size("10MB", "largest page, decoded")
    max_redirects: Count = Field(5, description="redirects followed")
    allow_private_addresses: bool = Field(False, description="whether loopback and private addresses may be fetched")
    robots: Literal["obey", "ignore"] = Field("obey", description="what robots.txt means to us")


class ShiftSettings(Group):
    shift_duration: Duration = duration("45m", "length of a worker run, +-20 %")
    shift_drain_timeout: Duration = duration("20s", "longest time to finish what is in hand")
    worker_heartbeat: Duration = duration("5s", "time between signs of life")
    worker_dead_after: Duration = duration("15s", "silence after which a run is replaced")
    intake_tick_budget: Duration = duration("8s", "longest time of an intake tick")
    intake_batch: Positive = Field(500, description="messages stored by one push")


class RetrySettings(Group):
    retry_max_attempts: Positive = Field(3, description="tries of a stage before the DLQ")
    retry_base: Duration = duration("5s", "first delay, doubled each time")
    retry_cap: Duration = duration("5m", "longest delay")
    retry_jitter: Share = Field(0.25, description="share by which a delay varies")
    recrawl_max: Count = Field(3, description="fetches of one root that later stages may ask for")


class PublishSettings(Group):
    priority_rules_refresh_interval: Duration = duration("5m", "how often rules are read from the database")
    priority_rules_load_limit: Positive = Field(10_000, description="most rules loaded")
    publisher_redis_buffer_enabled: Toggle = Field(None, description="unset: the schedule's toggle decides")
    publisher_redis_buffer_drain_interval: Duration = duration("30s", "time between drain cycles")
    publisher_redis_buffer_target_backlog: Positive = Field(3_000, description="lag up to which the buffer drains")
    publisher_redis_buffer_drain_batch: Positive = Field(100, description="jobs a drain batch")
    publisher_redis_buffer_max_len: Count = Field(100_000, description="most buffered jobs a band; 0: no limit")
    publisher_redis_buffer_check_timeout: Duration = duration("5s", "longest time to read a lag")
    scheduler_max_backlog: Count = Field(5_000, description="backlog above which seeds wait; 0: off")
    scheduler_backlog_check_timeout: Duration = duration("5s", "longest time to read it")
    ingestion_lock_ttl: Duration = duration("24h", "how long an article's URL counts as known")
    category_guard_ttl: Duration = duration("60s", "how long a category's does")


class ValidateSettings(Group):
    model_config = SettingsConfigDict(env_prefix="VALIDATE_")

    news_title_min: Count = Field(10, description="code points of a news title, at least")
    news_title_max: Count = Field(500, description="at most")
    news_body_min: Count = Field(100, description="code points of a news body, at least")
    news_body_max: Count = Field(50_000, description="at most")
    news_upper_max: Share = Field(0.20, description="share of upper-case letters above which news is spam")
    news_symbols_max: Share = Field(0.10, description="share of punctuation and symbols above which news is spam")
    news_quality_min: Share = Field(0.5, description="least quality of news")
    community_body_min: Count = Field(50, description="code points of a post, at least")
    community_flood_max: Share = Field(0.30, description="share in runs of equal characters above which it is flooding")
    community_quality_min: Share = Field(0.4, description="least quality of a post")
    reparse_enabled: bool = Field(False, description="whether a missing date or short text asks for a recrawl")


class LanguageModelSettings(Group):
    model_config = SettingsConfigDict(env_prefix="ENRICH_LLM_")

    base_url: str = Field("", description="OpenAI-compatible endpoint; empty: offline")
    model: str = Field("", description="model name")
    api_key: SecretStr = Field(SecretStr(""), description="its key")
    timeout: Duration = duration("20s", "longest time of a call")


class PurgeSettings(Group):
    model_config = SettingsConfigDict(env_prefix="PURGE_")

    runs_after: Duration = duration("2d", "age at which Dagster runs are removed")
    ticks_after: Duration = duration("2d", "ticks")
    raw_contents_after: Duration = duration("90d", "fetched pages nothing refers to")
    dead_letters_after: Duration = duration("30d", "dead letters")


class GeneralSettings(Group):
    issuetracker_home: Path = Field(Path(".issuetracker"), description="state of embedded services, reports")
    database_url: SecretStr = Field(SecretStr(""), description="SQLAlchemy URL; empty: SQLite under the home folder")
    metrics_addr: str = Field("127.0.0.1:9464", description="host:port of the metrics endpoint; empty: none")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="least level logged")
    log_format: Literal["text", "json"] = Field("text", description="form of a log line")


GROUPS: dict[str, type[Group]] = {
    "general": GeneralSettings,
    "kafka": KafkaSettings,
    "redis": RedisSettings,
    "stages": StageSwitches,
    "fetch": FetchSettings,
    "parser": ParserSettings,
    "validate": ValidateQueueSettings,
    "verdict": ValidateSettings,
    "enrich": EnrichSettings,
    "language_model": LanguageModelSettings,
    "shift": ShiftSettings,
    "retry": RetrySettings,
    "publish": PublishSettings,
    "purge": PurgeSettings,
}

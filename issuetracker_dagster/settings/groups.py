"""The table of settings: name, default, accepted values and meaning of each variable, in groups of one prefix.

Longer than other modules on purpose: it is one table, and a reader looks for a setting in one place.
"""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from issuetracker_dagster.settings.kinds import (
    Address,
    Count,
    CountsByBand,
    Duration,
    DurationsByBand,
    Interval,
    Positive,
    Priorities,
    QueueKey,
    Share,
    SharesByBand,
    Size,
    Toggle,
    bands,
    duration,
    priorities,
    size,
)


class Group(BaseSettings):
    """A group of variables with one prefix. `title` heads it in `.env.example`."""

    title: ClassVar[str]
    model_config = SettingsConfigDict(
        env_file=".env", env_file_encoding="utf-8", extra="ignore", frozen=True, env_ignore_empty=True
    )


class KafkaSettings(Group):
    title = "Kafka"
    model_config = SettingsConfigDict(env_prefix="KAFKA_")

    bootstrap_servers: str = Field("", description="host:port, several with commas; empty: an embedded Kafka")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        "PLAINTEXT", description="how to connect to the brokers"
    )
    sasl_mechanism: str = Field("", description="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512; needed with SASL_*")
    sasl_plain_username: str = Field("", description="SASL user name")
    sasl_plain_password: SecretStr = Field(SecretStr(""), description="SASL password")
    ssl_cafile: str = Field("", description="path of the CA's certificate (PEM); empty: the system's CAs")
    ssl_certfile: str = Field("", description="path of the client's certificate (PEM); empty: none")
    ssl_keyfile: str = Field("", description="path of the client's key (PEM)")
    ssl_password: SecretStr = Field(SecretStr(""), description="password of the client's key")
    ssl_check_hostname: bool = Field(True, description="whether the broker's name must match its certificate")
    topic_prefix: str = Field("issuetracker.", description="put before every topic name, as in issuetracker.fetched")
    partitions_high: Positive = Field(6, description="partitions of crawl.high when it is created")
    partitions_normal: Positive = Field(8, description="partitions of crawl.normal when it is created")
    partitions_low: Positive = Field(4, description="partitions of crawl.low when it is created")
    partitions_stage: Positive = Field(8, description="partitions of fetched, normalized, validated and enriched, each")
    partitions_dlq: Positive = Field(4, description="partitions of dlq when it is created")
    retention: Duration = duration("7d", "how long topics keep messages; must be longer than every *_ZSET_ENTRY_TTL")


class RedisSettings(Group):
    title = "Redis"
    model_config = SettingsConfigDict(env_prefix="REDIS_")

    url: SecretStr = Field(
        SecretStr(""), description="URL: redis://, rediss:// or redis+sentinel://; empty: an embedded Valkey"
    )
    cluster: bool = Field(False, description="whether REDIS_URL names a node of a Redis Cluster")


class QueueSettings(Group):
    """Workers and priority queue of one stage; the prefix is the stage's name."""

    slots: Positive = Field(1, description="worker runs (processes) kept alive")
    worker_count: Positive = Field(6, description="messages handled at once in one worker run")
    priority_queue_enabled: Toggle = Field(
        None,
        description=(
            "work by priority, through Redis. unset: the toggle of the stage's intake sensor decides, off at first; "
            "true: the toggle is on at first; false: off whatever the toggle says"
        ),
    )
    zset_queue_key: QueueKey = Field("queue", description="Redis key of the queue, without braces")
    zset_max_size: Positive = Field(
        100_000, description="most entries ready in the queue; leased and delayed ones come on top"
    )
    zset_entry_ttl: Interval = duration("24h", "older entries go to the DLQ with the reason expired")
    zset_overflow: Literal["evict", "backpressure"] = Field(
        "evict",
        description=(
            "when the queue is full: evict sends the oldest entry of the lowest priority to the DLQ, backpressure "
            "leaves new messages in Kafka"
        ),
    )
    zset_pop_timeout: Duration = duration("1s", "how long a worker waits at an empty queue before it asks again")
    zset_pop_batch_size: Annotated[int, Field(ge=1, le=1000)] = Field(
        100, description="most entries that a worker takes at once; how many it takes follows the handlers' time"
    )
    zset_lease: Interval = duration("60s", "how long a taken entry is held without an extension before it goes back")
    zset_max_deliveries: Annotated[int, Field(ge=2)] = Field(
        5, description="starts of a message that end its worker, after which it goes to the DLQ"
    )
    zset_max_wait: Duration = duration(
        "0", "entries of any priority that waited longer get a share of the claims; 0: off"
    )
    zset_max_wait_share: Share = Field(0.2, description="that share: 0.2 is every fifth claim")


class ParserSettings(QueueSettings):
    title = "parser: workers and priority queue"
    model_config = SettingsConfigDict(env_prefix="PARSER_")

    zset_queue_key: QueueKey = Field("parser:zset:queue", description="Redis key of the queue, without braces")


class ValidateQueueSettings(QueueSettings):
    title = "validate: workers and priority queue"
    model_config = SettingsConfigDict(env_prefix="VALIDATE_")

    worker_count: Positive = Field(8, description="messages handled at once in one worker run")
    zset_queue_key: QueueKey = Field("validate:zset:queue", description="Redis key of the queue, without braces")


class EnrichSettings(QueueSettings):
    title = "enrich: workers and priority queue"
    model_config = SettingsConfigDict(env_prefix="ENRICH_")

    worker_count: Positive = Field(4, description="messages handled at once in one worker run")
    zset_queue_key: QueueKey = Field("enrich:zset:queue", description="Redis key of the queue, without braces")


class StageSwitches(Group):
    """Three values each: unset = on unless the UI says otherwise, true, false = off whatever the UI says."""

    title = "Which stages run"
    model_config = SettingsConfigDict(env_prefix="STAGES_")

    fetch_enabled: Toggle = Field(
        None,
        description=(
            "workers of fetch. unset or true: on until somebody switches the sensor fetch_workers off; false: off "
            "whatever the toggle says. Not all four stages can be false"
        ),
    )
    parser_enabled: Toggle = Field(None, description="workers of parser, likewise")
    validate_enabled: Toggle = Field(None, description="workers of validate, likewise")
    enrich_enabled: Toggle = Field(None, description="workers of enrich, likewise")
    scheduler_enabled: Toggle = Field(None, description="publishing of due seeds (sensor seed_scheduler), likewise")


class FetchSettings(Group):
    title = "fetch"
    model_config = SettingsConfigDict(env_prefix="FETCH_")

    slots: Positive = Field(1, description="worker runs (processes) kept alive")
    high_worker_count: Positive = Field(3, description="high jobs fetched at once in one worker run")
    normal_worker_count: Positive = Field(6, description="normal jobs fetched at once in one worker run")
    low_worker_count: Positive = Field(2, description="low jobs fetched at once in one worker run")
    user_agent: str = Field(
        "IssueTrackerBot/0.1 (+https://example.com/bot)",
        description="User-Agent header; say who you are and how to reach you",
    )
    timeout: Duration = duration("30s", "longest time of one fetch, redirects included")
    max_bytes: Size = size("10MB", "largest page after decompression")
    max_redirects: Count = Field(5, description="most redirects followed")
    allow_private_addresses: bool = Field(False, description="true lets fetch ask loopback and private addresses")
    robots: Literal["obey", "ignore"] = Field("obey", description="whether robots.txt is kept to")
    render_pages: Count = Field(
        3, description="pages that a browser renders at once in one worker run, one of them kept for high jobs; 0: none"
    )
    render_browser: str = Field(
        "",
        description=(
            "path of the Chromium that renders, or a channel of Playwright's such as chrome; empty: the one in PATH, "
            "else Playwright's own"
        ),
    )
    render_sandbox: bool = Field(
        True, description="whether Chromium's sandbox is on; root has none and needs false, in a container only"
    )
    render_restart_after: Positive = Field(100, description="pages after which the browser is replaced")
    render_max_bytes: Size = size("30MB", "most bytes that scripts and data of one rendered page may take")
    render_max_memory: Size = size("1GB", "memory of one page's process above which it is ended")


class ShiftSettings(Group):
    title = "Worker runs (shifts) and intakes"
    shift_duration: Interval = duration("45m", "length of a worker run, varied by 20 % either way")
    shift_drain_timeout: Duration = duration("20s", "longest time that an ending worker run gives to what it holds")
    worker_heartbeat: Interval = duration("5s", "time between the signs of life of a worker run")
    worker_dead_after: Interval = duration("15s", "silence after which a worker run is failed and replaced")
    intake_tick_budget: Interval = duration("8s", "how long one tick of an intake sensor may move messages")
    intake_batch: Positive = Field(500, description="most messages that an intake stores at once")


class RetrySettings(Group):
    title = "Retries and dead letters"
    retry_max_attempts: Positive = Field(3, description="tries of a message at one stage before it goes to the DLQ")
    retry_base: Duration = duration("5s", "delay before the second try; doubled for each further one")
    retry_cap: Duration = duration("5m", "longest delay between two tries")
    retry_jitter: Share = Field(0.25, description="share by which a delay is varied, either way")
    recrawl_max: Count = Field(3, description="how often later stages may have one page fetched again")
    dlq_pause_share: Share = Field(
        0.9,
        description="share of a worker run's last 200 messages in the DLQ above which it pauses (not fetch); 0: never",
    )


class PublishSettings(Group):
    title = "Publishing, rules and seeds"
    priority_rules_refresh_interval: Interval = duration("5m", "how often priority rules are read from the database")
    priority_rules_load_limit: Positive = Field(10_000, description="most priority rules loaded")
    priority_by_source: Priorities = priorities(
        "", "priority of every job of a source (the name of its seeds), before rules are asked"
    )
    publisher_redis_buffer_enabled: Toggle = Field(
        None,
        description=(
            "hold normal and low jobs back in Redis while Kafka lags. unset: the toggle of the schedule drain_backlog "
            "decides, off at first; true: the toggle is on at first; false: off whatever the toggle says"
        ),
    )
    publisher_redis_buffer_drain_interval: Interval = duration("30s", "time between two drains of the buffer")
    publisher_redis_buffer_target_backlog: Positive = Field(
        3_000, description="unread messages of a crawl topic up to which the buffer drains into it"
    )
    publisher_redis_buffer_drain_batch: Positive = Field(100, description="most jobs moved by one drain")
    publisher_redis_buffer_max_len: Count = Field(
        100_000, description="most buffered jobs of one priority; 0: no limit"
    )
    publisher_redis_buffer_check_timeout: Duration = duration(
        "5s", "longest time to ask Kafka for a lag before a drain is skipped"
    )
    scheduler_max_backlog: Count = Field(
        5_000, description="waiting crawl jobs above which seeds aren't published; 0: off"
    )
    scheduler_backlog_check_timeout: Duration = duration("5s", "longest time to ask for that number")
    ingestion_lock_ttl: Duration = duration("24h", "how long the URL of a published article counts as known")
    category_guard_ttl: Duration = duration("60s", "how long the URL of a published category page counts as known")


class ValidateSettings(Group):
    title = "validate: what passes"
    model_config = SettingsConfigDict(env_prefix="VALIDATE_")

    news_title_min: Count = Field(10, description="least code points of a news title")
    news_title_max: Count = Field(500, description="most code points of a news title")
    news_body_min: Count = Field(100, description="least code points of a news body")
    news_body_max: Count = Field(50_000, description="most code points of a news body")
    news_upper_max: Share = Field(0.20, description="share of upper-case letters above which news is spam")
    news_symbols_max: Share = Field(0.10, description="share of punctuation and symbols above which news is spam")
    news_quality_min: Share = Field(0.5, description="quality below which news is rejected")
    community_body_min: Count = Field(50, description="least code points of a community post")
    community_flood_max: Share = Field(
        0.30, description="share in runs of equal characters above which a post is flooding"
    )
    community_quality_min: Share = Field(0.4, description="quality below which a post is rejected")
    reparse_enabled: bool = Field(
        False, description="true has a page with a missing date or a short text fetched again"
    )


class LanguageModelSettings(Group):
    title = "enrich: language model"
    model_config = SettingsConfigDict(env_prefix="ENRICH_LLM_")

    base_url: str = Field(
        "", description="base URL of an OpenAI-compatible endpoint; empty: none, enrich works offline"
    )
    model: str = Field("", description="name of the model")
    api_key: SecretStr = Field(SecretStr(""), description="API key of the endpoint")
    timeout: Duration = duration("20s", "longest time of one call")


class CheckSettings(Group):
    """From which figures on a check in the UI is a warning, and from which an error."""

    title = "Checks: from when on they warn, and are red"
    model_config = SettingsConfigDict(env_prefix="CHECK_")

    depth_warn: SharesByBand = bands(
        "high=0.1,normal=0.5,low=0.8",
        "share of *_ZSET_MAX_SIZE above which entries of a priority and better ones are a warning",
    )
    depth_error: SharesByBand = bands("high=0.5,normal=0.8,low=0.95", "the same share for an error")
    age_warn: DurationsByBand = bands(
        "high=5m,normal=1h,low=12h", "wait in a stage's queue or in the buffer above which it is a warning"
    )
    age_error: DurationsByBand = bands("high=30m,normal=6h,low=20h", "the same wait for an error")
    lag_warn: CountsByBand = bands(
        "high=1000,normal=10000,low=100000",
        "unread messages of a topic above which it is a warning; topics of all priorities count as normal",
    )
    lag_error: CountsByBand = bands("high=10000,normal=100000,low=1000000", "the same number for an error")
    retries_warn: Positive = Field(5_000, description="waiting retries above which it is a warning")
    retries_error: Positive = Field(50_000, description="the same number for an error")
    frontier_warn: Count = Field(100_000, description="crawl jobs waiting for their hosts above which it is a warning")
    frontier_error: Count = Field(1_000_000, description="the same number for an error")
    dead_warn: Count = Field(100, description="dead letters within an hour above which it is a warning")
    dead_error: Count = Field(1_000, description="the same number for an error")
    dead_share_warn: Share = Field(
        0.05, description="share of what a stage handles within an hour that dies, above which it is a warning"
    )
    dead_share_error: Share = Field(0.25, description="the same share for an error")
    buffer_warn: Share = Field(
        0.8, description="share of PUBLISHER_REDIS_BUFFER_MAX_LEN above which a buffer is a warning"
    )
    buffer_error: Share = Field(0.95, description="the same share for an error")
    late_warn: Interval = duration(
        "2m", "time that an intake is silent, a retry overdue, or a lease over, above which it is a warning"
    )
    late_error: Interval = duration("10m", "the same time for an error")


class PurgeSettings(Group):
    title = "Purging"
    model_config = SettingsConfigDict(env_prefix="PURGE_")

    runs_after: Duration = duration("2d", "age at which finished Dagster runs are removed, with their files")
    ticks_after: Duration = duration("2d", "age at which ticks of sensors and schedules are removed")
    raw_contents_after: Duration = duration("90d", "age at which fetched pages that nothing refers to are removed")
    dead_letters_after: Duration = duration("30d", "age at which the index of dead letters forgets one")


class GeneralSettings(Group):
    title = "General"
    issuetracker_home: Path = Field(
        Path(".issuetracker"), description="folder of the embedded services: their data, logs and Dagster's state"
    )
    database_url: SecretStr = Field(
        SecretStr(""),
        description="URL such as postgresql+psycopg://user:password@host/name; empty: SQLite in ISSUETRACKER_HOME",
    )
    metrics_addr: Address = Field("127.0.0.1:9464", description="host:port of the metrics endpoint, or off")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least level of log lines shown"
    )
    log_format: Literal["text", "json"] = Field("text", description="form of log lines")


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
    "check": CheckSettings,
    "purge": PurgeSettings,
}

"""What a log line looks like: one sentence, and beside it the action and its fields."""

import json
import logging
import time

from issuetracker_dagster.settings.load import Settings

_OURS = "issuetracker_dagster"
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CHATTY = ("kafka.net", "kafka.cluster", "kafka.coordinator", "kafka.consumer", "kafka.client", "kafka.producer")


def configure(settings: Settings) -> None:
    """Give this package's loggers one handler on standard error; safe to call again.

    The Kafka client writes several lines a second while a broker is out; ours says it once, so the client is silenced.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if settings.general.log_format == "json" else TextLines())
    ours = logging.getLogger(_OURS)
    ours.handlers[:] = [handler]
    ours.setLevel(settings.general.log_level.upper())
    ours.propagate = False
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.CRITICAL)


class TextLines(logging.Formatter):
    """`2026-01-31 12:00:00 WARNING shift.paused claiming waits: ... slot=2`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = _fields(record)
        name = str(fields.pop("action", record.name))
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(record.created))
        words = [
            when,
            record.levelname,
            name,
            record.getMessage(),
            *(f"{key}={value}" for key, value in fields.items()),
        ]
        return _with_traceback(self, record, " ".join(words))


class JsonLines(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at_ms": int(record.created * 1000),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def _fields(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in vars(record).items() if key not in _STANDARD}


def _with_traceback(formatter: logging.Formatter, record: logging.LogRecord, line: str) -> str:
    return f"{line}\n{formatter.formatException(record.exc_info)}" if record.exc_info else line

"""Counters and histograms of all processes. Keys: `metrics:{all}:<name>`, a HASH a metric, all in one Cluster slot.

A field holds the label values and a histogram's part, with tabs between them.
"""

from collections import defaultdict

from issuetracker_dagster.adapters.redis.client import RedisClient
from issuetracker_dagster.adapters.redis.scripts import script
from issuetracker_dagster.model.metrics import MAX_SERIES, METRICS, OPEN_LASTS_MS, Kind, MetricName
from issuetracker_dagster.model.readings import Batch, Cell, Readings

WRITER_LASTS_MS = 3_600_000
_STORED = tuple(name for name, metric in METRICS.items() if metric.kind is not Kind.GAUGE)


class RedisMetricStore:
    """`MetricStore` in Redis: a round trip a batch, and one for reading everything."""

    def __init__(
        self, client: RedisClient, *, max_series: int = MAX_SERIES, open_lasts_ms: int = OPEN_LASTS_MS
    ) -> None:
        self._client = client
        self._max_series = max_series
        self._open_lasts_ms = open_lasts_ms

    def add(self, batch: Batch) -> None:
        by_name: dict[MetricName, list[str | bytes]] = defaultdict(list)
        for cell, amount in batch.amounts.items():
            by_name[cell.name] += (_field(cell), _field(cell.elsewhere()), str(amount))
        if not by_name:
            return
        args: list[str | bytes] = [str(batch.sequence), str(WRITER_LASTS_MS)]
        args += [str(self._max_series), str(self._open_lasts_ms)]
        for name, words in by_name.items():
            args += ["1" if METRICS[name].open else "0", str(len(words) // 3), *words]
        keys = [_key(f"writer:{batch.writer}"), *map(_key, by_name)]
        script("metrics_add").run(self._client, keys, args)

    def read(self) -> Readings:
        found = script("metrics_read").run(self._client, [_key(name) for name in _STORED], ())
        cells: dict[Cell, int] = {}
        for name, flat in zip(_STORED, found, strict=True):
            for field, amount in zip(flat[::2], flat[1::2], strict=True):
                cell = _cell(name, field)
                if cell is not None:
                    cells[cell] = int(amount)
        return Readings(cells)


def _key(name: str) -> str:
    return f"metrics:{{all}}:{name}"


def _field(cell: Cell) -> bytes:
    words = (*cell.labels, cell.part) if cell.part else cell.labels
    return "\t".join(word.replace("\t", " ") for word in words).encode("utf-8", "replace")


def _cell(name: MetricName, field: bytes) -> Cell | None:
    """The cell of a field; None when another version wrote it with other labels."""
    metric = METRICS[name]
    words = field.decode("utf-8", "replace").split("\t") if field else []
    if len(words) != len(metric.labels) + (metric.kind is Kind.HISTOGRAM):
        return None
    return Cell(name, tuple(words[:-1]), words[-1]) if metric.kind is Kind.HISTOGRAM else Cell(name, tuple(words))

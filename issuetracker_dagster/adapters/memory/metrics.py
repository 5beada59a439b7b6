"""Counters and histograms in memory."""

import threading
from collections import Counter

from issuetracker_dagster.model.metrics import MAX_SERIES, METRICS, OPEN_LASTS_MS, MetricName
from issuetracker_dagster.model.readings import Batch, Cell, Readings
from issuetracker_dagster.ports.clock import Clock


class MemoryMetricStore:
    """`MetricStore` of one process. Thread-safe."""

    def __init__(self, clock: Clock, *, max_series: int = MAX_SERIES, open_lasts_ms: int = OPEN_LASTS_MS) -> None:
        self._clock = clock
        self._max_series = max_series
        self._open_lasts_ms = open_lasts_ms
        self._lock = threading.Lock()
        self._cells: Counter[Cell] = Counter()
        self._latest: dict[str, int] = {}
        self._open_until: dict[MetricName, int] = {}

    def add(self, batch: Batch) -> None:
        with self._lock:
            if not batch.amounts or self._latest.get(batch.writer, 0) >= batch.sequence:
                return
            self._latest[batch.writer] = batch.sequence
            self._start_anew()
            for cell, amount in batch.amounts.items():
                self._cells[self._place(cell)] += amount

    def read(self) -> Readings:
        with self._lock:
            self._start_anew()
            return Readings(dict(self._cells))

    def _place(self, cell: Cell) -> Cell:
        if not METRICS[cell.name].open:
            return cell
        self._open_until.setdefault(cell.name, self._clock.now_ms() + self._open_lasts_ms)
        known = [each for each in self._cells if each.name == cell.name]
        return cell if cell in self._cells or len(known) < self._max_series else cell.elsewhere()

    def _start_anew(self) -> None:
        for name in [name for name, until_ms in self._open_until.items() if self._clock.now_ms() >= until_ms]:
            del self._open_until[name]
            self._cells = Counter({cell: amount for cell, amount in self._cells.items() if cell.name != name})

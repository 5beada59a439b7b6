"""A guard around the client's reading of records: a header whose name isn't UTF-8 must not hold up its partition.

Kafka takes any bytes as a header's name; kafka-python 3.0.12 raises UnicodeDecodeError from `poll`, and again from each
poll after it, so that one such record stops everything behind it for good. The contract suite fails without this guard.
"""

from functools import cache
from typing import Any

from kafka.record.default_records import DefaultRecordBatch


class _AnyText(bytearray):
    """Bytes whose parts decode whatever they are, `b"\\xff"` as `\\xff`. Slow, so for single records only."""

    def __getitem__(self, place: Any) -> Any:
        part = super().__getitem__(place)
        return _AnyText(part) if isinstance(place, slice) else part

    def decode(self, encoding: str = "utf-8", errors: str = "backslashreplace") -> str:
        return super().decode(encoding, errors)


@cache
def accept_any_header_names() -> None:
    """From now on, consumers of this process read such a name with its bad bytes written out."""
    batch: Any = DefaultRecordBatch
    read = batch._read_msg

    def read_any(self: Any) -> Any:
        try:
            return read(self)
        except UnicodeDecodeError:
            # The position moves on only behind a record that was read.
            strict, self._buffer = self._buffer, _AnyText(self._buffer)
            try:
                return read(self)
            finally:
                self._buffer = strict

    batch._read_msg = read_any

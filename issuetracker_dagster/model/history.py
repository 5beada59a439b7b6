"""What purging takes out, in numbers."""

import msgspec


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """Rows, files and bytes that are gone, or would be. Bytes are those of bodies and files, not of indexes."""

    rows: int = 0
    files: int = 0
    bytes: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        return Removed(rows=self.rows + other.rows, files=self.files + other.files, bytes=self.bytes + other.bytes)

    def __bool__(self) -> bool:
        return bool(self.rows or self.files or self.bytes)


class StoredPage(msgspec.Struct, frozen=True):
    """A row of `raw_contents` as purging sees it; `bytes` is the size of its compressed body."""

    raw_id: int
    bytes: int

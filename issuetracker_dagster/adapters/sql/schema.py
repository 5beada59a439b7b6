"""The ground of every table: base class, names of constraints, and column types that mean the same in both dialects."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from sqlalchemy import JSON, BigInteger, CheckConstraint, Integer, MetaData, SmallInteger, String, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase, mapped_column
from sqlalchemy.types import TypeDecorator

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}

KEEP_IDS = {"sqlite_autoincrement": True}
"""SQLite would give the id of a deleted last row away again, and an old reference would then name another page."""


class SafeText(TypeDecorator[str]):
    """Text from the web. PostgreSQL refuses NUL and both drivers refuse lone surrogates: each becomes U+FFFD."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        if value is None:
            return None
        text = value.replace("\x00", "\ufffd")
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text


class EditedJson(TypeDecorator[Any]):
    """JSON that people edit in SQL: what is none (SQLite takes any text) comes as that text, and who reads the row says
    so; raised from here, one row would hide all others and nobody knew which it was."""

    impl = JSON
    cache_ok = True

    def result_processor(self, dialect: Dialect, coltype: object) -> Callable[[Any], Any] | None:
        read = super().result_processor(dialect, coltype)

        def lenient(value: Any) -> Any:
            try:
                return read(value) if read else value
            except ValueError:
                return value

        return lenient


class Table(DeclarativeBase):
    """The base of all tables."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy reads it from the class
        str: SafeText(),
        dict[str, float]: JSON,
        dict[str, str]: JSON,
        dict[str, object]: JSON,
        list[str]: JSON,
        list[dict[str, object]]: JSON,
    }


_BIG = BigInteger().with_variant(Integer, "sqlite")

Id = Annotated[int, mapped_column(_BIG, primary_key=True)]
Ref = Annotated[int, mapped_column(_BIG)]
"""The id of a row elsewhere."""
UnixMs = Annotated[int, mapped_column(BigInteger)]
Big = Annotated[int, mapped_column(BigInteger)]
Small = Annotated[int, mapped_column(SmallInteger)]
Word = Annotated[str, mapped_column(String(32))]
"""A value of an enumeration, held to it by a check."""
Sha256 = Annotated[str, mapped_column(String(64))]


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    """The check that holds a `Word` to its enumeration."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def between(column: str, low: int, high: int) -> CheckConstraint:
    """The check of a range, both ends included; NULL passes."""
    return CheckConstraint(f"{column} BETWEEN {low} AND {high}", name=column)

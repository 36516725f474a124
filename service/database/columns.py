"""What the columns of all tables are made of: kinds of values, names of rules, and moments in UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    MetaData,
    String,
    TypeDecorator,
)
from sqlalchemy.engine.default import DefaultExecutionContext

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


class Utc(TypeDecorator[datetime]):
    """A moment, always in UTC; SQLite keeps it without a zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a zone")
        told = value.astimezone(UTC)
        return told.replace(tzinfo=None) if dialect.name == "sqlite" else told

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData(naming_convention=NAMES)
ID = String(32)
DIGEST = String(64)
NAME = String(200)
WORD = String(40)


def id_column() -> Column[str]:
    """Return the column that names a row."""
    return Column("id", ID, primary_key=True)


def reference_column(
    table: str, name: str = "", *, optional: bool = False, index: bool = False
) -> Column[str]:
    """Return a column that names a row of another table."""
    key = ForeignKey(f"{table}.id")
    return Column(name or f"{table}_id", ID, key, nullable=optional, index=index)


def moment_column(name: str = "created_at", *, optional: bool = False) -> Column[datetime]:
    """Return a column with a moment in it."""
    return Column(name, Utc, nullable=optional)


def key_column(name: str, key_of: Callable[[str], str]) -> Column[str]:
    """Return a column that is computed from the name in the same row."""

    def computed(context: DefaultExecutionContext) -> str:
        row = context.get_current_parameters()  # type: ignore[no-untyped-call]  # as SQLAlchemy has it
        return key_of(row["name"])

    return Column(name, DIGEST, nullable=False, default=computed)

"""Writes the statements of the first level from the tables.

Command: ``python -m treewarden.service.database.migrations.freeze``.
Once a version is released its level stays as it is, and what changes in the tables comes as a level of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect
from sqlalchemy.schema import CreateIndex, CreateTable

from treewarden.service.database.guards import guard_statements
from treewarden.service.database.tables import METADATA

DIALECTS: dict[str, Dialect] = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}  # type: ignore[no-untyped-call]  # SQLAlchemy has no types there
END = ";\n\n"
"""What parts the statements of a file: none holds an empty line."""


def frozen_path(level: str, dialect: str) -> Path:
    """Return the file that holds the statements of a level for a kind of database."""
    return Path(__file__).with_name("versions") / f"level_{level}.{dialect}.sql"


def frozen_statements(level: str, dialect: str) -> list[str]:
    """Return the statements of a level as they were frozen."""
    return frozen_path(level, dialect).read_text(encoding="utf-8").removesuffix(END).split(END)


def current_statements(dialect: str) -> Iterator[str]:
    """Yield the statements that make what the tables and guards say now: tables by name within their order of keys."""
    compiled = DIALECTS[dialect]
    for table in METADATA.sorted_tables:
        yield _statement(CreateTable(table).compile(dialect=compiled))
        for index in sorted(table.indexes, key=lambda index: str(index.name)):
            yield _statement(CreateIndex(index).compile(dialect=compiled))
    yield from guard_statements(dialect)


def _statement(compiled: object) -> str:
    return "\n".join(line.rstrip() for line in str(compiled).splitlines() if line.strip())


def main() -> None:
    """Write both files of the first level."""
    for dialect in DIALECTS:
        text = END.join(current_statements(dialect)) + END
        frozen_path("0001", dialect).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

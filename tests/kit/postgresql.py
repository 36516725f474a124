"""A real PostgreSQL server for tests: each has a schema of its own there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import uuid4

import adbc_driver_postgresql.dbapi as dbapi
import pytest

GIVEN = os.environ.get(
    "TREEWARDEN_TEST_POSTGRESQL", "postgresql+psycopg://postgres@127.0.0.1:5432/test"
)
SERVER = GIVEN.replace("+psycopg", "")


@contextmanager
def own_schema() -> Iterator[Callable[..., str]]:
    """Yield what runs statements, in which ``{}`` is the schema, and returns its address; it is gone afterwards."""
    name = f"treewarden_{uuid4().hex[:12]}"
    try:
        connection = dbapi.connect(SERVER)
    except dbapi.Error:
        if os.environ.get("TREEWARDEN_REQUIRE_POSTGRESQL"):
            pytest.fail(f"no PostgreSQL at {SERVER}")
        pytest.skip("no PostgreSQL here")
    with connection, connection.cursor() as cursor:
        cursor.execute(f"create schema {name}")
        connection.commit()

        def made(*statements: str) -> str:
            for each in statements:
                cursor.execute(each.format(name))
            connection.commit()
            return f"{SERVER}#{name}"

        yield made
        connection.rollback()
        cursor.execute(f"drop schema {name} cascade")
        connection.commit()

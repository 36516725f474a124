"""What a process of the service holds, and what one transaction of a use case may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection, Engine

from treewarden.ppdm_models.errors import os_reason
from treewarden.service.auth.passwords import HashingQueue
from treewarden.service.database.engine import now, open_engine, reading, writing
from treewarden.service.errors import SetupError
from treewarden.service.settings import Settings
from treewarden.service.vault.vault import Vault, open_vault


@dataclass(frozen=True, slots=True)
class Site:
    """The settings, the database and the vault of a process; made once, when it starts."""

    settings: Settings
    engine: Engine
    vault: Vault
    hashing: HashingQueue = field(default_factory=HashingQueue)

    @contextmanager
    def unit(self) -> Iterator[Unit]:
        """Give a transaction that may write: all of it is committed, or nothing; then what was put off is done."""
        in_any_case: list[Callable[[], object]] = []
        try:
            with writing(self.engine) as connection:
                unit = Unit(connection, now(connection), self, in_any_case=in_any_case)
                yield unit
            for each in unit.afterwards:
                each()
        finally:
            for each in in_any_case:
                each()

    @contextmanager
    def reading(self) -> Iterator[Unit]:
        """Give one unchanging view; nothing that is written stays."""
        in_any_case: list[Callable[[], object]] = []
        try:
            with reading(self.engine) as connection:
                yield Unit(connection, now(connection), self, in_any_case=in_any_case)
        finally:
            for each in in_any_case:
                each()


@dataclass(frozen=True, slots=True)
class Unit:
    """One transaction, and when it began by the database's clock.

    ``afterwards`` is done once it is committed, ``in_any_case`` once it has ended, undone or not.
    """

    connection: Connection
    now: datetime
    site: Site
    afterwards: list[Callable[[], object]] = field(default_factory=list)
    in_any_case: list[Callable[[], object]] = field(default_factory=list)


def open_site(settings: Settings) -> Site:
    """Return what a process of the service holds.

    Raises:
        SetupError: the database's URL, the data folder or the key cannot be used.
    """
    vault = open_vault(settings)
    engine = open_engine(settings.database_url)
    if engine.dialect.name == "sqlite":
        _make_private(engine.url.database)
    return Site(settings, engine, vault)


def _make_private(name: str | None) -> None:
    """Make the file of a new database for this user alone: SQLite would let everybody on the machine read it."""
    if not name or name == ":memory:":
        return
    try:
        Path(name).touch(mode=0o600, exist_ok=True)
    except OSError as error:
        problem = f"{name} cannot be written ({os_reason(error)}); name another file"
        raise SetupError("--database", problem) from error

"""``treewarden db``: what an administrator does with the database of a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from treewarden.service.database import levels
from treewarden.service.operations.backup import back_up, restore
from treewarden.service.operations.checking import check
from treewarden.service.running import ready_site
from treewarden.service.settings import settings_from
from treewarden.service.site import Site, open_site
from treewarden.service.use_cases.accounts.people import DEFAULT, create_administrator
from treewarden.service.use_cases.log import read_anchors
from treewarden.terminal.exits import FAIL

Command = TypeVar("Command", bound=Callable[..., None])


def _where(command: Command) -> Command:
    database = click.option(
        "--database", metavar="URL", help="The database, where it is not in the data folder."
    )
    folder = click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="The data folder of the service.  [default: treewarden-data]",
    )
    return folder(database(command))


@click.group("db")
def db_command() -> None:
    """Upgrade, back up, restore or check the database of a service; make its first administrator."""


@db_command.command("upgrade")
@_where
def upgrade_command(data_dir: Path | None, database: str | None) -> None:
    """Bring the database to the level that this version needs; make its tables where there are none."""
    with _opened(data_dir, database) as site:
        before, after = levels.upgrade(site.engine)
    was = ", as before" if before == after else f", was {before or 'none'}"
    click.echo(f"level {after}{was}")


@db_command.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_where
def backup_command(file: Path, data_dir: Path | None, database: str | None) -> None:
    """Write a copy of the database into a new FILE, while the service runs.

    The copy holds no key of a table, so whoever has it cannot read one. Copy the folder blobs beside it after that;
    keep the key file elsewhere, as the two together open models and reports.
    """
    with _opened(data_dir, database) as site:
        number = back_up(site, file)
    click.echo(f"{file}: {number} rows; keys of tables were left out")


@db_command.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_where
def restore_command(file: Path, data_dir: Path | None, database: str | None) -> None:
    """Put the copy in FILE into an empty database; one that holds something is refused.

    It need not be of the kind that the copy was taken from: this is also the way from SQLite to PostgreSQL.
    """
    with _opened(data_dir, database) as site:
        number = restore(site, file)
    click.echo(f"{file}: {number} rows restored; tables that were there then are erased")


@db_command.command("check")
@_where
@click.option(
    "--anchor",
    "anchors",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file of anchors, as TREEWARDEN_ANCHOR_FILE names it: a log must still hold each row that it tells of.",
)
@click.pass_context
def check_command(
    context: click.Context, data_dir: Path | None, database: str | None, anchors: Path | None
) -> None:
    """Look whether all is there and agrees: level, logs, verdicts, decisions, references, all files of the vault."""
    wrong = 0
    known = () if anchors is None else read_anchors(anchors)
    with _opened(data_dir, database) as site:
        for checked_item in check(site, known):
            mark, problem = (
                ("wrong", f": {checked_item.problem}") if checked_item.problem else ("ok   ", "")
            )
            click.echo(f"{mark}  {checked_item.what}{problem}")
            wrong += bool(checked_item.problem)
    context.exit(FAIL if wrong else 0)


@db_command.command("create-admin")
@click.argument("name")
@click.option(
    "--organisation", default=DEFAULT, show_default=True, help="Whose administrator that is."
)
@_where
def create_admin_command(
    name: str, organisation: str, data_dir: Path | None, database: str | None
) -> None:
    """Make an administrator called NAME and print a one-time password, whether the service runs or not.

    The organisation is made where there is none of that name, and so are the tables of a new SQLite database. Run it
    as the service's user, so that the files are that user's.
    """
    site = ready_site(settings_from({"data_dir": data_dir, "database": database}))
    try:
        with site.unit() as unit:
            _, password = create_administrator(unit, name, organisation)
    finally:
        site.engine.dispose()
    click.echo(f"one-time password: {password}")


@contextmanager
def _opened(data_dir: Path | None, database: str | None) -> Iterator[Site]:
    settings = settings_from({"data_dir": data_dir, "database": database})
    site = open_site(settings)
    try:
        yield site
    finally:
        site.engine.dispose()


COMMAND = db_command

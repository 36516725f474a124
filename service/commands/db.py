"""``treewarden db``: what an administrator does with the database of a service."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import click

from treewarden.service.database import engine
from treewarden.service.operations.integrity import back_up, check, restore
from treewarden.service.running import ready_site
from treewarden.service.settings import settings_from
from treewarden.service.site import Site, open_site
from treewarden.service.use_cases.accounts.people import DEFAULT, create_administrator
from treewarden.service.use_cases.log import read_anchors
from treewarden.terminal.exits import FAIL

Command = TypeVar("Command", bound=Callable[..., None])


def _where(command: Command) -> Command:
    database = click.option(
        "--database", metavar="URL", help="The database, if it is not in the data folder."
    )
    folder = click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        help="The data folder of the service.  [default: treewarden-data]",
    )
    return folder(database(command))


@click.group("db")
def db_command() -> None:
    """Upgrade, back up, restore or check the database of a service, or create an administrator."""


@db_command.command("upgrade")
@_where
def upgrade_command(data_dir: Path | None, database: str | None) -> None:
    """Upgrade the database to this version, or create its tables."""
    with _opened(data_dir, database) as site:
        before, after = engine.upgrade(site.engine)
    was = ", as before" if before == after else f", was {before or 'none'}"
    click.echo(f"level {after}{was}")


@db_command.command("backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_where
def backup_command(file: Path, data_dir: Path | None, database: str | None) -> None:
    """Copy the database into a new FILE while the service runs.

    The copy contains no encryption keys of training tables. Also copy the folder 'blobs'. Store the key file in
    another place, because the copy and the key file together give access to models and reports.
    """
    with _opened(data_dir, database) as site:
        number = back_up(site, file)
    click.echo(f"{file}: {number} rows; encryption keys of training tables are not included")


@db_command.command("restore")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_where
def restore_command(file: Path, data_dir: Path | None, database: str | None) -> None:
    """Restore the copy in FILE into an empty database.

    The new database may be of another kind, so this command also moves a service from SQLite to PostgreSQL.
    """
    with _opened(data_dir, database) as site:
        number = restore(site, file)
    click.echo(f"{file}: {number} rows restored; uploaded tables are erased")


@db_command.command("check")
@_where
@click.option(
    "--anchor",
    "anchors",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with earlier last entries of the log and their digests (see TREEWARDEN_ANCHOR_FILE). The check fails "
    "if the log no longer contains one of them.",
)
@click.pass_context
def check_command(
    context: click.Context, data_dir: Path | None, database: str | None, anchors: Path | None
) -> None:
    """Check that the database, its logs and its files are complete and unaltered."""
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
    "--organisation",
    default=DEFAULT,
    show_default=True,
    help="The organisation of that administrator.",
)
@_where
def create_admin_command(
    name: str, organisation: str, data_dir: Path | None, database: str | None
) -> None:
    """Create an administrator NAME and print a one-time password.

    A missing organisation is created too, and so are the tables of a new SQLite database. You can run
    the command while the service is running. Run it as the service's user.
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

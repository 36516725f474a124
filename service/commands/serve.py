"""``treewarden serve``."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import WholeNumber
from treewarden.service.auth.principal import Permission
from treewarden.service.running import ready_site, serve
from treewarden.service.schemas.people import NewToken
from treewarden.service.settings import settings_from
from treewarden.service.use_cases.accounts.authentication import create_token
from treewarden.service.use_cases.accounts.people import DEFAULT, create_administrator


@click.command("serve")
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="The folder of the database, the encrypted files and the key.  [default: treewarden-data]",
)
@click.option(
    "--database",
    metavar="URL",
    help="postgresql://USER@HOST/NAME or sqlite:///FILE.  [default: SQLite in the data folder]",
)
@click.option("--host", help="The address to listen on.  [default: 127.0.0.1]")
@click.option("--port", type=WholeNumber(0, 65535), help="The port.  [default: 8321]")
@click.option(
    "--create-admin",
    metavar="NAME",
    help="Create an administrator first, and print a one-time password.",
)
@click.option("--organisation", default=DEFAULT, help="The organisation of that administrator.")
def serve_command(create_admin: str | None, organisation: str, **given: object) -> None:
    """Run the web service for an organisation: its web pages, its API, and a worker that runs the audits.

    Every option is also an environment variable, such as TREEWARDEN_DATA_DIR.
    """
    settings = settings_from(given)
    site = ready_site(settings)

    def prepare() -> None:
        if create_admin is None:
            return
        with site.unit() as unit:
            principal, password = create_administrator(unit, create_admin, organisation)
            made_token = create_token(
                unit, principal, NewToken(name="first", permissions=tuple(Permission))
            )
        click.echo(f"one-time password: {password}\ntoken: {made_token.secret}")

    serve(site, prepare)


COMMAND = serve_command

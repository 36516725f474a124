"""``treewarden serve``."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.service.auth.principal import Permission
from treewarden.service.running import ready_site, serve
from treewarden.service.schemas.people import NewToken
from treewarden.service.settings import settings_from
from treewarden.service.use_cases.accounts.authentication import create_token
from treewarden.service.use_cases.accounts.people import DEFAULT, create_administrator


@click.command("serve")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Folder of all that is kept.")
@click.option("--database", help="sqlite:///FILE or postgresql://USER@HOST/NAME.")
@click.option("--host", help="Address to listen on; 127.0.0.1 where nothing is said.")
@click.option("--port", type=click.IntRange(0, 65535), help="Port; 8321 where nothing is said.")
@click.option("--create-admin", metavar="NAME", help="Make an administrator first.")
@click.option("--organisation", default=DEFAULT, help="Whose administrator that is.")
def serve_command(create_admin: str | None, organisation: str, **given: object) -> None:
    """Serve the pages and the API, with a worker beside them."""
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

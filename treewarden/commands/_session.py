"""The options of the two commands that take part in a session."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._plain import FILE

CERTIFICATES = click.option(
    "--certificates",
    type=FILE,
    default=Path("certificates"),
    show_default=True,
    help="The folder with ca.pem, and the own certificate and key: NAME.pem, NAME.key.",
)
SESSION = click.option(
    "--session", type=FILE, required=True, help="What all sides agree on: the same TOML file."
)

"""The options of ``treewarden gate`` that ask a service in place of auditing here."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from reports.document.words import printable
from treewarden.terminal.progress import Progress

Command = Callable[..., Any]
WAIT_SECONDS = 3600.0
REMOTE = "treewarden.jobs.gate.remote"
"""Loaded when a server is asked: no other gate needs what talks to one."""


def remote_options(command: Command) -> Command:
    """Add the options that ask a service."""
    for option in reversed(
        (
            click.option(
                "--server",
                metavar="URL",
                help="Ask a treewarden service whether a release may go out, and audit nothing here.",
            ),
            click.option(
                "--release", metavar="ID", help="The release that --server is asked about."
            ),
            click.option(
                "--token",
                metavar="TOKEN",
                envvar="TREEWARDEN_TOKEN",
                help="A token with the permission 'gate'; better as the variable TREEWARDEN_TOKEN.",
            ),
            click.option(
                "--wait",
                type=click.FloatRange(min=0),
                default=WAIT_SECONDS,
                show_default=True,
                metavar="SECONDS",
                help="How long --server is waited for; what is undecided then is undetermined.",
            ),
        )
    ):
        command = option(command)
    return command


def ask_server(
    server: str,
    release: str | None,
    token: str | None,
    wait: float,
    paths: tuple[Path, ...],
    progress: Progress,
) -> int:
    """Ask, print the answer, and return the exit code.

    Raises:
        click.UsageError: something is missing, or there is more than one file.
        RemoteError: there is no answer that can be relied on.
    """
    if not release:
        raise click.UsageError("--server needs --release ID; its page shows the line to copy")
    if not token:
        raise click.UsageError("--server needs a token: set TREEWARDEN_TOKEN, or say --token TOKEN")
    if paths[1:]:
        raise click.UsageError("with --server there is one file at most: the one that is published")
    file = paths[0] if paths else None
    remote = importlib.import_module(REMOTE)
    found = remote.ask(remote.Question(server, token, release, file), wait, progress.step)
    for line in found.lines:
        click.echo(printable(line))
    code: int = found.exit_code
    return code

"""The options of ``treewarden gate`` that ask a service in place of auditing here."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from treewarden.reports.document.words import printable
from treewarden.terminal.progress import ProgressPrinter

Command = Callable[..., Any]
WAIT_SECONDS = 600.0
DIGEST = re.compile(r"[0-9a-f]{64}")
REMOTE = "treewarden.jobs.gate.remote"
"""Loaded when a server is asked: no other gate needs what talks to one."""


def remote_options(command: Command) -> Command:
    """Add the options that ask a service."""
    for option in reversed(
        (
            click.option(
                "--server",
                metavar="URL",
                help="Ask this treewarden service for the verdict, and audit nothing here.",
            ),
            click.option(
                "--sha256",
                metavar="DIGEST",
                help="The SHA-256 of the file, for --server, if the file itself is not here.",
            ),
            click.option(
                "--release",
                metavar="ID",
                help="The release (one submission of a file) that --server is asked about.  "
                "[default: the newest one of the file]",
            ),
            click.option(
                "--token",
                metavar="TOKEN",
                envvar="TREEWARDEN_TOKEN",
                help="A token with the permission 'gate'. Prefer the environment variable TREEWARDEN_TOKEN.",
            ),
            click.option(
                "--wait",
                type=click.FloatRange(min=0),
                default=WAIT_SECONDS,
                show_default=True,
                metavar="SECONDS",
                help="How long to wait for a decision. Without one by then, the exit code is 3.",
            ),
        )
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class ServerQuestion:
    """What a service is asked; a field has the name of its parameter. Without a ``server`` none is asked."""

    server: str | None
    sha256: str | None
    release: str | None
    token: str | None
    wait: float
    paths: tuple[Path, ...]


def ask_server(question: ServerQuestion, progress: ProgressPrinter) -> int:
    """Ask, print the answer, and return the exit code.

    Raises:
        click.UsageError: something is missing, or it is not one file that is asked about.
        RemoteError: there is no answer that can be relied on.
    """
    paths, sha256 = question.paths, question.sha256
    if not question.token:
        raise click.UsageError("--server needs a token: set TREEWARDEN_TOKEN, or add --token TOKEN")
    if len(paths) + (sha256 is not None) != 1:
        problem = "--server needs the file that is published, and one alone: name it, or say --sha256 DIGEST"
        raise click.UsageError(problem)
    if sha256 is not None and not DIGEST.fullmatch(sha256):
        raise click.UsageError("--sha256 takes 64 letters 0-9 a-f, as sha256sum prints them")
    remote = importlib.import_module(REMOTE)
    request = remote.RemoteRequest(
        question.server,
        question.token,
        question.release or None,
        paths[0] if paths else None,
        sha256 or "",
    )
    found = remote.ask(request, question.wait, progress.step, say=progress.say)
    for line in found.lines:
        click.echo(printable(line))
    code: int = found.exit_code
    return code

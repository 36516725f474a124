"""The command ``treewarden``: finds the sub-command, and loads only what that one needs."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
from io import TextIOWrapper

import click

import treewarden
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.errors import near_text
from treewarden.terminal.command_help import explained
from treewarden.terminal.exits import INTERRUPTED, MEANINGS, OF_THE_SERVICE, PIPE_CLOSED, boundary

SECTIONS = {
    "Check what is published": {
        "audit": "Check whether a model may be published, and report why.",
        "inspect": "Show what model files contain; no table needed.",
        "gate": "Check all models of a repository in one run.",
        "attest": "Audit where the table is, and sign the verdict for others.",
        "verify": "Check a report by repeating its audit, or an attestation.",
    },
    "Change a model": {
        "repair": "Find the smallest change that makes a model pass.",
        "redact": "Remove what a file contains outside its trees.",
        "convert": "Write a model in another format, or draw it.",
    },
    "Publish a table": {
        "sanitize": "Write a publishable table that yields the same tree.",
        "anonymize": "Generalise a table to k-anonymity and l-diversity.",
        "synthesize": "Draw synthetic records from published trees.",
        "randomize": "Add noise to a table, and judge what the noise hides.",
        "reconstruct": "Estimate the distributions behind a noisy table.",
        "grow": "Train a tree from a noisy table.",
    },
    "Train a tree with other parties": {
        "vertical": "Simulate a federated training in one process.",
        "party": "Join a federated training as one party.",
        "miner": "Coordinate a federated training; sees only the tree's structure.",
    },
    "Policies and set-up": {
        "policy": "Read, explain, test and compare policies.",
        "list": "List formats, metrics, rules and built-in policies.",
        "demo": "See the whole workflow on real data.",
        "doctor": "Check the installation and the solvers.",
    },
    "Service": {
        "serve": "Run the web service.",
        "worker": "Run audits for a service on another machine.",
        "db": "Upgrade, back up, restore or check the service's database.",
    },
}
COMMANDS = {name: help_line for section in SECTIONS.values() for name, help_line in section.items()}
EPILOG = (
    "\b\nExamples:\n  treewarden demo\n  treewarden audit tree.pmml --data table.csv --sensitive diagnosis\n\n"
    "\b\nExit codes of an audit (--help of each command lists its own):\n"
) + "\n".join(f"  {code}  {meaning}" for code, meaning in MEANINGS.items())


class Commands(click.Group):
    """Loads a command's module when that command runs: start-up stays fast, heavy packages stay unread."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        room = "treewarden.service" if cmd_name in OF_THE_SERVICE else "treewarden"
        with gc_control.paused():  # what loading makes stays
            module = importlib.import_module(f"{room}.commands.{cmd_name}")
        command: click.Command = module.COMMAND
        return explained(cmd_name, command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; say which one is near where there is none of that name."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = near_text(name, COMMANDS)
            raise click.UsageError(f"no such command {name!r}{near}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(commands.items()))

    def invoke(self, ctx: click.Context) -> object:
        with boundary(ctx):
            return super().invoke(ctx)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(treewarden.__version__, prog_name="treewarden")
def cli() -> None:
    """Find out what tree models disclose about the people in their training data, before you publish them."""


def main() -> None:
    """Run the command line of this process."""
    interrupted: list[bool] = []
    atexit.register(_leave, interrupted)  # first in, last out: all else is tidied up by then
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(
                errors="backslashreplace"
            )  # a terminal without ≤ is no reason to stop
    try:
        cli()
    except SystemExit as stop:
        if stop.code == INTERRUPTED:
            interrupted.append(True)
        if (
            stop.code == PIPE_CLOSED
        ):  # the interpreter's own flush at exit must not complain about it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def _leave(interrupted: list[bool]) -> None:
    """End at once after an interrupt: Python would clean up for seconds, and may then die of the signal itself."""
    if interrupted:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(INTERRUPTED)

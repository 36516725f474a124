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
from treewarden.terminal.exits import INTERRUPTED, MEANINGS, OF_THE_SERVICE, PIPE_CLOSED, boundary

SECTIONS = {
    "Judge what is published": {
        "audit": "Judge what a published tree gives away, and report it.",
        "inspect": "Say what files publish; no table needed.",
        "gate": "Judge all models of a repository, in one run.",
        "attest": "Audit where the table is, and sign the verdict for others.",
        "verify": "Check a report by auditing again, or an attestation by its key.",
    },
    "Change a model": {
        "repair": "Change a tree that fails, audit it again, say what it costs.",
        "redact": "Remove what a file gives away beside its trees.",
        "convert": "Write a model in another format, or draw it.",
    },
    "Publish a table": {
        "sanitize": "Publish a table from which the same tree grows.",
        "anonymize": "Generalise a table until its groups are large and mixed enough.",
        "synthesize": "Draw pseudo records from published trees.",
        "randomize": "Hide a table's values behind noise, and judge what it leaves hidden.",
        "reconstruct": "Recover how values are distributed that noise hides.",
        "grow": "Grow a tree from a table whose values are hidden by noise.",
    },
    "Grow a tree with others": {
        "vertical": "Play parties who grow a tree together, each with its own columns.",
        "party": "Be one of these parties, on a machine of its own.",
        "miner": "Lead them; learns the tree's skeleton alone.",
    },
    "Policies and set-up": {
        "policy": "Read, explain, test and compare policies.",
        "list": "List formats, constraints, measures, rules, remedies, ...",
        "demo": "Go the whole way on real data.",
        "doctor": "Check the installation by solving a small problem with each solver.",
    },
    "Service": {
        "serve": "Run the service: pages, an API, and audits as jobs.",
        "worker": "Do audits for a service that runs elsewhere.",
        "db": "Upgrade, back up, restore or check the service's database.",
    },
}
COMMANDS = {name: help_line for section in SECTIONS.values() for name, help_line in section.items()}
EPILOG = "\b\nExit codes:\n" + "\n".join(
    f"  {code}  {meaning}" for code, meaning in MEANINGS.items()
)


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
        command.epilog = command.epilog or EPILOG
        return command

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
    """Privacy audits of decision trees that are about to be published."""


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

"""The command ``treewarden``: finds the sub-command, loads only what that one needs, and explains it.

``--help`` shows an example, the command's own exit codes and the usual options first.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper

import click

import treewarden
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.errors import near_text
from treewarden.terminal.exits import (
    FAIL,
    INTERRUPTED,
    MEANINGS,
    NO_AUDIT,
    OF_THE_SERVICE,
    PASS,
    PIPE_CLOSED,
    UNDETERMINED,
    USAGE,
    boundary,
)

Codes = dict[int, str]

STOPPED = "nothing was done. The message on stderr says why"
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "audit": ("treewarden audit tree.pmml --data table.csv --sensitive diagnosis",),
    "inspect": ("treewarden inspect tree.pmml --leaves",),
    "gate": ("treewarden gate --init", "treewarden gate --format sarif=treewarden.sarif"),
    "attest": (
        "treewarden attest --make-key release.key",
        "treewarden attest tree.pmml --data table.csv --key release.key -o tree.att.json",
    ),
    "verify": (
        "treewarden verify audit.json --model tree.pmml --data table.csv",
        "treewarden verify --model tree.pmml --attestation tree.att.json --key release.key.pub",
    ),
    "repair": ("treewarden repair tree.pmml --data table.csv -o tree-repaired.pmml",),
    "redact": ("treewarden redact tree.pmml -o tree-redacted.pmml",),
    "convert": ("treewarden convert model.json tree.pmml",),
    "sanitize": ("treewarden sanitize table.csv --target diagnosis --k 10 -o published",),
    "anonymize": ("treewarden anonymize table.csv --sensitive diagnosis --k 10 -o anonymous.csv",),
    "synthesize": ("treewarden synthesize tree.pmml --rows 1000 -o synthetic.csv",),
    "randomize": (
        "treewarden randomize table.csv --level 0.5 --noise gaussian --domains domains.toml "
        "-o noisy.csv --manifest noisy.json",
    ),
    "reconstruct": ("treewarden reconstruct noisy.csv --manifest noisy.json",),
    "grow": (
        "treewarden grow noisy.csv --manifest noisy.json --method byclass --target diagnosis "
        "-o tree.json",
    ),
    "vertical": (
        "treewarden vertical table.csv --target diagnosis --parties parties.toml -o session",
    ),
    "party": ("treewarden party --session session.toml --name clinic --data clinic.csv",),
    "miner": ("treewarden miner --session session.toml -o result",),
    "policy": ("treewarden policy explain standard", "treewarden policy diff standard strict"),
    "list": ("treewarden list formats",),
    "demo": ("treewarden demo --out demo-report",),
    "serve": ("treewarden serve --create-admin ann",),
    "worker": ("treewarden worker --slots 4",),
    "db": ("treewarden db upgrade", "treewarden db backup treewarden.backup"),
    "doctor": ("treewarden doctor",),
    "policy list": ("treewarden policy list",),
    "policy show": ("treewarden policy show standard",),
    "policy check": ("treewarden policy check ours.toml",),
    "policy test": ("treewarden policy test ours.toml",),
    "policy explain": ("treewarden policy explain standard",),
    "policy diff": ("treewarden policy diff --tighten-only ours.toml standard",),
    "policy schema": ("treewarden policy schema",),
    "policy import": ("treewarden policy import acro.yaml -o ours.toml",),
    "db upgrade": ("treewarden db upgrade",),
    "db backup": ("treewarden db backup treewarden.backup",),
    "db restore": ("treewarden db restore treewarden.backup",),
    "db check": ("treewarden db check",),
    "db create-admin": ("treewarden db create-admin ann",),
}
DONE: Codes = {
    PASS: "done",
    USAGE: MEANINGS[USAGE],
    NO_AUDIT: STOPPED,
    INTERRUPTED: MEANINGS[INTERRUPTED],
}
CODES: Mapping[str, Codes] = {
    "audit": MEANINGS,
    "attest": MEANINGS,
    "gate": MEANINGS
    | {
        PASS: "PASS: every model passes. With --changed-since, also if no model changed",
        FAIL: "FAIL: a model fails",
        UNDETERMINED: "UNDETERMINED: it is not decided whether a model passes. Treat it as a FAIL",
        NO_AUDIT: "a model could not be audited, or no audit was done. The output says why",
    },
    "repair": MEANINGS
    | {
        PASS: "PASS: the repaired model passes, or MODEL passes as it is",
        FAIL: "FAIL: no change passes",
        UNDETERMINED: "UNDETERMINED: no change passes, and the audit of MODEL could not be decided",
    },
    "verify": MEANINGS
    | {
        PASS: "everything agrees or is valid",
        FAIL: "something differs or is not valid",
        UNDETERMINED: "nothing differs, but something could not be compared",
        NO_AUDIT: "nothing was checked. The message on stderr says why",
    },
    "inspect": DONE | {PASS: "every file was read", NO_AUDIT: "a file could not be read"},
    "redact": DONE
    | {
        PASS: "everything that --kinds names was removed",
        FAIL: "something could not be removed. The message lists it",
    },
    "sanitize": DONE | {PASS: "written", FAIL: "no table meets the requirements"},
    "anonymize": DONE | {PASS: "written", FAIL: "no table meets the requirements"},
    "synthesize": DONE | {PASS: "written", FAIL: "no pruned tree passes the policy"},
    "randomize": MEANINGS,
    "vertical": MEANINGS | {PASS: "PASS: both trees pass; --check: the trees are equal"},
    "demo": DONE | {PASS: "the demo ran to its end"},
    "doctor": DONE | {PASS: "at least one solver works", NO_AUDIT: "no solver works"},
    "db": DONE | {FAIL: "check: something is wrong"},
    "policy": DONE
    | {
        FAIL: "with test: a case did not give the expected result. With diff --tighten-only: the new policy is looser"
    },
    "policy check": DONE | {PASS: "every policy is valid", NO_AUDIT: "a policy is not valid"},
    "policy test": DONE | {PASS: "every case came out as expected", FAIL: "a case differs"},
    "policy diff": DONE
    | {
        PASS: "compared; with --tighten-only: NEW is at least as strict as OLD",
        FAIL: "--tighten-only: a check of NEW is looser, or cannot be compared",
    },
    "db check": DONE | {PASS: "everything is in order", FAIL: "something is wrong"},
}
USUAL: Mapping[str, tuple[str, ...]] = {
    "audit": ("tables", "sensitive", "policy"),
    "attest": ("data", "sensitive", "policy"),
    "gate": ("config", "formats", "changed_since"),
    "repair": ("data", "sensitive", "output"),
    "verify": ("model", "data", "attestation"),
    "synthesize": ("rows", "output", "seed"),
    "sanitize": ("targets", "k", "output"),
    "anonymize": ("sensitive", "k", "output"),
    "randomize": ("level", "noise", "output"),
    "reconstruct": ("manifest", "output", "form"),
    "grow": ("manifest", "target", "output"),
}
"""The options that most runs need, which help shows first."""


def explained(name: str, command: click.Command) -> click.Command:
    """Return a command with its usual options first, and with its example and its exit codes below."""
    usual = USUAL.get(name, ())
    command.params.sort(key=lambda param: _place(param, usual))
    command.epilog = epilog(name)
    if isinstance(command, click.Group):
        for inner, subcommand in command.commands.items():
            subcommand.epilog = epilog(f"{name} {inner}")
    return command


def _place(param: click.Parameter, usual: tuple[str, ...]) -> int:
    if isinstance(param, click.Argument):
        return -1
    return usual.index(param.name) if param.name in usual else len(usual)


def epilog(name: str) -> str:
    """Return the example and the exit codes of a command, line by line."""
    examples = EXAMPLES.get(name, ())
    codes = CODES.get(name, DONE)
    parts = []
    if examples:
        parts.append(
            "\n".join(
                [
                    "\b",
                    "Examples:" if len(examples) > 1 else "Example:",
                    *(f"  {each}" for each in examples),
                ]
            )
        )
    parts.append(
        "\n".join(
            [
                "\b",
                "Exit codes:",
                *(f"  {code}  {meaning}" for code, meaning in sorted(codes.items())),
            ]
        )
    )
    return "\n\n".join(parts)


SECTIONS = {
    "Check what is published": {
        "audit": "Check whether a model may be published, and report why.",
        "inspect": "Show the contents of model files, without a table.",
        "gate": "Check all models of a repository in one run.",
        "attest": "Audit on the machine that holds the table, and sign the verdict for people without the table.",
        "verify": "Repeat the audit of a report, or check the signature of an attestation.",
    },
    "Change a model": {
        "repair": "Find the change that makes a model pass with the smallest loss of accuracy.",
        "redact": (
            "Remove what is not part of the trees, such as the author's name, file "
            "paths and sample records."
        ),
        "convert": "Write a model in another format, or draw it.",
    },
    "Publish a table": {
        "sanitize": "Generalise a table so that training on it still gives the same tree.",
        "anonymize": "Generalise a table to k-anonymity and l-diversity.",
        "synthesize": "Draw synthetic records from published trees.",
        "randomize": "Add noise to a table, and measure how well it protects people.",
        "reconstruct": "Estimate the distributions behind a noisy table.",
        "grow": "Train a tree from a noisy table.",
    },
    "Train a tree with other parties": {
        "vertical": (
            "Simulate vertical federated training, in which each party holds other columns."
        ),
        "party": "Take part in federated training as one party.",
        "miner": (
            "Run the coordinator (“miner”) of federated training. It sees only the "
            "tree's structure."
        ),
    },
    "Policies and set-up": {
        "policy": "Read, explain, test and compare policies.",
        "list": "List formats, metrics, rules and built-in policies.",
        "demo": "See the whole workflow on real data.",
        "doctor": "Check the installation and the solvers that compute the inference.",
    },
    "Service": {
        "serve": "Run the web service.",
        "worker": "Run, on this machine, audits for a service that runs elsewhere.",
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
            more = "" if near else "; for a list of the commands: treewarden --help"
            raise click.UsageError(f"no such command {name!r}{near}{more}", ctx)
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
    gc_control.collect_seldom()
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
    """End without looking for garbage, as all memory goes back at once.

    After an interrupt end on the spot: Python would clean up for seconds, and may then die of the signal itself.
    """
    gc_control.spare_all()
    if interrupted:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(INTERRUPTED)

"""What ``--help`` of a command shows beside its options: an example, its own exit codes, the usual options first."""

from __future__ import annotations

from collections.abc import Mapping

import click

from treewarden.terminal.exits import (
    FAIL,
    INTERRUPTED,
    MEANINGS,
    NO_AUDIT,
    PASS,
    UNDETERMINED,
    USAGE,
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
        PASS: "PASS: every model passes (--changed-since: or none changed)",
        FAIL: "FAIL: a model fails",
        UNDETERMINED: "UNDETERMINED: a model could not be decided. Treat it as a FAIL",
        NO_AUDIT: "a model could not be audited, or nothing was. The output says why",
    },
    "repair": MEANINGS
    | {
        PASS: "PASS: the repaired model passes, or MODEL passes as it is",
        FAIL: "FAIL: no change passes",
        UNDETERMINED: "UNDETERMINED: no change passes, and MODEL could not be decided",
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
        FAIL: "something could not be removed. The output lists it",
    },
    "sanitize": DONE | {PASS: "written", FAIL: "no table meets the requirements"},
    "anonymize": DONE | {PASS: "written", FAIL: "no table meets the requirements"},
    "synthesize": DONE | {PASS: "written", FAIL: "no pruned tree passes the policy"},
    "randomize": MEANINGS,
    "vertical": MEANINGS | {PASS: "PASS: both trees pass; --check: the trees are equal"},
    "demo": DONE | {PASS: "the demo ran to its end"},
    "doctor": DONE | {PASS: "at least one solver works", NO_AUDIT: "no solver works"},
    "db": DONE | {FAIL: "check: something is wrong"},
    "policy": DONE | {FAIL: "test: a case differs; diff --tighten-only: NEW is looser"},
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

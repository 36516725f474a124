"""``treewarden miner``: leads parties who grow a tree together, and has no data."""

from __future__ import annotations

from pathlib import Path

import click

from policies.pack import load_pack
from ppdm_models.vertical.session_file import read_session
from reports.document.words import counted, printable
from treewarden.commands._options import FORCE, QUIET, output_option
from treewarden.commands.party import CERTIFICATES, SESSION
from treewarden.jobs.vertical.leaving import files_of_miner, miner_files
from treewarden.jobs.vertical.meeting import audited_skeleton, led
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import check_into, check_no_input, write_into
from treewarden.terminal.progress import Progress


@click.command("miner")
@SESSION
@CERTIFICATES
@click.option(
    "--policy",
    metavar="PACK|FILE",
    default="standard",
    show_default=True,
    help="What the skeleton is audited by, as far as that can be done without the table.",
)
@output_option("The folder to write into.")
@FORCE
@QUIET
@click.pass_context
def miner_command(
    context: click.Context,
    session: Path,
    certificates: Path,
    policy: str,
    output: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Lead the parties of a session, and write the skeleton of the tree that plain ID3 grows on all their columns.

    The miner learns which party decides at each node and the classes of the leaves; no attribute, no value, no record.
    Written are tree.json, leakage.json, leakage.html, messages.jsonl, and classes.csv where the session classifies
    records. Nobody holds the joined table, so that the audit of the skeleton is never a pass here, and the exit code
    says only that the session came to its end.
    """
    meeting = read_session(session)
    pack = load_pack(policy)
    names = miner_files(meeting)
    check_into(output, names, force)
    check_no_input([output / each for each in names], (session,))
    progress = Progress(quiet)
    with progress.step("waiting for the parties, and growing"):
        found = led(meeting, certificates)
    audits = audited_skeleton(meeting, found, pack)
    write_into(output, files_of_miner(meeting, found, audits))
    skeleton = found.skeleton
    click.echo(
        f"{counted(skeleton.inner, 'inner node', 'inner nodes')}, {counted(skeleton.leaves, 'leaf', 'leaves')}, "
        f"depth {skeleton.depth}"
    )
    for name, each in audits:
        verdict = each.decision.verdict
        click.echo(
            f"{name}: {verdict.name}: by the policy {printable(each.decision.pack.name)}, without the table"
        )
    click.echo(f"written: {output}")
    context.exit(PASS)


COMMAND = miner_command

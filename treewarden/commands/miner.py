"""``treewarden miner``: leads parties who grow a tree together, and has no data."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import CERTIFICATES, FORCE, QUIET, SESSION, output_option
from treewarden.jobs.vertical.meeting import files_of_miner, led, miner_files
from treewarden.ppdm_models.methods.vertical.session import read_session
from treewarden.reports.document.words import counted
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import check_into, check_no_input, write_into
from treewarden.terminal.progress import ProgressPrinter


@click.command("miner")
@SESSION
@CERTIFICATES
@output_option("The output folder.")
@FORCE
@QUIET
@click.pass_context
def miner_command(
    context: click.Context,
    session: Path,
    certificates: Path,
    output: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Run the coordinator of federated training, and write the structure of the tree that the parties train.

    The coordinator learns which party decides at each node, and the classes of the leaves. It learns no column, no
    value and no record. The output folder has tree.json, leakage.json, leakage.html and messages.jsonl, and also
    classes.csv if the session classifies records. The tree is not audited, because no side has the joined table.
    """
    meeting = read_session(session)
    names = miner_files(meeting)
    check_into(output, names, force)
    check_no_input([output / name for name in names], (session,))
    progress = ProgressPrinter(quiet)
    with progress.step("waiting for the parties, and growing"):
        found = led(meeting, certificates)
    write_into(output, files_of_miner(meeting, found))
    skeleton = found.skeleton
    click.echo(
        f"{counted(skeleton.inner, 'inner node', 'inner nodes')}, {counted(skeleton.leaves, 'leaf', 'leaves')}, "
        f"depth {skeleton.depth}"
    )
    click.echo(
        "not audited: no side has the joined table; audit the tree before anybody publishes it"
    )
    click.echo(f"written: {output}")
    context.exit(PASS)


COMMAND = miner_command

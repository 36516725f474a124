"""``treewarden party``: one of the parties who grow a tree together, and the certificates for trials of it."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import CERTIFICATES, FILE, FORCE, QUIET, SESSION
from treewarden.jobs.vertical.columns import NumberHandling
from treewarden.jobs.vertical.meeting import (
    PARTY_FILES,
    PartyFiles,
    files_of_party,
    part_of,
    taken_part,
)
from treewarden.ppdm_models.methods.vertical.session import MINER_NAME, read_session
from treewarden.ppdm_models.methods.vertical.transport import make_certificates
from treewarden.reports.document.words import counted, printable
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import check_into, check_no_input, write_into
from treewarden.terminal.progress import ProgressPrinter


@click.command("party")
@SESSION
@click.option("--name", metavar="PARTY", help="Your name in the session file.")
@click.option("--data", type=FILE, help="The table with your columns.")
@click.option(
    "--id",
    "ids",
    metavar="COLUMN",
    help="The column that identifies a record at all parties.  [default: the order of records]",
)
@click.option(
    "--asked", "records", type=FILE, help="A table of the records to classify, with your columns."
)
@click.option(
    "--numbers",
    type=click.Choice([each.value for each in NumberHandling]),
    default=NumberHandling.BINS.value,
    show_default=True,
    help="What to do with numeric columns: divide them into five bins of similar size, or refuse them.",
)
@CERTIFICATES
@click.option(
    "--make-certificates",
    "is_making",
    is_flag=True,
    help="Make certificates and keys of all sides for a trial, and exit.",
)
@click.option("-o", "--output", type=FILE, help="The output folder.")
@FORCE
@QUIET
@click.pass_context
def party_command(  # one parameter per option
    context: click.Context,
    session: Path,
    name: str | None,
    data: Path | None,
    ids: str | None,
    records: Path | None,
    numbers: str,
    certificates: Path,
    is_making: bool,
    output: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Take part in federated training as one party, with your columns, and classify records with the tree.

    The other sides connect over TLS with certificates on both ends; none of them gets your columns. With -o, the folder
    contains the split conditions of the nodes at which you decide (notes.json), what your side learned (leakage.json,
    leakage.html) and the log (messages.jsonl).
    """
    meeting = read_session(session)
    if is_making:
        roles = (MINER_NAME, *meeting.session.parties)
        make_certificates(certificates, roles, force=force)
        click.echo(f"written: {certificates}; for trials only: its owner can act as every side")
        context.exit(PASS)
    if name is None or data is None:
        raise click.UsageError("give --name and --data; or --make-certificates")
    if output is not None:
        check_into(output, PARTY_FILES, force)
        check_no_input([output / each for each in PARTY_FILES], (session, data, records))
    progress = ProgressPrinter(quiet)
    party_files = PartyFiles(data, name, ids, records, NumberHandling(numbers))
    part = part_of(meeting, party_files, progress.step)
    with progress.step("waiting for the others, and growing"):
        party_record = taken_part(meeting, party_files, part, certificates)
    if output is not None:
        write_into(output, files_of_party(meeting, part, party_record))
    tested = len(set(party_record.notes.values()))
    click.echo(
        printable(
            f"{name}: decides at {counted(len(party_record.notes), 'node', 'nodes')} of the tree, "
            f"by {counted(tested, 'attribute', 'attributes')}"
        )
    )
    if party_record.asked is not None:
        click.echo(
            f"{counted(len(party_record.asked), 'record', 'records')} classified: the miner has the classes"
        )
    if output is not None:
        click.echo(f"written: {output}")
    context.exit(PASS)


COMMAND = party_command

"""``treewarden vertical``: all parties of a session and its miner, played from one table; or a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from treewarden.commands._common_options import (
    FILE,
    FORCE,
    QUIET,
    WholeNumber,
    on_a_cluster,
    options_record,
)
from treewarden.jobs.auditing import JudgedAudit
from treewarden.jobs.vertical.columns import NumberHandling
from treewarden.jobs.vertical.meeting import NOTES, TREE, checked, joined_folders
from treewarden.jobs.vertical.playing import (
    FULL_FILES,
    PlayRequest,
    SessionOutcome,
    audits_of,
    files_of,
    played,
)
from treewarden.policies.pack import load_pack
from treewarden.policies.verdict import worst
from treewarden.ppdm_models.methods.vertical.session import Mode, Parties, read_parties
from treewarden.reports.document.words import counted, printable
from treewarden.terminal.exits import EXITS, FAIL, PASS
from treewarden.terminal.outputs import (
    check_into,
    check_new,
    check_no_input,
    write_files,
    write_into,
)
from treewarden.terminal.progress import ProgressPrinter


@click.command("vertical")
@click.argument("places", metavar="TABLE|FOLDER...", type=FILE, nargs=-1, required=True)
@click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Compare the tree in FOLDER with the tree that ordinary ID3 trains on TABLE.",
)
@click.option(
    "--join",
    "is_join",
    is_flag=True,
    help="Join the folder of a miner with those of its parties.",
)
@click.option(
    "--target", metavar="COLUMN", help="The column that the tree predicts; one party has it."
)
@click.option("--parties", type=FILE, help="A TOML file with the columns of each party.")
@click.option(
    "--mode",
    type=click.Choice([each.value for each in Mode]),
    default=Mode.IDS.value,
    show_default=True,
    help="ids: each party sees which records reach a node. shared: no party does.",
)
@click.option(
    "--min-records",
    type=WholeNumber(min=2),
    default=2,
    show_default=True,
    help="Do not split nodes with fewer records than this.",
)
@click.option(
    "--numbers",
    type=click.Choice([each.value for each in NumberHandling]),
    default=NumberHandling.BINS.value,
    show_default=True,
    help="What to do with numeric columns: divide them into five bins of similar size, or refuse them.",
)
@click.option(
    "--policy",
    metavar="NAME|FILE",
    default="standard",
    show_default=True,
    help="The policy that both trees are audited with.",
)
@click.option("--no-audit", is_flag=True, help="Skip the audits. Do not publish the trees then.")
@click.option("-o", "--output", type=FILE, help="The output folder; with --join a file.")
@FORCE
@on_a_cluster
@QUIET
@click.pass_context
def vertical_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Simulate federated training on vertically split data: each party holds other columns of the same records.

    For a study of what each side learns. All parties and their coordinator (the miner) run in one process, which sees
    the whole table. The output folder has the tree with all columns (tree.json), the tree of the coordinator
    (skeleton.json), what each side learned (leakage.json, leakage.html) and all messages (messages.jsonl). Parties that
    must not share their columns use 'treewarden party' and 'treewarden miner' instead.

    --check TABLE FOLDER compares the tree of a session with the tree that ordinary ID3 trains on TABLE. For the folder
    of a miner, add --parties.

    --join FOLDER... joins the folder of a miner with those of all its parties, and writes the tree to -o. That tree is
    not audited.
    """
    progress = ProgressPrinter(context.params["quiet"])
    options = options_record(VerticalOptions, context)
    if options.is_check and options.is_join:
        raise click.UsageError("give --check or --join, not both")
    if options.is_join:
        _join(options)
        context.exit(PASS)
    parties = None if options.parties is None else read_parties(options.parties)
    if options.is_check:
        context.exit(PASS if _check(options, parties, progress) else FAIL)
    play_request, output = _request(options, parties)
    pack = load_pack(options.policy)
    check_into(output, FULL_FILES, options.force)
    inputs = (play_request.table, options.parties, Path(options.policy))
    check_no_input([output / name for name in FULL_FILES], inputs)
    outcome = played(play_request, progress.step)
    audits = () if options.no_audit else audits_of(outcome, pack, progress.step)
    write_into(output, files_of(outcome, audits, play_request.table.stem))
    _show_session(outcome)
    _show_audits(audits)
    click.echo(f"written: {output}")
    context.exit(EXITS[worst(judged_audit.decision.verdict for _, judged_audit in audits)])


@dataclass(frozen=True, slots=True)
class VerticalOptions:
    """What the command is asked for; a field has the name of its parameter."""

    places: tuple[Path, ...]
    is_check: bool
    is_join: bool
    target: str | None
    parties: Path | None
    mode: str
    min_records: int
    numbers: str
    policy: str
    no_audit: bool
    output: Path | None
    force: bool


def _join(options: VerticalOptions) -> None:
    """Join the skeleton in a miner's folder with the notes in those of the parties."""
    folders, output = options.places, options.output
    is_more = options.target is not None or options.parties is not None
    if len(folders) < 2 or output is None or is_more:
        problem = "--join takes a miner's FOLDER, those of parties, and -o FILE alone"
        raise click.UsageError(problem)
    check_new(output, options.force)
    sides = [folder / name for folder in folders for name in (TREE, NOTES)]
    check_no_input([output], sides)
    tree, data = joined_folders(folders[0], folders[1:])
    write_files({output: data})
    click.echo(
        f"{counted(len(tree.nodes), 'node', 'nodes')}, by {counted(len(tree.features), 'attribute', 'attributes')}"
    )
    click.echo("not audited: audit it on the joined table before anybody publishes it")
    click.echo(f"written: {output}")


def _check(options: VerticalOptions, parties: Parties | None, progress: ProgressPrinter) -> bool:
    """Return whether the tree in a folder is the one of plain ID3, having said so."""
    if len(options.places) != 2 or options.output is not None or options.target is not None:
        raise click.UsageError("--check needs TABLE and FOLDER; leave out --target and -o")
    with progress.step("growing plain ID3"):
        comparison = checked(*options.places, parties)
    sizes = f"{comparison.found:,} nodes, plain ID3 has {comparison.expected:,}"
    is_it = "equals" if comparison.is_same else "does not equal"
    click.echo(f"the {comparison.of} {is_it} plain ID3 on the joined table: {sizes}")
    return comparison.is_same


def _request(options: VerticalOptions, parties: Parties | None) -> tuple[PlayRequest, Path]:
    """Return what is to be played, and the folder that it is written into."""
    table, *more = options.places
    source, target, output = options.parties, options.target, options.output
    if more or parties is None or source is None or target is None or output is None:
        ways = "--check TABLE FOLDER; or --join FOLDER... -o FILE"
        raise click.UsageError(f"give TABLE, --target, --parties and -o; or {ways}")
    play_request = PlayRequest(
        table=table,
        parties=parties,
        source=source.name,
        target=target,
        mode=Mode(options.mode),
        min_records=options.min_records,
        numbers=NumberHandling(options.numbers),
    )
    return play_request, output


def _show_session(outcome: SessionOutcome) -> None:
    """Print how large the trees and the traffic are."""
    skeleton, session = outcome.played.skeleton, outcome.joined.session
    traffic = outcome.played.log.entries
    click.echo(
        f"{counted(skeleton.inner, 'inner node', 'inner nodes')}, {counted(skeleton.leaves, 'leaf', 'leaves')}, "
        f"depth {skeleton.depth}, of {counted(session.records, 'record', 'records')} "
        f"and {len(session.parties)} parties"
    )
    size = sum(log_entry.size for log_entry in traffic)
    click.echo(f"{len(traffic):,} messages, {size:,} bytes, mode {session.mode.value}")
    click.echo("keys were compared by an ideal box: this protects nobody")


def _show_audits(audits: Sequence[tuple[str, JudgedAudit]]) -> None:
    """Print the verdict on each tree."""
    for name, judged_audit in audits:
        verdict = judged_audit.decision.verdict
        click.echo(
            f"{name}: {verdict.name}: by the policy {printable(judged_audit.decision.pack.name)}"
        )
    if not audits:
        click.echo("not audited: do not publish the tree")


COMMAND = vertical_command

"""``treewarden sanitize``: how much of a table can be published beside its tree?"""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import (
    FILE,
    FORCE,
    QUIET,
    K,
    L,
    names_of,
    output_option,
    qi_option,
)
from treewarden.jobs.memory_check import WORTH_SAYING, check_held, held_of
from treewarden.jobs.sanitizing import (
    SanitizeRequest,
    TableToSanitise,
    grown_from,
    manifest,
    read_subject,
    sanitised,
    table_bytes,
)
from treewarden.policies.pack import load_pack
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.learn.splits import CRITERIA, MOST_SET_VALUES
from treewarden.ppdm_models.methods.tpp.sanitise import SanitisedTable, SizeStep
from treewarden.terminal.exits import FAIL, PASS
from treewarden.terminal.outputs import check_folder, check_no_input, write_files
from treewarden.terminal.progress import ProgressPrinter

TOO_LARGE = (
    "write the needed columns alone into a file, sanitise a sample of the records, or generalise the table by "
    "'treewarden anonymize', which holds distinct rows only"
)
SUFFIXES = {"treewarden_json": "json", "pmml": "pmml"}


@click.command("sanitize")
@click.argument("table", type=FILE)
@click.option(
    "--target",
    "targets",
    metavar="COLUMN",
    multiple=True,
    required=True,
    help="What the tree predicts; repeat it for several trees of one table.",
)
@click.option(
    "--sensitive", metavar="COLUMN", help="Whose values --l protects.  [default: the target]"
)
@qi_option("The quasi-identifiers, which the tree is grown on. Default: all other columns.")
@K
@L
@click.option(
    "--policy", metavar="PACK|FILE", help="Its clauses about leaves hold for every group too."
)
@click.option(
    "--learner",
    type=click.Choice(["canonical", "scikit"]),
    default="canonical",
    show_default=True,
    help="Who grows the tree: always the same one, or scikit-learn under several seeds.",
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    help="How splits are compared.  [default: by target]",
)
@click.option(
    "--multiway", is_flag=True, help="One branch per category; else one against the rest."
)
@click.option(
    "--sets",
    is_flag=True,
    help=f"Part categories into any two sets, where a column has at most {MOST_SET_VALUES}.",
)
@click.option("--weights", metavar="COLUMN", help="Refused: trees are grown by counting rows.")
@click.option(
    "--sampling-weights", metavar="COLUMN", help="Refused: trees are grown without weights."
)
@click.option("--min-leaf", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--max-splits", type=click.IntRange(0, 10_000), default=50, show_default=True)
@click.option(
    "--as-published", is_flag=True, help="Step 3 as printed; the tree may not grow again."
)
@click.option(
    "--tree-format", type=click.Choice(list(SUFFIXES)), default="treewarden_json", show_default=True
)
@output_option("The folder for the three kinds of files.")
@FORCE
@QUIET
@click.pass_context
def sanitize_command(  # one parameter per option
    context: click.Context,
    table: Path,
    targets: tuple[str, ...],
    sensitive: str | None,
    qi: tuple[str, ...],
    k: int | None,
    diversity: float | None,
    policy: str | None,
    learner: str,
    criterion: str | None,
    multiway: bool,
    sets: bool,
    weights: str | None,
    sampling_weights: str | None,
    min_leaf: int,
    max_splits: int,
    as_published: bool,
    tree_format: str,
    output: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Generalise TABLE so far that the same tree still grows from it, and write both.

    The tree is expanded one split at a time while every group of records with equal quasi-identifiers is large
    and mixed enough, and the tree grows again from the table as written. Written are table.csv, tree.json and
    manifest.json, which says how to grow the tree again. Where not even one leaf will do, nothing is (exit code 1).

    All records of TABLE are held in memory, as trees are grown on them, about 64 bytes for each cell. Where that
    is too much, the command says so before it reads them (exit code 4).
    """
    if k is None and diversity is None and policy is None:
        raise click.UsageError("say what is demanded of the groups: --k, --l or --policy")
    if weights is not None:
        raise click.UsageError(
            "--weights: each row is one record here; write a row as often as its weight says, and leave the column out"
        )
    if sampling_weights is not None:
        raise click.UsageError(
            "--sampling-weights: trees are grown here without weights; leave it out if such a tree will do"
        )
    if multiway and sets:
        raise click.UsageError("--multiway and --sets are two ways to split; choose one")
    targets = tuple(dict.fromkeys(targets))
    sanitize_request = SanitizeRequest(
        table,
        targets,
        sensitive or targets[0],
        names_of(qi),
        k,
        diversity,
        load_pack(policy) if policy else None,
        learner,
        criterion,
        multiway,
        sets,
        min_leaf,
        max_splits,
        as_published,
    )
    paths = _places(output, len(targets), SUFFIXES[tree_format])
    check_folder(output)
    check_no_input(paths, (table, Path(policy) if policy else None))
    there = next((path for path in paths if path.exists()), None)
    if there is not None and not force:
        raise OutputError(str(there), "is there already; choose another folder, or say --force")

    progress = ProgressPrinter(quiet)
    with progress.step(f"counting the records of {table.name}"):
        whole_table = held_of(table)
        check_held(whole_table, TOO_LARGE)
    if whole_table.bytes >= WORTH_SAYING:
        progress.say(whole_table.words)
    with progress.step(f"reading {table.name}"):
        subject = read_subject(sanitize_request)
    with progress.step("sanitising"):
        found = sanitised(subject, lambda step: click.echo(_line(step)))
    click.echo(f"stopped: {found.stopped}")
    if found.best is None:
        click.echo("nothing is written: no table of these columns meets what is demanded")
        context.exit(FAIL)
    with progress.step("writing, and growing the trees again from what is written"):
        holds, files = _files(subject, found.best, paths, tree_format)
    write_files(files)
    click.echo(f"written: {_line(found.best.step)}")
    context.exit(PASS if holds else FAIL)


def _places(folder: Path, trees: int, suffix: str) -> tuple[Path, ...]:
    numbers = [""] if trees == 1 else [f"-{number}" for number in range(1, trees + 1)]
    names = ["table.csv", *(f"tree{number}.{suffix}" for number in numbers), "manifest.json"]
    return tuple(folder / name for name in names)


def _files(
    subject: TableToSanitise, best: SanitisedTable, paths: tuple[Path, ...], tree_format: str
) -> tuple[bool, dict[Path, bytes]]:
    """Return whether the trees grow again, and every file."""
    writer = writers()[tree_format]
    data = table_bytes(subject, best)
    broken_conditions = grown_from(data, subject, best)
    trees = [writer.write(tree) for tree in best.trees]
    files = dict(zip(paths[:-1], [data, *trees], strict=True))
    named = {path.name: written for path, written in files.items()}
    files[paths[-1]] = manifest(subject, best, named, broken_conditions)
    if broken_conditions and not subject.wanted.as_published:
        problem = (
            f"the tree does not grow again from the table as written ({broken_conditions[0].words})"
        )
        raise OutputError(str(paths[0]), f"{problem}; choose the canonical learner or fewer leaves")
    return not (broken_conditions or best.step.problems), files


def _line(step: SizeStep) -> str:
    leaves = " and ".join(str(count) for count in step.leaves)
    said = f"{leaves} leaves: k = {step.k:,}, {step.groups:,} groups, most frequent value {step.largest_share:.1%}"
    if step.lack:
        return f"{said}; {step.lack}"
    return (
        f"{said}; {step.problems[0].condition}: {step.problems[0].words}" if step.problems else said
    )


COMMAND = sanitize_command

"""``treewarden sanitize``: how much of a table can be published beside its tree?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from treewarden.commands._common_options import (
    FILE,
    FORCE,
    QUIET,
    K,
    L,
    WholeNumber,
    names_of,
    options_record,
    output_option,
    qi_option,
)
from treewarden.jobs.tables.sanitizing import (
    SanitizeRequest,
    TableToSanitise,
    grown_from,
    manifest,
    read_subject,
    sanitised,
    table_bytes,
)
from treewarden.jobs.tables.whole_table import WORTH_SAYING, check_held, held_of
from treewarden.policies.pack import load_pack
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.load import WRITTEN_SUFFIXES, writers
from treewarden.ppdm_models.learn.splits import CRITERIA, MOST_SET_VALUES
from treewarden.ppdm_models.methods.tpp.sanitise import SanitisedTable, SizeStep
from treewarden.terminal.exits import FAIL, PASS
from treewarden.terminal.outputs import check_folder, check_no_input, write_files
from treewarden.terminal.progress import ProgressPrinter

TOO_LARGE = (
    "write only the needed columns into a file, sanitise a sample of the records, or "
    "generalise the table with 'treewarden anonymize', which keeps only distinct rows in "
    "memory"
)


@click.command("sanitize")
@click.argument("table", type=FILE)
@click.option(
    "--target",
    "targets",
    metavar="COLUMN",
    multiple=True,
    required=True,
    help="The column that the tree predicts. Repeat it for several trees.",
)
@click.option(
    "--sensitive", metavar="COLUMN", help="The column that --l protects.  [default: the target]"
)
@qi_option("The quasi-identifiers, which the tree is trained on.  [default: all other columns]")
@K
@L
@click.option(
    "--policy",
    metavar="NAME|FILE",
    help="Every group also meets this policy's checks on leaves.",
)
@click.option(
    "--learner",
    type=click.Choice(["canonical", "scikit"]),
    default="canonical",
    show_default=True,
    help="What trains the tree: a deterministic trainer, or scikit-learn with several seeds.",
)
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    help="The split criterion.  [default: by target]",
)
@click.option(
    "--multiway",
    is_flag=True,
    help="Split into one branch per category, instead of one category against the rest.",
)
@click.option(
    "--sets",
    is_flag=True,
    help=f"Split categories into any two sets, for columns with at most {MOST_SET_VALUES} values.",
)
@click.option(
    "--weights", metavar="COLUMN", help="Not supported: trees are trained by counting rows."
)
@click.option(
    "--sampling-weights", metavar="COLUMN", help="Not supported: trees are trained without weights."
)
@click.option(
    "--min-leaf",
    type=WholeNumber(min=1),
    default=1,
    show_default=True,
    help="The fewest records in a leaf.",
)
@click.option(
    "--max-splits",
    type=WholeNumber(0, 10_000),
    default=50,
    show_default=True,
    help="The largest number of splits.",
)
@click.option(
    "--as-published",
    is_flag=True,
    help="Expert: follow step 3 of the method literally, as printed in its paper (see docs/sanitize.md). Training on "
    "the written table can then give a different tree.",
)
@click.option(
    "--tree-format",
    type=click.Choice(sorted(WRITTEN_SUFFIXES, reverse=True)),
    default="treewarden_json",
    show_default=True,
    help="The format of the tree.",
)
@output_option("The output folder.")
@FORCE
@QUIET
@click.pass_context
def sanitize_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Generalise a table as little as possible while training on it still yields the same tree. Write both.

    For owners of a table who want to publish it with its tree. The tree is expanded one split at a time, as long as
    every group of records with equal quasi-identifiers meets --k, --l and --policy. The output folder has table.csv,
    tree.json and manifest.json, which describes how to train the tree again.

    All records are held in memory, about 64 bytes per cell. If memory does not suffice, the command stops before it
    reads them.
    """
    sanitize_request = _request(context.params)
    outputs = options_record(SanitizeOutputs, context)
    paths = outputs.check(sanitize_request, context.params["policy"])
    progress = ProgressPrinter(context.params["quiet"])
    subject = _read_subject(sanitize_request, progress)
    with progress.step("sanitising"):
        found = sanitised(subject, lambda step: click.echo(_line(step)))
    click.echo(f"stopped: {found.stopped}")
    if found.best is None:
        click.echo("nothing is written: no table of these columns meets the requirements")
        context.exit(FAIL)
    with progress.step("writing, and growing the trees again from what is written"):
        holds, files = _files(subject, found.best, paths, outputs.tree_format)
    write_files(files)
    click.echo(f"written: {_line(found.best.step)}")
    context.exit(PASS if holds else FAIL)


def _request(options: Mapping[str, Any]) -> SanitizeRequest:
    """Return what the parameters of the command ask for.

    Raises:
        click.UsageError: nothing is demanded of the groups, or something that no tree here is grown with.
        PolicyError: the policy cannot be read.
    """
    if options["k"] is None and options["diversity"] is None and options["policy"] is None:
        raise click.UsageError("add a requirement for the groups: --k, --l or --policy")
    if options["weights"] is not None:
        raise click.UsageError(
            "sanitize does not support --weights; repeat each row as often as its weight says, remove the weight "
            "column from the table, and leave out --weights"
        )
    if options["sampling_weights"] is not None:
        raise click.UsageError(
            "sanitize does not support --sampling-weights, because it trains its trees without weights; leave out "
            "--sampling-weights if you can use such a tree"
        )
    if options["multiway"] and options["sets"]:
        raise click.UsageError("--multiway and --sets are two ways to split; choose one")
    targets = tuple(dict.fromkeys(options["targets"]))
    return SanitizeRequest(
        table=options["table"],
        targets=targets,
        sensitive=options["sensitive"] or targets[0],
        qi=names_of(options["qi"]),
        k=options["k"],
        l=options["diversity"],
        pack=load_pack(options["policy"]) if options["policy"] else None,
        learner=options["learner"],
        criterion=options["criterion"],
        multiway=options["multiway"],
        sets=options["sets"],
        min_leaf=options["min_leaf"],
        max_splits=options["max_splits"],
        as_published=options["as_published"],
    )


@dataclass(frozen=True, slots=True)
class SanitizeOutputs:
    """Where the command writes, and what form trees have; a field has the name of its parameter."""

    output: Path
    force: bool
    tree_format: str

    def check(self, sanitize_request: SanitizeRequest, policy: str | None) -> tuple[Path, ...]:
        """Return the paths of the table, its trees and the manifest, once it is clear that they can be written.

        Raises:
            OutputError: one cannot be, is an input, or is there already.
        """
        paths = _places(
            self.output, len(sanitize_request.targets), WRITTEN_SUFFIXES[self.tree_format]
        )
        check_folder(self.output, "-o")
        check_no_input(paths, (sanitize_request.table, Path(policy) if policy else None))
        there = next((path for path in paths if path.exists()), None)
        if there is not None and not self.force:
            raise OutputError(str(there), "already exists; choose another folder, or add --force")
        return paths


def _read_subject(sanitize_request: SanitizeRequest, progress: ProgressPrinter) -> TableToSanitise:
    """Read the table, where there is memory for it."""
    table = sanitize_request.table
    with progress.step(f"counting the records of {table.name}"):
        whole_table = held_of(table)
        check_held(whole_table, TOO_LARGE)
    if whole_table.bytes >= WORTH_SAYING:
        progress.say(whole_table.words)
    with progress.step(f"reading {table.name}"):
        return read_subject(sanitize_request)


def _places(folder: Path, trees: int, suffix: str) -> tuple[Path, ...]:
    numbers = [""] if trees == 1 else [f"-{number}" for number in range(1, trees + 1)]
    names = ["table.csv", *(f"tree{number}{suffix}" for number in numbers), "manifest.json"]
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
    said = f"{step.size}: k = {step.k:,}, {step.groups:,} groups, most frequent value {step.largest_share:.1%}"
    if step.lack:
        return f"{said}; {step.lack}"
    return (
        f"{said}; {step.problems[0].condition}: {step.problems[0].words}" if step.problems else said
    )


COMMAND = sanitize_command

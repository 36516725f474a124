"""``treewarden grow``: a tree from records whose values are hidden by noise."""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import FILE, FORCE, QUIET, names_of, output_option
from treewarden.jobs.randomised.growing import (
    GrownNoisyTree,
    GrowRequest,
    RandomisedTable,
    TestResult,
    grown,
    tested,
    unused_words,
)
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.convert import MODELS, SUFFIXES, converted
from treewarden.ppdm_models.methods.randomised.learning import Method
from treewarden.ppdm_models.methods.randomised.reconstruction import Kernel
from treewarden.reports.document.words import printable
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import (
    check_ending,
    check_file,
    check_new,
    check_no_input,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter


@click.command("grow")
@click.argument("table", type=FILE)
@click.option(
    "--manifest",
    type=FILE,
    required=True,
    help="The manifest that 'treewarden randomize' wrote with TABLE.",
)
@click.option(
    "--method",
    type=click.Choice([each.value for each in Method]),
    required=True,
    help="Estimate the distribution of each column once, once per class, or per class at each node.",
)
@click.option(
    "--target", metavar="COLUMN", required=True, help="The column that the tree predicts."
)
@click.option(
    "--columns",
    metavar="COLUMN[,COLUMN...]",
    multiple=True,
    help="The columns to train on.  [default: all hidden columns, and unchanged numeric columns]",
)
@click.option(
    "--kernel",
    type=click.Choice([each.value for each in Kernel]),
    default=Kernel.MIDPOINT.value,
    show_default=True,
    help="Expert: compute the probability that noise moves a value to another interval at the midpoints, or exactly.",
)
@click.option(
    "--test", type=FILE, help="A table of true values: print the accuracy of the tree on it."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(MODELS),
    help="The format of the tree.  [default: by suffix]",
)
@output_option("The file for the tree: .pmml, .xml or .json.")
@FORCE
@QUIET
@click.pass_context
def grow_command(  # one parameter per option
    context: click.Context,
    table: Path,
    manifest: Path,
    method: str,
    target: str,
    columns: tuple[str, ...],
    kernel: str,
    test: Path | None,
    form: str | None,
    output: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Train a decision tree from a table that 'treewarden randomize' wrote, for analysts of the noisy table.

    Distributions are estimated from the noisy values, and the tree is trained on them. The tree classifies true records
    like any other tree, and can be audited, repaired and converted. Its nodes contain predicted classes, but no counts.
    """
    names = names_of(columns, "--columns")
    if columns and not names:
        raise click.UsageError("--columns names no column; leave it out for all that can be used")
    form = form or _form_of(output)
    check_file(output)
    check_no_input((output,), (table, manifest, test))
    check_new(output, force)
    check_ending(output, form, [ending for ending, of in SUFFIXES.items() if of == form])
    if test is not None:
        check_is_another(test, table)
    grow_request = GrowRequest(table, manifest, target, Method(method), names, Kernel(kernel))
    progress = ProgressPrinter(quiet)
    grown_tree, subject = grown(grow_request, progress.step)
    result = None
    if test is not None:
        with progress.step(f"testing on {test.name}"):
            result = tested(grown_tree.tree, subject.records.attributes, test)
    write_files({output: converted(grown_tree.tree, form)})
    for line in _lines(grown_tree, subject):
        click.echo(printable(line))
    if test is not None and result is not None:
        click.echo(printable(_test_line(test.name, result)))
    context.exit(PASS)


def check_is_another(test: Path, table: Path) -> None:
    """Check that a tree is not tested on the noisy records that it is grown from.

    Raises:
        OutputError: it would be.
    """
    if test.exists() and table.exists() and test.samefile(table):
        raise OutputError(
            str(test), "is the noisy table itself; test on a true one, or leave it out"
        )


def _form_of(output: Path) -> str:
    form = SUFFIXES.get(output.suffix.lower())
    if form not in MODELS:
        known = ", ".join(suffix for suffix, form in SUFFIXES.items() if form in MODELS)
        raise OutputError(str(output), f"unknown suffix; use {known}, or add --format")
    return form


def _lines(noisy_tree: GrownNoisyTree, subject: RandomisedTable) -> list[str]:
    tree, method = noisy_tree.tree, subject.wanted.method
    leaves = len(tree.leaves)
    told = f"{leaves} {'leaf' if leaves == 1 else 'leaves'}, grown by {method} from {noisy_tree.records:,} records"
    lines = [f"{told} on {len(tree.features)} columns"]
    if noisy_tree.left_out:
        lines.append(f"left out: {noisy_tree.left_out:,} records that lack a value")
    if subject.unused:
        lines.append(f"not used: {unused_words(subject)}")
    lines.append(
        "the nodes contain predicted classes, but no counts, because the records were noisy"
    )
    return lines


def _test_line(name: str, result: TestResult) -> str:
    told = f"{name}: {result.right / result.records:.1%} of {result.records:,} records right"
    told += f"; the most frequent class alone: {result.most_frequent / result.records:.1%}"
    more = {
        "wrong, as the tree does not know their class": result.unknown,
        "wrong, as they lack a value that is asked for": result.unanswered,
        "values outside their domain, taken for the nearest": result.outside,
        "not counted, as they have no class": result.unlabelled,
    }
    return told + "".join(f"; {count:,} {what}" for what, count in more.items() if count)


COMMAND = grow_command

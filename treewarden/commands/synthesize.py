"""``treewarden synthesize``: records that look like those behind published trees, drawn from the trees alone."""

from __future__ import annotations

import time
from pathlib import Path

import click

from treewarden.audit.population.population import build_population
from treewarden.commands._common_options import FILE, FORCE, QUIET, WholeNumber, output_option
from treewarden.jobs.tables.synthesizing import (
    check_suffix,
    domains_from,
    shares_from,
    write_chunks,
)
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import NoProposal, remedies
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.load import read_tree
from treewarden.ppdm_models.methods.synthesis.pgen import (
    ClassSource,
    DrawPlan,
    NumberDraw,
    basegen,
    pgen,
)
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.terminal.exits import FAIL, PASS
from treewarden.terminal.outputs import check_file, check_no_input
from treewarden.terminal.progress import ProgressPrinter


@click.command("synthesize")
@click.argument("models", nargs=-1, required=True, type=FILE, metavar="MODEL...")
@click.option("--rows", type=WholeNumber(min=1), help="The number of records.")
@click.option(
    "--as-published", is_flag=True, help="Draw as many records in each leaf as the file states."
)
@click.option(
    "--method",
    type=click.Choice(["pgen", "basegen"]),
    default="pgen",
    show_default=True,
    help="pgen: draw the records leaf by leaf. basegen: draw them uniformly from the whole range of the columns, and "
    "let the trees label them.",
)
@click.option(
    "--numbers",
    type=click.Choice([one.value for one in NumberDraw]),
    default=NumberDraw.UNIFORM.value,
    show_default=True,
    help="How a number is chosen from the interval of its leaf.",
)
@click.option(
    "--classes",
    type=click.Choice([one.value for one in ClassSource]),
    default=ClassSource.HITS.value,
    show_default=True,
    help="What a class is drawn from: correct and wrong predictions, or all class counts.",
)
@click.option(
    "--misses",
    metavar="CLASS=WEIGHT",
    multiple=True,
    help="For records that the tree predicts wrongly: how often CLASS is drawn, relative to the other classes. May be "
    "repeated.  [default: equal]",
)
@click.option(
    "--domain",
    "domains",
    metavar="NAME=LOW:HIGH|NAME=VALUE,...",
    multiple=True,
    help="The values of a column. May be repeated.  [default: what the trees contain]",
)
@click.option(
    "--policy",
    metavar="NAME|FILE",
    help="First prune the tree until its leaves pass this policy (the method PPGEN).",
)
@click.option("--data", type=FILE, help="The training table, for --policy.")
@click.option("--sensitive", metavar="COLUMN", help="The sensitive column, for --policy.")
@click.option(
    "--seed", type=WholeNumber(min=0), default=0, show_default=True, help="The random seed."
)
@output_option("The output file: .csv or .parquet.")
@FORCE
@QUIET
@click.pass_context
def synthesize_command(  # one parameter per option
    context: click.Context,
    models: tuple[Path, ...],
    rows: int | None,
    as_published: bool,
    method: str,
    numbers: str,
    classes: str,
    misses: tuple[str, ...],
    domains: tuple[str, ...],
    policy: str | None,
    data: Path | None,
    sensitive: str | None,
    seed: int,
    output: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Draw synthetic records from published trees, for owners of a model. No real record is used.

    By default, --rows is divided among the leaves in proportion to the numbers of records that the file states. With
    --as-published, each leaf gets exactly that number. In each record, the columns that the leaf's path tests get
    values that satisfy these tests. The class is drawn from the leaf's counts of correct and wrong predictions. All
    other columns get uniform random values.

    With --policy, --data and --sensitive, the tree is first pruned until it passes. Only this needs the real table,
    which is held in memory. Synthetic records are written piece by piece, so memory does not grow with --rows.
    """
    if (rows is None) == (not as_published):
        raise click.UsageError(
            "add the number of records: --rows N or --as-published"
            if rows is None
            else "--rows cannot be combined with --as-published; leave out one of them"
        )
    if policy is not None and (data is None or len(models) > 1):
        raise click.UsageError("--policy needs --data and a single MODEL")
    check_suffix(output)
    check_file(output)
    check_no_input([output], (*models, data))
    if output.exists() and not force:
        raise OutputError(str(output), "already exists; choose another name, or add --force")
    plan = DrawPlan(
        rows,
        seed,
        NumberDraw(numbers),
        ClassSource(classes),
        shares_from(misses),
        domains_from(domains),
    )
    progress = ProgressPrinter(quiet)
    with progress.step("reading"):
        trees = [read_tree(path) for path in models]
        if policy is not None and data is not None:
            pruned = _pruned(trees[0], data, sensitive, policy)
            if isinstance(pruned, str):
                click.echo(f"nothing is written: {pruned}")
                context.exit(FAIL)
            trees = [pruned]
    began = time.monotonic()
    with progress.step("drawing"):
        drawn = (pgen if method == "pgen" else basegen)(trees, plan)
        count = write_chunks(output, drawn)
    progress.say(f"written: {output}, {count:,} records in {time.monotonic() - began:.1f} s")
    context.exit(PASS)


def _pruned(tree: Tree, data: Path, sensitive: str | None, policy: str) -> Tree | str:
    """Return the tree pruned by algorithm APT until its leaves pass a policy, or why that leaves none."""
    people = build_population(tree, read_table(data), sensitive=sensitive)
    proposals = list(remedies()["prune_apt"].propose(tree, people, load_pack(policy)))
    if not proposals:
        return tree
    found = proposals[0]
    if isinstance(found, NoProposal):
        return found.reason
    assert isinstance(found.model, Tree)
    return found.model


COMMAND = synthesize_command

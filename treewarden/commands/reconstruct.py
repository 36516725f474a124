"""``treewarden reconstruct``: how are values distributed that noise hides?"""

from __future__ import annotations

import math
from pathlib import Path

import click

from treewarden.commands._common_options import FILE, FORCE, QUIET, Number, names_of
from treewarden.jobs.randomised.reconstructing import ReconstructRequest, reconstructed
from treewarden.ppdm_models.methods.randomised.reconstruction import STOP, Kernel
from treewarden.reports.renderers import randomised_renderer
from treewarden.terminal.exits import PASS
from treewarden.terminal.outputs import (
    check_ending,
    check_file,
    check_new,
    check_no_input,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter

FORMS = ("text", "json", "csv", "html")
ENDINGS = {"text": (".txt", ".md"), "json": (".json",), "csv": (".csv",), "html": (".html", ".htm")}


@click.command("reconstruct")
@click.argument("table", type=FILE)
@click.option(
    "--manifest",
    type=FILE,
    required=True,
    help="The manifest that 'treewarden randomize' wrote with TABLE.",
)
@click.option(
    "--true", "true", type=FILE, help="The table with the true values, to compare with the result."
)
@click.option(
    "--columns",
    metavar="COLUMN[,COLUMN...]",
    multiple=True,
    help="The columns to estimate.  [default: all hidden columns]",
)
@click.option(
    "--kernel",
    type=click.Choice([each.value for each in Kernel]),
    default=Kernel.MIDPOINT.value,
    show_default=True,
    help="Expert: compute the probability that noise moves a value to another interval at the midpoints, or exactly.",
)
@click.option(
    "--stop",
    type=Number(1e-9, 1),
    default=STOP,
    show_default=True,
    help="Expert: stop the iteration when a step changes the estimate by less than this share of the 95 % quantile of "
    "chi-square.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="text",
    show_default=True,
    help="The output format.",
)
@click.option("--out", "-o", "output", type=FILE, help="The output file.  [default: stdout]")
@FORCE
@QUIET
@click.pass_context
def reconstruct_command(  # one parameter per option
    context: click.Context,
    table: Path,
    manifest: Path,
    true: Path | None,
    columns: tuple[str, ...],
    kernel: str,
    stop: float,
    form: str,
    output: Path | None,
    force: bool,
    quiet: bool,
) -> None:
    """Estimate the distributions of columns that 'treewarden randomize' hid, for analysts of the noisy table.

    The result describes the whole table; no single value is estimated. Formats: text, JSON, CSV (a row per interval)
    or HTML with a picture of each column.
    """
    if math.isnan(stop):
        raise click.BadParameter("nan is not a number; give a number", param_hint="--stop")
    reconstruct_request = ReconstructRequest(
        table, manifest, true, names_of(columns, "--columns"), Kernel(kernel), stop
    )
    if output is not None:
        check_file(output)
        check_ending(output, form, ENDINGS[form])
        check_no_input([output], reconstruct_request.files)
        check_new(output, force)
    progress = ProgressPrinter(quiet)
    document = reconstructed(reconstruct_request, progress.step)
    for warning in document.warnings:
        progress.say(f"warning: {warning}")
    said = randomised_renderer(form).render_randomised(document)
    if output is None:
        click.echo(said, nl=False)
    else:
        write_files({output: said})
        progress.say(f"written: {output}")
    context.exit(PASS)


COMMAND = reconstruct_command

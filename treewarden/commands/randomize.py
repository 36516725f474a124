"""``treewarden randomize``: what is hidden by noise of a level, once everything else is known?"""

from __future__ import annotations

import math
from pathlib import Path

import click

from treewarden.commands._common_options import FILE, FORCE, QUIET, names_of
from treewarden.jobs.randomised.randomizing import Randomised, RandomizeRequest, randomise
from treewarden.jobs.randomised.reconstructing import FORMS, figure_lines, report_bytes
from treewarden.policies.pack import load_pack
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.methods.randomised.manifest import manifest_bytes
from treewarden.ppdm_models.methods.randomised.noise import CONFIDENCE, KINDS, MOST_LEVEL
from treewarden.ppdm_models.tables.batches import SUFFIXES
from treewarden.reports.document.words import counted, printable
from treewarden.terminal.exits import EXITS
from treewarden.terminal.outputs import (
    beside,
    check_apart,
    check_file,
    check_new,
    check_no_input,
    write_files,
)
from treewarden.terminal.progress import ProgressPrinter

LEAST_LEVEL = 0.001
COLUMNS = "COLUMN[,COLUMN...]"


@click.command("randomize")
@click.argument("table", type=FILE)
@click.option(
    "--level",
    type=click.FloatRange(LEAST_LEVEL, MOST_LEVEL),
    required=True,
    help="The width of the interval that the noise hides a value in, as a share of the column's domain.",
)
@click.option(
    "--noise",
    type=click.Choice(KINDS),
    required=True,
    help="The kind of noise, or classes in place of values.",
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.999),
    default=CONFIDENCE,
    show_default=True,
    help="The probability that the true value is in that interval.",
)
@click.option(
    "--columns",
    metavar=COLUMNS,
    multiple=True,
    help="The columns to hide.  [default: those that hold numbers or have a declared domain]",
)
@click.option(
    "--class",
    "label",
    metavar="COLUMN",
    default="",
    help="The class column, which stays unchanged.",
)
@click.option("--domains", type=FILE, help="A TOML file with the domain of each column.")
@click.option(
    "--domain-from-data",
    "from_data",
    is_flag=True,
    help="Take a missing domain from the data. The manifest then contains the smallest and largest value.",
)
@click.option(
    "--clear", metavar=COLUMNS, multiple=True, help="Columns that may be published unchanged."
)
@click.option("--drop", metavar=COLUMNS, multiple=True, help="Columns to leave out of the output.")
@click.option(
    "-o",
    "--output",
    type=FILE,
    required=True,
    help="The file for the noisy table: .csv or .parquet.",
)
@click.option("--manifest", type=FILE, required=True, help="The JSON file for the manifest.")
@click.option(
    "--policy",
    metavar="NAME|FILE",
    default="randomised",
    show_default=True,
    help="A built-in policy ('treewarden policy list'), or a TOML file.",
)
@click.option("--report", type=FILE, help=f"The file for a report: {', '.join(FORMS)}.")
@click.option("--only-if-pass", is_flag=True, help="Write the table only if the verdict is PASS.")
@FORCE
@QUIET
@click.pass_context
def randomize_command(  # one parameter per option
    context: click.Context,
    table: Path,
    level: float,
    noise: str,
    confidence: float,
    columns: tuple[str, ...],
    label: str,
    domains: Path | None,
    from_data: bool,
    clear: tuple[str, ...],
    drop: tuple[str, ...],
    output: Path,
    manifest: Path,
    policy: str,
    report: Path | None,
    only_if_pass: bool,
    force: bool,
    quiet: bool,
) -> None:
    """Add noise to columns of a table, measure how much the noise hides, and judge the result by a policy.

    For owners of a table who want to publish it in noisy form. The table and its manifest are written; the exit code
    is the verdict. Publish only if it is 0. With --only-if-pass, a table that does not pass is not written.

    Add noise once and keep the result: noise is drawn again in each run, and a reader of several results can average it
    away. All other columns, including the class, are published unchanged.

    The table may be larger than memory: it is read piece by piece.
    """
    if math.isnan(level) or math.isnan(confidence):
        raise click.UsageError("nan is no level and no confidence; give a number")
    pack = load_pack(policy)
    randomize_request = RandomizeRequest(
        table,
        noise,
        level,
        confidence,
        names_of(columns, "--columns"),
        label,
        domains,
        from_data,
        names_of(clear, "--clear"),
        names_of(drop, "--drop"),
    )
    outputs = [output, manifest]
    reports = [] if report is None else [report]
    _check_outputs([*outputs, *reports], (table, domains, Path(policy)), force)
    if output.suffix.lower() not in SUFFIXES:
        raise OutputError(str(output), f"ends neither in {' nor in '.join(SUFFIXES)}; name it so")
    if report is not None and report.suffix.lower() not in FORMS:
        raise OutputError(str(report), f"ends in none of {', '.join(FORMS)}; name it so")

    progress = ProgressPrinter(quiet)
    with beside(output) as written:
        found = randomise(randomize_request, pack, output, written, progress.step)
        files, large = {}, {}
        if report is not None:
            form = report.suffix.lower()
            files[report] = report_bytes(found, table, written, form, progress.step)
        is_kept = found.decision.verdict is Verdict.PASS or not only_if_pass
        if is_kept:
            files[manifest], large[output] = manifest_bytes(found.manifest), written
        write_files(files, large)
    _say(found, progress)
    _say_written(found, outputs if is_kept else [])
    context.exit(EXITS[found.decision.verdict])


def _check_outputs(outputs: list[Path], inputs: tuple[Path | None, ...], force: bool) -> None:
    for path in outputs:
        check_file(path)
    check_apart(outputs)
    check_no_input(outputs, inputs)
    for path in outputs:
        check_new(path, force)


def _say(found: Randomised, progress: ProgressPrinter) -> None:
    for line in figure_lines(found.randomisation):
        click.echo(printable(line))
    for warning in found.warnings:
        progress.say(f"warning: {warning}")
    decision = found.decision
    for finding in decision.findings:
        if finding.verdict is not Verdict.PASS:
            counts = "" if decision.counts(finding) else f" ({finding.severity}, does not count)"
            said = f"{finding.verdict.name}: {finding.clause}{counts}: {finding.message}"
            click.echo(printable(said))


def _say_written(found: Randomised, written: list[Path]) -> None:
    verdict = found.decision.verdict
    click.echo(f"{verdict.name}: by the policy {printable(found.decision.pack.name)}")
    if written:
        named = ", ".join(map(str, written))
        click.echo(f"written: {named}; {counted(found.manifest.records, 'record', 'records')}")
    else:
        click.echo("no table is written")
    if verdict is not Verdict.PASS:
        click.echo("do not publish it: raise --level, hide more columns, or leave some out")


COMMAND = randomize_command

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
    help="How wide the interval is that noise alone leaves open: 1 is as wide as the column's domain.",
)
@click.option(
    "--noise", type=click.Choice(KINDS), required=True, help="Noise, or classes in place of values."
)
@click.option(
    "--confidence",
    type=click.FloatRange(0.5, 0.999),
    default=CONFIDENCE,
    show_default=True,
    help="With which chance the true value is in that interval.",
)
@click.option(
    "--columns",
    metavar=COLUMNS,
    multiple=True,
    help="The columns to hide.  [default: those that hold numbers or have a declared domain]",
)
@click.option("--class", "label", metavar="COLUMN", default="", help="The class; stays in clear.")
@click.option("--domains", type=FILE, help="What each column's values lie between: a TOML file.")
@click.option(
    "--domain-from-data",
    "from_data",
    is_flag=True,
    help="Where no domain is declared: from the least to the largest value, which the manifest then tells.",
)
@click.option("--clear", metavar=COLUMNS, multiple=True, help="May be published as they are.")
@click.option("--drop", metavar=COLUMNS, multiple=True, help="Are left out of the output.")
@click.option(
    "-o", "--output", type=FILE, required=True, help="The table to write: .csv, .parquet."
)
@click.option("--manifest", type=FILE, required=True, help="What goes with it: a JSON file.")
@click.option(
    "--policy",
    metavar="PACK|FILE",
    default="randomised",
    show_default=True,
    help="A pack that ships ('treewarden list packs'), or a TOML file.",
)
@click.option(
    "--report", type=FILE, help=f"Write a report, whatever the verdict: {', '.join(FORMS)}."
)
@click.option("--only-if-pass", is_flag=True, help="Write no table unless the verdict is a pass.")
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
    """Hide columns of TABLE behind noise, measure what is left hidden, and judge that.

    The level is what noise alone hides; whoever knows the distribution and the other columns learns more, and it is
    that which the policy is about. Written are the table and its manifest; the exit code is the verdict's. Publish
    nothing unless it is 0; with --only-if-pass no other table is written.

    Randomise a table once, and keep the result: noise is drawn anew each time, cannot be drawn again, and is averaged
    away by whoever sees several results of one table. Other columns are published as they are, the class too.

    TABLE may be larger than memory: it is read a piece at a time, and again for domains that are read off it and for a
    report. What is held are sums per column, per class and per pair of hidden columns.
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

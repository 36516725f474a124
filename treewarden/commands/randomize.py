"""``treewarden randomize``: what is hidden by noise of a level, once everything else is known?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from treewarden.commands._common_options import FILE, FORCE, QUIET, Number, names_of, options_record
from treewarden.jobs.randomised.randomizing import Randomised, RandomizeRequest, randomise
from treewarden.jobs.randomised.reconstructing import FORMS, figure_lines, report_bytes
from treewarden.policies.pack import load_pack
from treewarden.policies.verdict import PolicyVerdict
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
    type=Number(LEAST_LEVEL, MOST_LEVEL),
    required=True,
    help="How much noise: the width of the interval that contains the true value with the probability "
    "--confidence, as a share of the column's domain (the range of its values).",
)
@click.option(
    "--noise",
    type=click.Choice(KINDS),
    required=True,
    help="The kind of noise. Discretize replaces each value by its interval.",
)
@click.option(
    "--confidence",
    type=Number(0.5, 0.999),
    default=CONFIDENCE,
    show_default=True,
    help="The probability that the true value is in the interval of --level.",
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
@click.option(
    "--manifest",
    type=FILE,
    required=True,
    help="The JSON file that records how the noise was added (the manifest).",
)
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
def randomize_command(context: click.Context, /, **_: Any) -> None:  # noqa: ANN401  # read from the context
    """Add noise to columns of a table, measure how well it protects people, and judge the result by a policy.

    For owners of a table who want to publish it in noisy form. The table and its manifest are written; the exit code
    is the verdict. Publish only if it is 0. With --only-if-pass, a table that does not pass is not written.

    Add noise once and keep the result: noise is drawn again in each run, and a reader of several results can average it
    away. All other columns, including the class, are published unchanged.

    The table may be larger than memory: it is read piece by piece.
    """
    options, outputs = context.params, options_record(RandomizeOutputs, context)
    if math.isnan(options["level"]) or math.isnan(options["confidence"]):
        raise click.UsageError("nan is not a number; give a number")
    pack = load_pack(options["policy"])
    randomize_request = _request(options)
    outputs.check((randomize_request.table, randomize_request.domains, Path(options["policy"])))
    progress = ProgressPrinter(options["quiet"])
    with beside(outputs.output) as written:
        found = randomise(randomize_request, pack, outputs.output, written, progress.step)
        files, large = {}, {}
        if outputs.report is not None:
            form = outputs.report.suffix.lower()
            table = randomize_request.table
            files[outputs.report] = report_bytes(found, table, written, form, progress.step)
        is_kept = found.decision.verdict is PolicyVerdict.PASS or not outputs.only_if_pass
        if is_kept:
            files[outputs.manifest] = manifest_bytes(found.manifest)
            large[outputs.output] = written
        write_files(files, large)
    _say(found, progress)
    _say_written(found, [outputs.output, outputs.manifest] if is_kept else [])
    context.exit(EXITS[found.decision.verdict])


def _request(options: Mapping[str, Any]) -> RandomizeRequest:
    """Return what the parameters of the command ask for."""
    return RandomizeRequest(
        table=options["table"],
        noise=options["noise"],
        level=options["level"],
        confidence=options["confidence"],
        columns=names_of(options["columns"], "--columns"),
        label=options["label"],
        domains=options["domains"],
        takes_domains_of_data=options["from_data"],
        harmless=names_of(options["clear"], "--clear"),
        dropped=names_of(options["drop"], "--drop"),
    )


@dataclass(frozen=True, slots=True)
class RandomizeOutputs:
    """What the command writes; a field has the name of its parameter."""

    output: Path
    manifest: Path
    report: Path | None
    only_if_pass: bool
    force: bool

    def check(self, inputs: tuple[Path | None, ...]) -> None:
        """Check before any work that all can be written.

        Raises:
            OutputError: one cannot be, is there already, is an input, or is no form that is known by its suffix.
        """
        reports = [] if self.report is None else [self.report]
        outputs = [self.output, self.manifest, *reports]
        for path in outputs:
            check_file(path)
        check_apart(outputs)
        check_no_input(outputs, inputs)
        for path in outputs:
            check_new(path, self.force)
        if self.output.suffix.lower() not in SUFFIXES:
            problem = f"ends neither in {' nor in '.join(SUFFIXES)}; name it so"
            raise OutputError(str(self.output), problem)
        for path in reports:
            if path.suffix.lower() not in FORMS:
                raise OutputError(
                    str(path), f"does not end in one of {', '.join(FORMS)}; choose such a name"
                )


def _say(randomised: Randomised, progress: ProgressPrinter) -> None:
    for line in figure_lines(randomised.randomisation):
        click.echo(printable(line))
    for warning in randomised.warnings:
        progress.say(f"warning: {warning}")
    decision = randomised.decision
    for finding in decision.findings:
        if finding.verdict is not PolicyVerdict.PASS:
            counts = "" if decision.counts(finding) else f" ({finding.severity}, does not count)"
            said = f"{finding.verdict.name}: {finding.clause}{counts}: {finding.message}"
            click.echo(printable(said))


def _say_written(randomised: Randomised, written: list[Path]) -> None:
    verdict = randomised.decision.verdict
    click.echo(f"{verdict.name}: by the policy {printable(randomised.decision.pack.name)}")
    if written:
        named = ", ".join(map(str, written))
        click.echo(f"written: {named}; {counted(randomised.manifest.records, 'record', 'records')}")
    else:
        click.echo("no table is written")
    if verdict is not PolicyVerdict.PASS:
        click.echo("do not publish it: raise --level, hide more columns, or leave some out")


COMMAND = randomize_command

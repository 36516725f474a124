"""``treewarden anonymize``: how far must a table be generalised until its groups are large and mixed enough?"""

from __future__ import annotations

from pathlib import Path

import click

from treewarden.commands._common_options import (
    FILE,
    FORCE,
    QUIET,
    TAXONOMY,
    K,
    L,
    names_of,
    output_option,
    qi_option,
)
from treewarden.jobs.tables.anonymizing import (
    GeneraliseRequest,
    TableToGeneralise,
    level_words,
    read_subject,
    table_pieces,
)
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.methods.generalise.lattice import (
    Figures,
    GeneralisedTable,
    Requirement,
    generalise,
)
from treewarden.terminal.exits import FAIL, PASS
from treewarden.terminal.outputs import check_file, check_no_input, write_pieces
from treewarden.terminal.progress import ProgressPrinter


@click.command("anonymize")
@click.argument("table", type=FILE)
@click.option("--sensitive", metavar="COLUMN", required=True, help="The column to protect.")
@qi_option("The quasi-identifiers, which are generalised.  [default: all other columns]")
@K
@L
@click.option(
    "--c",
    "ratio",
    type=click.FloatRange(min=0, min_open=True, max=1e9),
    help="With --l: recursive (c, l)-diversity instead of the 1/l rule.",
)
@TAXONOMY
@output_option("The CSV file for the result.")
@FORCE
@QUIET
@click.pass_context
def anonymize_command(  # one parameter per option
    context: click.Context,
    table: Path,
    sensitive: str,
    qi: tuple[str, ...],
    k: int | None,
    diversity: float | None,
    ratio: float | None,
    taxonomies: tuple[Path, ...],
    output: Path,
    force: bool,
    quiet: bool,
) -> None:
    """Generalise the columns of a table as little as k-anonymity and l-diversity require; every record is kept.

    For owners of a table. A group is the records with equal quasi-identifiers. Of all combinations of levels that meet
    --k, --l and --c, the one with the smallest sum of squared group sizes is taken. A column without a taxonomy is
    kept, or becomes * as a whole.

    The table is read once, piece by piece. Memory is needed for its distinct rows over these columns only.
    """
    if k is None and diversity is None:
        raise click.UsageError("add a requirement for the groups: --k or --l")
    if ratio is not None and (diversity is None or diversity != int(diversity)):
        raise click.UsageError("--c needs --l, a whole number")
    if output.suffix.lower() != ".csv":
        raise OutputError(str(output), "does not end in .csv; name the file so")
    check_file(output)
    check_no_input([output], (table, *taxonomies))
    if output.exists() and not force:
        raise OutputError(str(output), "already exists; choose another name, or add --force")

    requirement = Requirement(k or 1, diversity, ratio)
    progress = ProgressPrinter(quiet)
    with progress.step(f"counting {table.name}"):
        subject = read_subject(
            GeneraliseRequest(table, sensitive, names_of(qi), taxonomies, requirement)
        )
    with progress.step("searching the levels"):
        generalised_table = generalise(subject.lattice, requirement)
    if generalised_table is None:
        highest = tuple(ladder.height for ladder in subject.lattice.ladders)
        said = _groups(subject, subject.lattice.figures(highest))
        click.echo(f"nothing is written: the highest levels do not do either ({said})")
        context.exit(FAIL)
    with progress.step(f"writing {output.name}"):
        write_pieces(output, table_pieces(subject, generalised_table))
    _say(subject, generalised_table, output)
    context.exit(PASS)


def _say(subject: TableToGeneralise, found: GeneralisedTable, output: Path) -> None:
    for line in level_words(subject, found):
        click.echo(line)
    if subject.left_out:
        click.echo(f"left out: {', '.join(subject.left_out)}")
    click.echo(f"groups: {_groups(subject, found.figures)}")
    click.echo(
        f"discernibility: {found.figures.discernibility:,} (sum of squared group sizes); looked at "
        f"{found.checked:,} of {found.combinations:,} combinations of levels"
    )
    click.echo(f"written: {output}, {subject.records:,} records")


def _groups(subject: TableToGeneralise, figures: Figures) -> str:
    said = f"{figures.groups:,}, the smallest of {figures.smallest:,} records"
    if subject.wanted.requirement.l is None:
        return said
    return f"{said}, most frequent value {figures.largest_share:.1%}"


COMMAND = anonymize_command

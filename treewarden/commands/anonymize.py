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
    Number,
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
from treewarden.reports.document.words import counted
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
    type=Number(min=0, min_open=True, max=1e9),
    help=(
        "With --l: a stricter test (recursive (c, l)-diversity): the most common value "
        "must have less than c times the sum of the rarer ones."
    ),
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
    """Generalise the columns of a table as little as k-anonymity and l-diversity require. Every record is kept.

    For owners of a table. A group consists of all records with equal quasi-identifiers. Of all generalisations that
    meet --k, --l and --c, the command chooses the one with the smallest sum of squared group sizes. If a column
    has no taxonomy, either all its values are kept, or all become '*'.

    The table is read once, piece by piece. Only the distinct combinations of quasi-identifiers and sensitive value
    are held in memory.
    """
    if k is None and diversity is None:
        raise click.UsageError("add a requirement for the groups: --k or --l")
    if ratio is not None and (diversity is None or diversity != int(diversity)):
        raise click.UsageError("--c needs --l; add --l with a whole number")
    if output.suffix.lower() != ".csv":
        raise OutputError(str(output), "the suffix must be .csv; name the file accordingly")
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
        problem = (
            f"no generalisation meets the requirements: at the highest levels there are {said}"
        )
        click.echo(f"nothing is written: {problem}; lower --k or --l", err=True)
        context.exit(FAIL)
    with progress.step(f"writing {output.name}"):
        write_pieces(output, table_pieces(subject, generalised_table))
    _say(subject, generalised_table, output)
    context.exit(PASS)


def _say(subject: TableToGeneralise, table: GeneralisedTable, output: Path) -> None:
    for line in level_words(subject, table):
        click.echo(line)
    if subject.left_out:
        click.echo(f"left out: {', '.join(subject.left_out)}")
    click.echo(_groups(subject, table.figures))
    click.echo(
        f"loss of detail (sum of squared group sizes; lower is better): {table.figures.discernibility:,}; tried "
        f"{table.checked:,} of {table.combinations:,} possible generalisations"
    )
    click.echo(f"written: {output}, {subject.records:,} records")


def _groups(subject: TableToGeneralise, figures: Figures) -> str:
    said = f"{counted(figures.groups, 'group', 'groups')}, the smallest of {figures.smallest:,} records"
    if subject.wanted.requirement.l is None:
        return said
    return f"{said}, most frequent value {figures.largest_share:.1%}"


COMMAND = anonymize_command

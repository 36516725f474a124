"""Reconstructs the distributions of a randomised table's values: the table and its manifest in, a document out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treewarden.audit.progress import Step, silent
from treewarden.audit.randomised.result import HiddenColumn, Randomisation
from treewarden.jobs.randomised.randomizing import Randomised
from treewarden.ppdm_models.errors import LearnerError, TableError
from treewarden.ppdm_models.methods.randomised.manifest import (
    Hidden,
    check_has,
    check_is_of,
    load_manifest,
)
from treewarden.ppdm_models.methods.randomised.reconstruction import (
    FEWEST_RECORDS,
    STOP,
    ColumnDistribution,
    Kernel,
    beside_true,
    distributions_of,
)
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.table import listed
from treewarden.reports.building.randomised import randomisation_document, reconstruction_document
from treewarden.reports.document.methods import RandomisedDocument
from treewarden.reports.document.words import counted, percent, wrapped
from treewarden.reports.renderers import randomised_renderer


@dataclass(frozen=True, slots=True)
class ReconstructRequest:
    """What is asked for; ``columns`` empty: all that are hidden. ``true`` is the table with the true values."""

    table: Path
    manifest: Path
    true: Path | None = None
    columns: tuple[str, ...] = ()
    kernel: Kernel = Kernel.MIDPOINT
    stop: float = STOP

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read, which nothing may overwrite."""
        return tuple(each for each in (self.table, self.manifest, self.true) if each is not None)


def reconstructed(request: ReconstructRequest, step: Step = silent) -> RandomisedDocument:
    """Return what can be recovered of a randomised table.

    Raises:
        ManifestError: the manifest is not understood, or is of another file.
        TableError: a table cannot be read, lacks a column, or has too few values.
        LearnerError: a column that is asked for is not hidden.
        OSError: a file cannot be read.
    """
    manifest = load_manifest(request.manifest)
    with step(f"reading {request.table.name}"):
        check_is_of(manifest, request.table, request.manifest.name)
        table = open_batches(request.table)
        check_has(manifest, table.names, request.manifest.name)
        columns = _columns(request, manifest.columns)
    with step(f"reconstructing {counted(len(columns), 'distribution', 'distributions')}"):
        column_distributions = distributions_of(
            table, columns, manifest.records, request.kernel, request.stop
        )
    if request.true is not None:
        with step(f"reading {request.true.name}"):
            true = open_batches(request.true)
            for column in columns:
                if column.name not in true.names:
                    have = listed(true.names)
                    raise TableError(
                        true.source, f"no column {column.name!r}; the table has {have}"
                    )
            column_distributions = beside_true(true, column_distributions)
    return reconstruction_document(
        manifest, column_distributions, tuple(warnings_of(column_distributions))
    )


def warnings_of(column_distributions: tuple[ColumnDistribution, ...]) -> list[str]:
    """Return what is worth a word of distributions."""
    said = []
    for column_distribution in column_distributions:
        if column_distribution.missing:
            records = counted(column_distribution.missing, "record has", "records have")
            said.append(
                f"{records} no value of {column_distribution.said.name!r}; they are not used"
            )
        if not column_distribution.is_settled:
            said.append(
                f"the distribution of {column_distribution.said.name!r} did not converge "
                f"after {column_distribution.steps:,} steps; use a larger --stop"
            )
    return said


def _columns(
    reconstruct_request: ReconstructRequest, hidden: tuple[Hidden, ...]
) -> tuple[Hidden, ...]:
    if not reconstruct_request.columns:
        return hidden
    hidden_columns = {each.name: each for each in hidden}
    for name in reconstruct_request.columns:
        if name not in hidden_columns:
            problem = f"column {name!r} is not hidden, so there is nothing to reconstruct"
            raise LearnerError(
                reconstruct_request.manifest.name,
                f"{problem}; hidden columns: {listed(hidden_columns)}",
            )
    return tuple(hidden_columns[name] for name in reconstruct_request.columns)


# The report of a table that was randomised, its form named by the suffix of its file.

FORMS = {".html": "html", ".json": "json", ".csv": "csv", ".txt": "text"}
"""The renderer by suffix."""


def report_bytes(
    randomised: Randomised, table: Path, written: Path, suffix: str, step: Step = silent
) -> bytes:
    """Return the report of a table that was randomised into a file; both are gone through once more.

    Raises:
        TableError: one of them cannot be read any more, or the table changed.
    """
    with step("reconstructing distributions"):
        figures = _figures(randomised, table, written)
        open_batches(table).check_unchanged(randomised.stamp)
    document = randomisation_document(
        randomised.randomisation,
        randomised.decision,
        figures,
        randomised.manifest,
        randomised.warnings,
    )
    return randomised_renderer(FORMS[suffix]).render_randomised(document)


def _figures(randomised: Randomised, table: Path, written: Path) -> tuple[ColumnDistribution, ...]:
    """Return how values are distributed, noisy and true; of columns with too few values nothing."""
    columns = tuple(
        column.said
        for column in randomised.randomisation.columns
        if randomised.manifest.records - column.missing >= FEWEST_RECORDS
    )
    if not columns:
        return ()
    column_distributions = distributions_of(
        open_batches(written), columns, randomised.manifest.records
    )
    return beside_true(open_batches(table), column_distributions)


# What is left of privacy in each column, as lines for a terminal.

HEADINGS = ("column", "level", "2^h(X|W)", "mean width", "worst 1 %", "attacked")
LEGEND = (
    "shares of each domain's width: what the noise alone hides (level), how wide a uniform distribution would be as "
    "uncertain (2^h(X|W)), the 95 % interval that is left on average and for the worst 1 % of the records, and what "
    "is left after the best attack by all hidden columns"
)


def figure_lines(randomisation: Randomisation) -> list[str]:
    """Return a table of all hidden columns in lines, and what its figures mean."""
    rows = [HEADINGS, *(_row(column) for column in randomisation.columns)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    return [*lines, *wrapped(LEGEND)]


def _row(column: HiddenColumn) -> tuple[str, ...]:
    residual_privacy = column.left
    attacked = min((recovered_column.width for recovered_column in column.recovered), default=None)
    shown = (
        residual_privacy.equivalent_width,
        residual_privacy.mean_width,
        residual_privacy.worst_width,
    )
    level = f"{100 * column.said.level:g} %"
    return (
        column.said.name,
        level,
        *map(percent, shown),
        "-" if attacked is None else percent(attacked),
    )

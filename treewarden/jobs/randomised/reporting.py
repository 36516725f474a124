"""The report of a table that was randomised, its form named by the suffix of its file."""

from __future__ import annotations

from pathlib import Path

from treewarden.audit.stages import Step, silent
from treewarden.jobs.randomised.randomizing import Randomised
from treewarden.ppdm_models.methods.randomised.intervals import FEWEST_RECORDS
from treewarden.ppdm_models.methods.randomised.reconstruction import (
    Distribution,
    beside_true,
    distributions_of,
)
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.reports.building.randomised import randomisation_document
from treewarden.reports.renderers import randomised_renderer

FORMS = {".html": "html", ".json": "json", ".csv": "csv", ".txt": "text"}
"""The renderer by suffix."""


def report_bytes(
    found: Randomised, table: Path, written: Path, suffix: str, step: Step = silent
) -> bytes:
    """Return the report of a table that was randomised into a file; both are gone through once more.

    Raises:
        TableError: one of them cannot be read any more, or the table changed.
    """
    with step("reconstructing distributions"):
        figures = _figures(found, table, written)
        open_batches(table).check_unchanged(found.stamp)
    document = randomisation_document(
        found.randomisation, found.decision, figures, found.manifest, found.warnings
    )
    return randomised_renderer(FORMS[suffix]).render_randomised(document)


def _figures(found: Randomised, table: Path, written: Path) -> tuple[Distribution, ...]:
    """Return how values are distributed, noisy and true; of columns with too few values nothing."""
    columns = tuple(
        each.said
        for each in found.randomisation.columns
        if found.manifest.records - each.missing >= FEWEST_RECORDS
    )
    if not columns:
        return ()
    made = distributions_of(open_batches(written), columns, found.manifest.records)
    return beside_true(open_batches(table), made)

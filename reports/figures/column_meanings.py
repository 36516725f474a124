"""What the columns mean, as tables and lines: the sensitive one first, each with its name, its label and its values."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import ColumnMeaning
from treewarden.reports.figures.remaining import Cell, Paragraph, ReportSection, ReportTable

TITLE = "Meaning of the columns"
ORIGIN = (
    "Labels come from the table's file or from a data dictionary. They explain the names in this report; nothing was "
    "judged by them."
)
NO_LABEL = "–"


def values_text(meaning: ColumnMeaning) -> str:
    """Return what the values of a column are called: ``1 = yes; 2 = no``."""
    labels = [f"{row.name} = {row.text}" for row in meaning.values]
    if meaning.values_left_out:
        labels.append(f"and {meaning.values_left_out:,} more")
    return "; ".join(labels) or NO_LABEL


def meaning_lines(document: Document) -> Iterator[str]:
    """Yield a line for each column that has a label, or whose values have."""
    for meaning in document.columns:
        label = f": {meaning.label}" if meaning.label else ""
        values = f" ({values_text(meaning)})" if meaning.values else ""
        yield f"{meaning.name}{label}{values}"


def meaning_sections(document: Document) -> Iterator[ReportSection]:
    """Yield the section of a filed report; none where nobody says what the columns mean."""
    if not document.columns:
        return
    rows = tuple(
        (
            Cell(meaning.name, aside="sensitive" if meaning.is_sensitive else ""),
            Cell(meaning.label or NO_LABEL),
            Cell(values_text(meaning)),
        )
        for meaning in document.columns
    )
    table = ReportTable("Columns of the table", ("Column", "Meaning", "Values"), rows, (24, 36, 40))
    yield ReportSection("columns", TITLE, (Paragraph(ORIGIN), table))


def with_label(document: Document, name: str) -> str:
    """Return a column as its label and its name, ``influenza this winter (flu)``; its name where it has no label."""
    label = next((each.label for each in document.columns if each.name == name), "")
    return f"{label} ({name})" if label else name

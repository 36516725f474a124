"""What columns and values are called for people, as reports tell it: beside their names, never instead of them."""

from __future__ import annotations

from treewarden.audit.result import Audit
from treewarden.ppdm_models.tables.column_meanings import ColumnMeaning, bounded
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import ColumnMeaning as ColumnPart
from treewarden.reports.document.parts import Row

MOST_IN_SENTENCE = 80
"""Characters of a label within a sentence; the table of the columns has more of it."""


def column_parts(audit: Audit) -> tuple[ColumnPart, ...]:
    """Return what the columns of an audit mean, as far as it is known."""
    secret = audit.full.evidence.secret_name
    return tuple(
        ColumnPart(
            name=meaning.name,
            label=meaning.label,
            values=tuple(Row(name=value, text=label) for value, label in meaning.values),
            values_left_out=meaning.left_out,
            is_sensitive=meaning.name == secret,
        )
        for meaning in audit.meanings
    )


def told_meanings(document: Document) -> tuple[ColumnMeaning, ...]:
    """Return what a report says that columns mean."""
    return tuple(
        ColumnMeaning(
            part.name,
            part.label,
            tuple((row.name, row.text) for row in part.values),
            part.values_left_out,
        )
        for part in document.columns
    )


def quoted_column(audit: Audit, name: str) -> str:
    """Return a column within a sentence, with its label where it has one: ``“flu” (influenza this winter)``."""
    meaning = _meaning(audit, name)
    return f"“{name}”{_in_brackets(meaning.label if meaning else '')}"


def quoted_value(audit: Audit, column: str, value: str) -> str:
    """Return a value of a column within a sentence, with its label where it has one: ``“1” (yes)``."""
    meaning = _meaning(audit, column)
    return f"“{value}”{_in_brackets(meaning.label_of(value) if meaning else '')}"


def _meaning(audit: Audit, name: str) -> ColumnMeaning | None:
    return next((meaning for meaning in audit.meanings if meaning.name == name), None)


def _in_brackets(label: str) -> str:
    return f" ({bounded(label, MOST_IN_SENTENCE)})" if label else ""

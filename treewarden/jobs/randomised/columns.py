"""Which columns of a randomised table a tree is grown on, and whether that can be done."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.errors import LearnerError, ManifestError, TableError
from treewarden.ppdm_models.methods.randomised.generating import Attribute
from treewarden.ppdm_models.methods.randomised.intervals import MOST
from treewarden.ppdm_models.methods.randomised.learning import Numbers
from treewarden.ppdm_models.methods.randomised.manifest import Hidden, Manifest
from treewarden.ppdm_models.methods.randomised.noise import Classes, Hiding
from treewarden.ppdm_models.tables.table import Table

MOST_PARTS = 20_000
"""Classes that values are hidden in."""
WIDEST = 2_000
"""How far noise may reach, in widths of the domain."""


def columns_of(
    table: Table, manifest: Manifest, target: str, asked: tuple[str, ...], where: str
) -> tuple[tuple[Attribute, ...], dict[str, Numbers], dict[str, Hiding | None], dict[str, str]]:
    """Return the attributes that take part, their values, their noise, and in words why other columns do not.

    ``asked`` empty: all columns but the target that can be used. ``where`` names the manifest in messages.

    Raises:
        TableError: a column is not there, or holds what is no number.
        LearnerError: a column that is asked for is of no use, or none is left.
        ManifestError: what the manifest says of a column cannot be worked with.
    """
    names = _asked(table, target, asked)
    attributes: list[Attribute] = []
    columns: dict[str, Numbers] = {}
    noise: dict[str, Hiding | None] = {}
    unused: dict[str, str] = {}
    for name in names:
        hidden = manifest.column(name)
        if hidden is None and not table.guessed(name).numeric:
            unused[name] = "texts in clear"
            continue
        values = table.numbers(name).numbers
        attribute = hidden.attribute if hidden else _in_clear(name, values)
        if attribute is None or np.isnan(values).all():
            unused[name] = "fewer than two values that can be told apart"
            continue
        if hidden is not None:
            _check_hidden(hidden, where)
        attributes.append(attribute)
        columns[name], noise[name] = values, hidden.hiding if hidden else None
    if asked and unused:
        name, why = next(iter(unused.items()))
        raise LearnerError(f"column {name!r}", f"{why}; leave it out of --columns")
    if not attributes:
        raise LearnerError(table.source, "no column to grow a tree on; choose some with --columns")
    return tuple(attributes), columns, noise, unused


def _asked(table: Table, target: str, asked: tuple[str, ...]) -> tuple[str, ...]:
    missing = next((name for name in asked if name not in table.columns), None)
    if missing is not None:
        raise TableError(table.source, table.lacks(missing))
    if target in asked:
        raise LearnerError(f"column {target!r}", "is the target; leave it out of --columns")
    return asked or tuple(name for name in table.columns if name != target)


def _in_clear(name: str, values: Numbers) -> Attribute | None:
    """Return a column of numbers in clear as an attribute, its domain read off; None where it is a point."""
    known = values[~np.isnan(values)]
    if not len(known) or known.min() == known.max():
        return None
    is_whole = bool((known == np.floor(known)).all())
    found = Attribute(name, float(known.min()), float(known.max()), is_whole)
    return found if _has_intervals(found) else None


def _has_intervals(attribute: Attribute) -> bool:
    """Return whether a domain can be parted: it is not wider than numbers are, nor as narrow as their rounding."""
    ends = abs(attribute.low), abs(attribute.high)
    return bool(2 * MOST * np.spacing(max(ends)) < attribute.width < np.inf)


def _check_hidden(hidden: Hidden, where: str) -> None:
    """Check that what a manifest says of a column can be worked with.

    Raises:
        ManifestError: its domain cannot be parted, or its noise is far too wide, or its classes far too many.
    """
    hiding = hidden.hiding
    if not _has_intervals(hidden.attribute):
        raise ManifestError(where, f"{hidden.name!r}: its domain is too wide or too narrow to part")
    if isinstance(hiding, Classes):
        if hidden.attribute.width > MOST_PARTS * hiding.wide:
            raise ManifestError(where, f"{hidden.name!r}: more than {MOST_PARTS:,} classes")
    elif hiding.reach > WIDEST * hidden.attribute.width:
        raise ManifestError(where, f"{hidden.name!r}: noise that leaves nothing to see")

"""What becomes of a feature's values before the tests see them, in our own JSON."""

from __future__ import annotations

import math
from dataclasses import asdict

from treewarden.ppdm_models.codecs.common.origin import is_marker
from treewarden.ppdm_models.codecs.treewarden.document import FeatureEntry, TreatmentEntry
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.leaks import Leak, LeakKind
from treewarden.ppdm_models.tree.treatment import Treatment
from treewarden.ppdm_models.tree.tree import Tree


def treatment_of(entry: TreatmentEntry, feature: FeatureEntry, source: str) -> Treatment:
    """Return a treatment.

    Raises:
        TreeFormatError: a number is treated as a category, or the other way round.
    """
    kind = float if feature.type == "numeric" else str
    replaced = () if entry.replacement is None else (entry.replacement,)
    known = (*entry.values, *entry.invalid, *entry.missing, *replaced)
    if not all(isinstance(value, kind) for value in known):
        raise TreeFormatError(
            source, f"a treatment of {feature.name!r} holds values that are not {feature.type}"
        )
    intervals = tuple(
        (_or(item.low, -math.inf), item.low_closed, _or(item.high, math.inf), item.high_closed)
        for item in entry.intervals
    )
    return Treatment(
        intervals,
        entry.values,
        entry.invalid,
        entry.missing,
        entry.when_invalid,
        entry.replacement,
        entry.outliers,
        _or(entry.low, -math.inf),
        _or(entry.high, math.inf),
        entry.needs_value,
    )


def odd_treatments(tree: Tree) -> tuple[Leak, ...]:
    """Return that treatments name values which no feature declares and that are no sign for no value."""
    odd = [
        feature.name
        for feature in tree.features
        for treatment in feature.treatments
        for value in (
            *(*treatment.values, *treatment.invalid, *treatment.missing),
            *([] if treatment.replacement is None else [treatment.replacement]),
        )
        if isinstance(value, str) and value not in feature.values and not is_marker(value)
    ]
    if not odd:
        return ()
    what = f"{len(odd)} values in treatments that no feature declares: read them"
    return (Leak(LeakKind.UNKNOWN, "/features", what),)


def treatment_entry(treatment: Treatment) -> dict[str, object]:
    """Return a treatment as it stands in the document: infinite ends are left out."""
    intervals = tuple(
        {
            "low": _finite(low),
            "low_closed": low_closed,
            "high": _finite(high),
            "high_closed": high_closed,
        }
        for low, low_closed, high, high_closed in treatment.intervals
    )
    ends = {"low": _finite(treatment.low), "high": _finite(treatment.high)}
    return {**asdict(treatment), "intervals": intervals, **ends}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _or(value: float | None, infinite: float) -> float:
    return infinite if value is None else value

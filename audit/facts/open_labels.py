"""Labels where the learner may have left incomplete records out: of whichever records it saw, the label is right."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.rows import LeftOut, Linear, Origin
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

WHY = "labels, as records there lack values, which the learner may have left out"


def label_in_doubt(
    case: Case,
    passed_over: FloatArray,
    node: int,
    profiles: IndexArray,
    label: int,
    margin: float,
    before: Collection[int] = (),
) -> LeftOut | None:
    """Return that a label leads whichever incomplete records were left out; None where all are complete.

    It does where it leads by ``margin``, and by a whole record the classes of ``before``, when none of the incomplete
    records of its own class counts, and all of the others do. ``passed_over`` are those of each profile, (P,).
    """
    lacking, counts = passed_over[profiles], case.population.counts[profiles]
    if not lacking.any():
        return None
    if case.population.weight is not None:
        return LeftOut(node, "", WHY, is_open=True)
    is_complete = lacking < counts
    # Of a profile of which some are complete, nobody knows what these are.
    missed = float(lacking[is_complete].sum())
    origin = Origin("leaf_label", case.tree.where(case.tree.nodes[node]), node)
    rows = tuple(
        Linear(
            np.concatenate([profiles, profiles]),
            np.repeat(np.array([label, klass], dtype=np.intp), len(profiles)),
            np.concatenate([is_complete.astype(np.float64), -np.ones(len(profiles))]),
            missed + max(margin, float(klass in before)),
            np.inf,
            origin,
        )
        for klass in range(len(case.tree.classes))
        if klass != label
    )
    return LeftOut(node, "", WHY, lines=rows)

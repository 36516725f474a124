"""A split that the learner compared and did not take, where a file says how good it would have been (rpart)."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.tree.predicate import Predicate


@dataclass(frozen=True, slots=True)
class OtherSplit:
    """The tests of both sides, and the ends of its improvement by gini, as the printed digits allow.

    The improvement is in records: the gini of the node times its records, less the same of both sides.
    """

    left: Predicate
    right: Predicate
    low: float
    high: float

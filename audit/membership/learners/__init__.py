"""How each learner makes the threshold of a numeric split from records of its table: one file per learner.

Most learners cut half way between two neighbouring values, of the node's own records or of all records of the table. A
published threshold then says that some member has the value below it, that some member has the value above it, and that
no member of these lies between. Others cut at a value itself: then some member has it.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.plugins import PluginIndex, discover
from treewarden.ppdm_models.tree.tree import Feature, Learner

GROWN_BY = {"sklearn_boosting": "scikit_learn"}
"""Libraries of boosted models whose trees are another learner's."""

NEAREST = 1e-5
"""Learners surely cut between values further apart than this share of their size.

scikit-learn adds 1e-7 to the smaller value in 32 bits: it skips neighbours that are up to two last digits apart.
"""
NEAREST_TO_ZERO = 1e-6
"""And further apart than this."""


def surely_apart(below: FloatArray, above: FloatArray) -> BoolArray:
    """Whether a learner surely tells each value from the one above it, (n,)."""
    size = np.maximum(np.abs(below), np.abs(above))
    return np.asarray(above - below > np.maximum(NEAREST * size, NEAREST_TO_ZERO))


class LearnerCuts(ABC):
    """Knows how one learner makes thresholds.

    ``is_of_table`` says that neighbours are those of the whole table, whichever node is split: the learner chose its
    thresholds before it grew trees, from at most ``most_records`` records, and beyond that from a sample. ``is_value``
    says that a threshold is itself the value above it, ``may_be_value`` that it may be one in place of a middle.
    """

    is_of_table: ClassVar[bool] = False
    most_records: ClassVar[int | None] = None
    is_value: ClassVar[bool] = False
    may_be_value: ClassVar[bool] = False

    @abstractmethod
    def compared(self, feature: Feature, numbers: FloatArray) -> FloatArray:
        """Return the numbers of a column as the learner compares them, (n,) in 64 bits."""

    @abstractmethod
    def threshold(self, below: FloatArray, above: FloatArray) -> FloatArray:
        """Return the threshold between neighbouring values, (n,), in the learner's arithmetic."""

    def says(self, threshold: float) -> bool:
        """Whether a threshold was made so; some are always there."""
        return True


def learner_cuts() -> PluginIndex[LearnerCuts]:
    """Return what is known of each learner's thresholds, by its name."""
    return discover(sys.modules[__name__], "CUTS", LearnerCuts)


def cuts_of(learner: Learner) -> LearnerCuts | None:
    """Return how a learner makes thresholds; None where it is not known, or where it draws them."""
    index, name = learner_cuts(), learner.tool.value.replace("-", "_")
    return None if learner.draws_cuts else index.get(name)


def cuts_of_library(library: str) -> tuple[LearnerCuts, ...]:
    """Return the ways in which a library of boosted models may make thresholds, its default first."""
    index, library = learner_cuts(), GROWN_BY.get(library, library)
    names = (library, f"{library}_exact")
    return tuple(index[name] for name in names if name in index)

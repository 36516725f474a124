"""The people behind the tree: distinct quasi-identifier profiles, how many records each has, and the truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from audit.posterior import FloatArray
from audit.reading import Undetermined
from ppdm_models.predicate import Column


@dataclass(frozen=True, slots=True)
class Population:
    """Distinct profiles of quasi-identifier (QI) values.

    ``columns`` hold one value per profile; ``counts`` are records per profile, shape (P,); ``leaf`` is the index of the
    node where each profile stops, shape (P,); ``truth`` holds records per profile and class, shape (P, m), or why it is
    not known. ``warnings`` are for the reader of the report.
    """

    qi: tuple[str, ...]
    columns: Mapping[str, Column]
    counts: FloatArray
    leaf: NDArray[np.intp]
    truth: FloatArray | Undetermined
    warnings: tuple[str, ...] = ()

    @property
    def records(self) -> float:
        """The number of records (the sum of weights, where rows carry them)."""
        return float(self.counts.sum())

    def describe(self, profile: int) -> str:
        """Return one profile as people write it: ``age = 30, sex = F``."""
        said = ((name, self.columns[name].text(profile)) for name in self.qi)
        return ", ".join(
            f"{name} = {'(missing)' if value is None else value}" for name, value in said
        )

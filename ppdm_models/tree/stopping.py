"""The settings by which a learner stopped: which nodes it tried to split, and which of its splits it did not make."""

from __future__ import annotations

from dataclasses import dataclass

MOST = 10**15
"""No limit of records, tests or leaves is higher: then there is none."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a learner did not split a node that is not pure, as far as its settings say.

    It splits no node below ``max_depth`` tests, none of fewer than ``min_split_records``, none whose best split lowers
    the impurity, times the share of all records there, by less than ``min_impurity_decrease``, and no more once there
    are ``max_leaves`` leaves, the greatest decrease first. Then it prunes by cost complexity with ``pruning_alpha``,
    rpart's ``cp``. None and 0 say that there is no such limit. Spark's least gain is of the records of a node alone.
    """

    max_depth: int | None = None
    min_split_records: int = 2
    max_leaves: int | None = None
    min_impurity_decrease: float = 0.0
    pruning_alpha: float = 0.0

    def __post_init__(self) -> None:
        wholes = (self.max_depth, self.min_split_records, self.max_leaves)
        numbers = (self.min_impurity_decrease, self.pruning_alpha)
        if any(whole is not None and not 0 <= whole <= MOST for whole in wholes):
            raise ValueError(f"a limit of records, tests or leaves that is not from 0 to {MOST}")
        if not all(0 <= number < float("inf") for number in numbers):
            raise ValueError("a decrease or a price of a leaf that is no number from 0")

"""What a tree predicts: the class a node names, and which column of a table that is where the file does not say."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError, near_text
from treewarden.ppdm_models.tables.matching import target_in
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Node, Tree


def check_target(model: Model, table: Table, sensitive: str) -> None:
    """Check that a sensitive column can be what the model predicts; the table has the model's names.

    Raises:
        TableError: the file names another target, or none, and the table has no such column.
    """
    target = target_in(model, table)
    if target and sensitive != target:
        near = near_text(sensitive, [target])
        raise TableError(
            table.source,
            (
                f"{model.source} does not predict {sensitive!r}{near}; use --sensitive {target}, or add "
                "--secret COLUMN to protect another column of the table"
            ),
        )
    if not target and sensitive not in table.columns:
        raise TableError(
            table.source,
            (
                f"there is no column {sensitive!r}{table.meant(sensitive)}, and {model.source} does not "
                "name its target; name the column: --sensitive COLUMN"
            ),
        )


def rival(
    tree: Tree, table: Table, stops: IndexArray, weight: FloatArray, taken: Collection[str]
) -> str:
    """Return another column that the tree's labels are right about as often as about the sensitive one; "" if none.

    Where a file names no target and gives no counts, its labels are all that tells which column it was trained on.
    ``stops`` and ``weight`` (rows,) are where each row stops and how many people it is. The first of ``taken`` is the
    sensitive column; the others are something else.
    """
    sensitive, *_ = taken
    counts = (leaf.class_counts or () for leaf in tree.leaves)
    if tree.has_people and all(count and None not in count for count in counts):
        return ""  # another column's counts would contradict the file
    labels = np.array([_code(tree, node) for node in tree.nodes])[stops]

    def right(name: str) -> float:
        column = table.categories(name, tree.classes)
        places = [
            tree.classes.index(category) if category in tree.classes else -1
            for category in column.categories
        ]
        if sum(place >= 0 for place in places) < 2:
            return -1.0
        said = np.array([*places, -1])[
            column.codes
        ]  # a missing value, whose code is -1, is never right
        return float(weight[(said == labels) & (said >= 0)].sum())

    own = right(sensitive)
    others = (name for name in table.columns if name not in taken)
    return next((name for name in others if right(name) >= max(own, 0.0)), "")


def _code(tree: Tree, node: Node) -> int:
    code = label_of(tree, node)
    return -1 if code is None else code


def label_of(tree: Tree, node: Node) -> int | None:
    """Return the code of the class a node predicts: its score, else the largest of its published class numbers."""
    if isinstance(node.score, str) and node.score in tree.classes:
        return tree.classes.index(node.score)
    numbers = node.class_counts if node.class_counts is not None else node.class_shares
    if numbers is None or any(number is None for number in numbers):
        return None
    return int(np.argmax(np.array(numbers, dtype=float)))


# The numbers that a regression model predicts, as the people of a table have them.

MOST_DECIMALS = 9
MOST_STEPS = 2**30
"""Where a range has more steps than that, its numbers are taken for any real ones."""


@dataclass(frozen=True, slots=True, eq=False)
class TargetNumbers:
    """The target of each profile's people: the sum, the least and the greatest value, shape (P,) each.

    All values of the table lie a whole number of ``step`` above the least one; 0 stands for no such step. The
    adversary is taken to know the step and the range: that ages are whole years between 18 and 90 is no secret.
    """

    sums: FloatArray
    least: FloatArray
    most: FloatArray
    step: float

    def of(self, profiles: IndexArray) -> TargetNumbers:
        """Return those of some profiles."""
        return TargetNumbers(
            self.sums[profiles], self.least[profiles], self.most[profiles], self.step
        )

    @property
    def low(self) -> float:
        """The least value in the table."""
        return float(self.least.min(initial=np.inf))

    @property
    def high(self) -> float:
        """The greatest value in the table."""
        return float(self.most.max(initial=-np.inf))


def numbers_of(values: FloatArray, weight: FloatArray, profile_of: IndexArray) -> TargetNumbers:
    """Return what is said of the values of all rows (N,), of which each stands for ``weight`` people of a profile."""
    size = int(profile_of.max(initial=-1)) + 1
    least, most = np.full(size, np.inf), np.full(size, -np.inf)
    np.minimum.at(least, profile_of, values)
    np.maximum.at(most, profile_of, values)
    sums = np.bincount(profile_of, weight * values, size).astype(np.float64)
    return TargetNumbers(sums, least, most, step_of(np.unique(values)))


def step_of(values: FloatArray) -> float:
    """Return the largest step that all differences of distinct values are whole multiples of, as decimals say; or 0."""
    decimals = 0
    for value in values.tolist():
        exponent = Decimal(repr(value)).normalize().as_tuple().exponent
        assert isinstance(exponent, int)
        decimals = max(decimals, -exponent)
        if decimals > MOST_DECIMALS:
            return 0.0
    scale = 10**decimals
    whole = [int(Decimal(repr(value)) * scale) for value in values.tolist()]
    step = math.gcd(*(each - whole[0] for each in whole)) if whole else 0
    if not step or (whole[-1] - whole[0]) // step > MOST_STEPS:
        return 0.0
    return float(step / scale)

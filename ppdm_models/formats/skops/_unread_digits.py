"""Whether the numbers of a fitted tree have the digits that its counts give, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from treewarden.ppdm_models.formats.skops._parts import FilePart

ULP = 4 * float(np.finfo(np.float64).eps)
"""How far a share may be from its counts, relatively; scikit-learn divides once."""
IMPURITY = 1e-12
"""How far an impurity may be from that of its counts."""
LEAF = -1


@dataclass(frozen=True, slots=True)
class OddNumbers:
    """Numbers that no counts give: where they stand, and what they are."""

    place: tuple[str | int, ...]
    what: str


def strange_digits(
    state: dict[str, FilePart], classes: int, criterion: object
) -> Iterator[OddNumbers]:
    """Yield that shares, impurities or counts of checked arrays are not those that whole counts give.

    ``classes`` are how many the tree tells apart, 0 for a regression. Counts that are weighted may be any numbers.
    """
    nodes: Any = state["nodes"].array()
    samples = nodes["n_node_samples"].astype(np.int64)
    inner = nodes["left_child"] != LEAF
    sides = (nodes["left_child"][inner], nodes["right_child"][inner])
    weighted = nodes["weighted_n_node_samples"].astype(np.float64)
    if (samples[sides[0]] + samples[sides[1]] != samples[inner]).any():
        yield OddNumbers(state["nodes"].steps, "numbers of records that do not add up")
    is_whole = bool((weighted == np.round(weighted)).all())
    if not classes or not is_whole:
        return
    if (samples > weighted).any():
        yield OddNumbers(state["nodes"].steps, "more records in a node than were drawn for it")
    values = state["values"].array()[:, 0, :].astype(np.float64)
    if not weighted.any():
        if not ((values == 0) | (values == 1)).all():
            yield OddNumbers(state["values"].steps, "class shares of nodes that count nobody")
        return
    are_shares = bool(np.allclose(values.sum(axis=1), 1.0)) and values.max() <= 1
    counts = values * weighted[:, None] if are_shares else values
    whole = np.round(counts)
    if (np.abs(counts - whole) > 0.01).any():
        return  # records weighed more or less than 1, and the sums happen to be whole
    exact = whole / weighted[:, None] if are_shares else whole
    if (np.abs(values - exact) > ULP * np.maximum(exact, ULP)).any():
        yield OddNumbers(state["values"].steps, "digits of class shares that no counts give")
    told = _impurity(whole / weighted[:, None], criterion)
    if told is None or (np.abs(nodes["impurity"] - told) > IMPURITY).any():
        yield OddNumbers(state["nodes"].steps, "impurities that are not those of the class counts")


def _impurity(shares: Any, criterion: object) -> Any:  # noqa: ANN401  # arrays
    """Return the impurity of each node, (n,), None for a criterion that is not known."""
    if criterion == "gini":
        return 1.0 - (shares**2).sum(axis=1)
    if criterion not in ("entropy", "log_loss"):
        return None
    logs = np.log2(np.where(shares > 0, shares, 1.0))
    return -(shares * logs).sum(axis=1)

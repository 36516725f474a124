"""The rates of an XGBoost training, which follow from the file where it does not say them.

For an inner node whose two children are leaves the gradients add up: v_l (H_l + lambda) + v_r (H_r + lambda) equals
eta * w * (H + lambda), less eta * alpha per sign, with w the unscaled weight that the file keeps of the node. All such
nodes of all trees give eta, lambda and alpha by least squares; people choose short numbers, so the shortest decimals
that fulfil every equation within its rounding are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from audit.inverters._bounds import rounded_by
from audit.reading import Undetermined
from ppdm_models.arrays import FloatArray
from ppdm_models.tree.growth import Fact, Growth, derived
from ppdm_models.tree.node_table import NodeTable
from ppdm_models.tree.tree import Tree

ROUNDING = 2.0**-20
"""How far an equation may be off, relatively to its terms: each is of a few numbers in 32 bits."""
DIGITS = 6

LIMIT_ROOM = 2.0**-16
"""How far a leaf value may seem to be beyond the limit of steps, relatively, by roundings."""
NOT_DERIVED = (
    "the file withholds the learning rate and the regularisation, and its numbers do not give them: it was grown with "
    "settings that are not turned back (a limit to steps, monotone constraints), or pruned, or numbers were withheld; "
    "if you know them, say them in a knowledge file under [training]"
)


@dataclass(frozen=True, slots=True)
class Rates:
    """What shrinks leaf values: ``ridge`` is lambda, ``lasso`` alpha, ``clip`` the largest step (0: none)."""

    eta: float
    ridge: float
    lasso: float
    clip: float
    positive_weight: float
    facts: dict[str, Fact]
    said: tuple[str, ...] = ()


def rates_of(growth: Growth, trees: Sequence[Tree]) -> Rates | Undetermined:
    """Return the rates that the file says, or that follow from it; else why they are not known."""
    weight = growth.fact("scale_pos_weight").value
    facts = dict(growth.facts)
    told = [growth.fact(name).value for name in ("eta", "lambda", "alpha", "max_delta_step")]
    if None in told:
        found = _derived(growth, trees)
        if isinstance(found, Undetermined):
            return found
        told = [*found, 0.0]
        facts |= {
            name: derived(value)
            for name, value in zip(("eta", "lambda", "alpha"), found, strict=True)
        }
        facts["max_delta_step"] = derived(0.0)
    eta, ridge, lasso, clip = (float(value or 0.0) for value in told)
    if not eta > 0:
        return Undetermined("the learning rate (eta) is no rate")
    largest = max((float(np.nanmax(np.abs(tree.values))) for tree in growth.trees), default=0.0)
    if clip and largest > eta * clip * (1 + LIMIT_ROOM):
        return Undetermined("some leaf values are larger than max_delta_step allows")
    return Rates(eta, ridge, lasso, clip, 1.0 if weight is None else weight, facts)


def _derived(growth: Growth, trees: Sequence[Tree]) -> tuple[float, float, float] | Undetermined:
    """Return eta, lambda and alpha."""
    equations = _equations(growth, trees)
    if equations is None or len(equations) < 3:
        return Undetermined(NOT_DERIVED)
    for columns in (3, 4):
        found = _shortest(equations, columns)
        if found is not None:
            return found
    return Undetermined(NOT_DERIVED)


def _equations(growth: Growth, trees: Sequence[Tree]) -> FloatArray | None:
    """Return v_l, H_l, v_r, H_r, w, H of each node between two leaves, (E, 6); None where they are withheld."""
    parts = []
    for tree, grown in zip(trees, growth.trees, strict=True):
        if grown.hessians is None or grown.weights is None or len(grown.values) < 3:
            continue
        parents = _parents(tree.nodes)
        ends = ~np.isnan(grown.values)
        below = np.bincount(parents[1:][ends[1:]], minlength=len(parents))
        for node in np.flatnonzero(below == 2).tolist():
            left, right = np.flatnonzero(parents == node)
            parts.append(
                [
                    *(grown.values[left], grown.hessians[left]),
                    *(grown.values[right], grown.hessians[right]),
                    *(grown.weights[node], grown.hessians[node]),
                ]
            )
    found = np.array(parts)
    if not len(found) or not np.isfinite(found).all():
        return None
    return None if rounded_by(np.concatenate([g.values for g in growth.trees])).any() else found


def _parents(nodes: object) -> FloatArray:
    if isinstance(nodes, NodeTable):
        return np.asarray(nodes.parents)
    return np.array([-1 if node.parent is None else node.parent for node in nodes])  # type: ignore[attr-defined]  # a sequence of nodes


def _shortest(equations: FloatArray, columns: int) -> tuple[float, float, float] | None:
    """Return the shortest decimals that fulfil all equations; with 4 columns alpha is sought too."""
    v_left, h_left, v_right, h_right, weight, both = equations.T
    kept = (v_left != 0) & (v_right != 0) & (weight != 0) if columns == 4 else weight != 0
    signs = np.sign(weight) - np.sign(v_left) - np.sign(v_right)
    right = (v_left * h_left + v_right * h_right)[kept]
    matrix = np.stack([-(v_left + v_right), weight * both, weight, signs], axis=1)[kept][
        :, :columns
    ]
    if len(matrix) < columns:
        return None
    # Each equation is weighed by how exactly it is known.
    scale = (np.abs(v_left) * h_left + np.abs(v_right) * h_right + np.abs(weight) * both)[kept]
    if not (scale > 0).all():
        return None
    try:
        solved, *_ = np.linalg.lstsq(matrix / scale[:, None], right / scale, rcond=None)
    except np.linalg.LinAlgError:  # numbers that no learner writes
        return None
    ridge, eta = float(solved[0]), float(solved[1])
    if not eta > 0 or not np.isfinite(solved).all():
        return None
    lasso = float(solved[3]) / eta if columns == 4 else 0.0

    def fits(eta: float, ridge: float, lasso: float) -> bool:
        one = v_left * (h_left + ridge) + v_right * (h_right + ridge)
        two = eta * weight * (both + ridge) + eta * lasso * signs
        size = (
            np.abs(v_left) * (h_left + ridge)
            + np.abs(v_right) * (h_right + ridge)
            + eta * np.abs(weight) * (both + ridge)
            + eta * lasso
        )
        return bool((np.abs(one - two) <= ROUNDING * size)[kept].all())

    for digits in range(1, DIGITS + 1):
        tried = (_short(number, digits) for number in (eta, ridge, lasso))
        for rate, l2, l1 in product(*tried):
            if rate > 0 and l2 >= 0 and l1 >= 0 and fits(rate, l2, l1):
                return rate, l2, l1
    return None


def _short(number: float, digits: int) -> tuple[float, ...]:
    """Return the number in so many digits, as short significant digits and as decimals; they differ near 0."""
    return tuple(
        dict.fromkeys((float(f"{number:.{digits}g}"), round(number, digits), round(number)))
    )

"""The rates of an XGBoost training, which follow from the file where it does not say them.

The sum of gradients of a node is that of its children. With w = -T(G) / (H + lambda), T moving G towards 0 by alpha,
a node says -G = w (H + lambda) + sign(w) alpha, where a leaf publishes v = eta w and an inner node w itself. So every
inner node is one equation of eta, lambda and alpha, linear in (lambda, eta, eta lambda, eta alpha). Where all of them
determine these, people having chosen short numbers, the only shortest decimals that fulfil every equation within its
rounding are taken. Where several do, or where the equations leave them open, nothing follows.

A limit to steps (max_delta_step) makes nodes at the largest step say no more than an end of their sum. So the
rates are first looked for in the equations without these nodes: what follows there holds with a limit and without one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from treewarden.audit.inverters._bounds import rounded_by
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, Fact, derived
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tree import Tree

NAMES = ("eta", "lambda", "alpha", "max_delta_step")
ROUNDING = 2.0**-20
"""How far an equation may be off, relatively to its terms: each is of a few numbers in 32 bits."""
DIGITS = 6
MOST_CANDIDATES = 64
"""Equations that leave more short decimals than these determine nothing."""
SINGULAR = 1e-12
"""Equations whose least singular value is smaller, each column being of length 1, leave a setting open."""
TINY = 1e-12
LIMIT_ROOM = 2.0**-16
"""How far a leaf value may seem to be beyond the limit of steps, relatively, by roundings."""
NOT_DERIVED = (
    "the file does not contain the learning rate and the regularisation, and its numbers "
    "do not reveal them; give them under [training] in a knowledge file, if you know them"
)


Ends = tuple[float, float]
ANYTHING = (-np.inf, np.inf)


@dataclass(frozen=True, slots=True)
class XgboostRates:
    """What shrinks leaf values: ``ridge`` is lambda, ``lasso`` alpha, ``clip`` the largest step (0: none)."""

    eta: float
    ridge: float
    lasso: float
    clip: float
    positive_weight: float
    facts: dict[str, Fact]
    said: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _RateSetting:
    """Numbers for the four settings, by the names of the formula."""

    eta: float
    ridge: float
    lasso: float
    clip: float


@dataclass(frozen=True, slots=True, eq=False)
class _Equations:
    """Of each inner node: the node and its two children, (E, 3): step, sum of second derivatives, whether a leaf."""

    steps: FloatArray
    hessians: FloatArray
    is_leaf: BoolArray

    def where(self, mask: BoolArray) -> _Equations:
        """Return some of the equations."""
        return _Equations(self.steps[mask], self.hessians[mask], self.is_leaf[mask])

    def without_largest(self) -> _Equations:
        """Return those of nodes whose steps are smaller than the largest, which may have been limited."""
        is_largest = np.zeros(self.steps.shape, dtype=np.bool_)
        for group in (self.is_leaf, ~self.is_leaf):
            sizes = np.where(group, np.abs(self.steps), 0.0)
            is_largest |= group & (sizes >= sizes.max(initial=0.0) * (1 - LIMIT_ROOM))
        return self.where(np.asarray(~is_largest.any(axis=1)))

    def fit(self, setting: _RateSetting) -> bool:
        """Return whether all equations hold under a setting, within their rounding."""
        if not (setting.eta > 0 and min(setting.ridge, setting.lasso, setting.clip) >= 0):
            return False
        steps = np.where(self.is_leaf, self.steps / setting.eta, self.steps)
        sizes = np.abs(steps)
        sums = steps * (self.hessians + setting.ridge) + np.sign(steps) * setting.lasso
        room = ROUNDING * np.abs(sums)
        low, high = sums - room, sums + room
        if setting.clip:
            if (sizes > setting.clip * (1 + LIMIT_ROOM)).any():
                return False
            at_limit = sizes >= setting.clip * (1 - LIMIT_ROOM)
            low = np.where(at_limit & (steps < 0), -np.inf, low)
            high = np.where(at_limit & (steps > 0), np.inf, high)
        below, above = low[:, 1] + low[:, 2], high[:, 1] + high[:, 2]
        return bool(((below <= high[:, 0]) & (low[:, 0] <= above)).all())


def rates_of(growth: EnsembleGrowth, trees: Sequence[Tree]) -> XgboostRates | Undetermined:
    """Return the rates that the file says, or that follow from it; else why they are not known."""
    weight = growth.fact("scale_pos_weight").value
    facts = dict(growth.facts)
    known = {name: growth.fact(name).value for name in NAMES}
    values = {name: value for name, value in known.items() if value is not None}
    if len(values) < len(NAMES):
        found = _derived(growth, trees, values)
        if isinstance(found, Undetermined):
            return found
        new = {name: value for name, value in found.items() if name not in values}
        facts |= {name: derived(value) for name, value in new.items()}
        values |= new
    eta, ridge, lasso, clip = (values[name] for name in NAMES)
    if not eta > 0:
        return Undetermined("the learning rate (eta) is no rate")
    largest = max((float(np.nanmax(np.abs(tree.values))) for tree in growth.trees), default=0.0)
    if clip and largest > eta * clip * (1 + LIMIT_ROOM):
        return Undetermined("some leaf values are larger than max_delta_step allows")
    return XgboostRates(eta, ridge, lasso, clip, 1.0 if weight is None else weight, facts)


def may_be(
    growth: EnsembleGrowth, trees: Sequence[Tree], stated_settings: Mapping[str, float]
) -> bool:
    """Return whether the numbers of a file allow settings of its training, whatever the other settings were."""
    known = {name: growth.fact(name).value for name in NAMES}
    values = {name: value for name, value in known.items() if value is not None}
    values |= {name: stated_settings[name] for name in NAMES if name in stated_settings}
    if len(values) < len(NAMES):
        return not isinstance(_derived(growth, trees, values), Undetermined)
    equations = _equations(growth, trees)
    return equations is None or equations.fit(_setting(values, _parallel(growth)))


def _setting(values: Mapping[str, float], parallel: int) -> _RateSetting:
    """Return settings as the formula has them: trees that grow side by side share the learning rate."""
    eta, ridge, lasso, clip = (values[name] for name in NAMES)
    return _RateSetting(eta / parallel, ridge, lasso, clip)


def _parallel(growth: EnsembleGrowth) -> int:
    """Return how many trees of one output were grown side by side in a round."""
    return max(1, len(growth.rounds[0]) // max(growth.outputs, 1)) if growth.rounds else 1


def _derived(
    growth: EnsembleGrowth, trees: Sequence[Tree], known_settings: Mapping[str, float]
) -> dict[str, float] | Undetermined:
    """Return all four settings, those that are known among them."""
    equations, parallel = _equations(growth, trees), _parallel(growth)
    if equations is None:
        return Undetermined(NOT_DERIVED)
    rate_setting = _determined(equations.without_largest(), known_settings, parallel)
    if rate_setting is None:
        return Undetermined(NOT_DERIVED)
    for clip in _limits(equations, known_settings, rate_setting):
        if equations.fit(replace(rate_setting, clip=clip)):
            shown = rate_setting.eta * parallel, rate_setting.ridge, rate_setting.lasso, clip
            return {**dict(zip(NAMES, shown, strict=True)), **known_settings}
    return Undetermined(NOT_DERIVED)


def _limits(
    equations: _Equations, known_settings: Mapping[str, float], rates: _RateSetting
) -> tuple[float, ...]:
    """Return which limits of steps may have been set: none, or the largest step that there is."""
    if "max_delta_step" in known_settings:
        return (known_settings["max_delta_step"],)
    sizes = np.abs(np.where(equations.is_leaf, equations.steps / rates.eta, equations.steps))
    return (0.0, float(f"{sizes.max():.{DIGITS}g}"))


def _equations(growth: EnsembleGrowth, trees: Sequence[Tree]) -> _Equations | None:
    """Return what the nodes of all trees say; None where their numbers are withheld, or were cut."""
    if any(grown.values.ndim > 1 for grown in growth.trees):
        return None
    if rounded_by(np.concatenate([grown.values for grown in growth.trees])).any():
        return None
    parts: list[_Equations] = []
    for tree, grown in zip(trees, growth.trees, strict=True):
        if grown.hessians is None or grown.weights is None or len(grown.values) < 3:
            continue
        parents = _parents(tree)
        if len(parents) != len(grown.values):
            return None
        # A stable sort keeps the two children of a node beside each other.
        children = 1 + np.argsort(parents[1:], kind="stable").reshape(-1, 2)
        nodes = np.column_stack([parents[children[:, 0]], children])
        is_leaf = ~np.isnan(grown.values)
        steps = np.where(is_leaf, grown.values, grown.weights)
        parts.append(_Equations(steps[nodes], grown.hessians[nodes], is_leaf[nodes]))
    if not parts:
        return None
    equations = _Equations(
        np.concatenate([part.steps for part in parts]),
        np.concatenate([part.hessians for part in parts]),
        np.concatenate([part.is_leaf for part in parts]),
    )
    if not (np.isfinite(equations.steps).all() and np.isfinite(equations.hessians).all()):
        return None
    # A step of 0 leaves the sum between two ends, and may be a number that was withheld.
    return equations.where(
        (equations.steps != 0).all(axis=1) & (equations.hessians > 0).all(axis=1)
    )


def _parents(tree: Tree) -> np.ndarray:
    if isinstance(tree.nodes, NodeTable):
        return np.asarray(tree.nodes.parents, dtype=np.intp)
    return np.array([-1 if node.parent is None else node.parent for node in tree.nodes], np.intp)


def _determined(
    equations: _Equations, known_settings: Mapping[str, float], parallel: int
) -> _RateSetting | None:
    """Return the only shortest decimals under which all equations hold, whatever the limit; None if they are open."""
    ends = _ends(equations, known_settings, parallel)
    if ends is None:
        return None
    fixed = [known_settings.get(name) for name in NAMES[:3]]
    for digits in range(1, DIGITS + 1):
        tried = list[tuple[float, ...]]()
        for value, (low, high) in zip(fixed, ends, strict=True):
            found = (value,) if value is not None else _decimals(low, high, digits)
            if found is None:
                return None
            tried.append(found)
        if math.prod(map(len, tried)) > MOST_CANDIDATES:
            return None
        settings = (
            _RateSetting(eta / parallel, ridge, lasso, 0.0) for eta, ridge, lasso in product(*tried)
        )
        fitting = [setting for setting in settings if equations.fit(setting)]
        if fitting:
            return fitting[0] if len(fitting) == 1 else None
    return None


def _ends(
    equations: _Equations, known_settings: Mapping[str, float], parallel: int
) -> tuple[Ends, ...] | None:
    """Return between which ends eta, lambda and alpha lie; None where the equations bound none of them.

    Each term counts with -1 where it is that of the node, and with 1 where it is that of a child.
    """
    turned = np.array([-1.0, 1.0, 1.0])
    steps, signs = equations.steps * turned, (np.sign(equations.steps) * turned).sum(axis=1)
    of_leaves = np.where(equations.is_leaf, steps, 0.0)
    of_inner = steps - of_leaves
    sums = [(part * equations.hessians).sum(axis=1) for part in (of_leaves, of_inner)]
    leaves, inner = of_leaves.sum(axis=1), of_inner.sum(axis=1)
    rate, ridge, lasso = (known_settings.get(name) for name in NAMES[:3])
    rate = None if rate is None else rate / parallel
    # The terms of lambda, eta, eta lambda and eta alpha, and those of none; what is known moves terms together.
    columns = {(0, 1): leaves, (1, 0): sums[1], (1, 1): inner, (1, 2): signs}
    constant, unknown = sums[0].copy(), dict[tuple[int, int], FloatArray]()
    for (has_rate, other), column in columns.items():
        factor, key = 1.0, [0, 0]
        for is_there, value, place, mark in (
            (has_rate == 1, rate, 0, 1),
            (other == 1, ridge, 1, 1),
            (other == 2, lasso, 1, 2),
        ):
            if is_there and value is not None:
                factor *= value
            elif is_there:
                key[place] = mark
        if key == [0, 0]:
            constant += factor * column
        else:
            there = unknown.get((key[0], key[1]), np.zeros(len(column)))
            unknown[key[0], key[1]] = there + factor * column
    return None if not unknown else _solved(equations, constant, unknown, (rate, ridge, lasso))


def _solved(
    equations: _Equations,
    constant: FloatArray,
    unknown: Mapping[tuple[int, int], FloatArray],
    known_rates: tuple[float | None, float | None, float | None],
) -> tuple[Ends, ...] | None:
    """Return the ends of eta, lambda and alpha by least squares; None where the equations do not determine them."""
    matrix = np.stack(list(unknown.values()), axis=1)
    if len(matrix) < matrix.shape[1]:
        return None
    rate, ridge = known_rates[0] or 0.3, known_rates[1] or 0.0
    found = room = np.zeros(matrix.shape[1])
    for _ in range(2):  # how exactly each equation is known depends on the rates
        factors = np.where(equations.is_leaf, 1.0, rate)
        terms = factors * np.abs(equations.steps) * (equations.hessians + ridge)
        scale = terms.sum(axis=1)
        solved = _least_squares(matrix / scale[:, None], -constant / scale)
        if solved is None:
            return None
        found, room = solved
        values = dict(zip(unknown, found.tolist(), strict=True))
        rate = known_rates[0] or max(values.get((1, 0), rate), TINY)
        ridge = known_rates[1] if known_rates[1] is not None else max(values.get((0, 1), 0.0), 0.0)
    ends = {
        key: (middle - off, middle + off)
        for key, middle, off in zip(unknown, found.tolist(), room.tolist(), strict=True)
    }
    rates = ends.get((1, 0), (known_rates[0] or 0.0,) * 2)
    ridges, lassos = (
        np.array([ends.get((0, other), ANYTHING), _divided(ends.get((1, other), ANYTHING), rates)])
        for other in (1, 2)
    )
    return rates, *((part[:, 0].max(), part[:, 1].min()) for part in (ridges, lassos))


def _least_squares(matrix: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Return the solution, and how far from it each number can be; None where one may be anything."""
    widths = np.sqrt((matrix**2).sum(axis=0))
    if not (widths > 0).all() or not np.isfinite(widths).all():
        return None
    try:
        left, sizes, turned = np.linalg.svd(matrix / widths, full_matrices=False)
    except np.linalg.LinAlgError:  # numbers that no learner writes
        return None
    if sizes[-1] < SINGULAR:
        return None
    inverse = turned.T / sizes
    found = inverse @ (left.T @ right) / widths
    # Any other solution is off by no more than twice the rounding of each equation.
    room = 2 * ROUNDING * np.sqrt(len(matrix)) * np.sqrt((inverse**2).sum(axis=1)) / widths
    return found, room


def _divided(products: Ends, rates: Ends) -> Ends:
    if not rates[0] > 0:
        return ANYTHING
    ends = [product / rate for product in products for rate in rates]
    return min(ends), max(ends)


def _decimals(low: float, high: float, digits: int) -> tuple[float, ...] | None:
    """Return the numbers from 0 on with so many digits between two ends; None if they are too many to be tried.

    Of numbers near 0 the middle counts too, in so many figures.
    """
    low, scale = max(low, 0.0), 10**digits
    if not (high - low) * scale <= MOST_CANDIDATES:
        return None
    found = [number / scale for number in range(int(np.ceil(low * scale)), int(high * scale) + 1)]
    short = float(f"{(low + high) / 2:.{digits}g}")
    return tuple(dict.fromkeys([*found, *([short] if low <= short <= high else [])]))

"""Draws records that try a model where it is easy to be wrong: at its thresholds, with unknown values, with none."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, NonTreeModel, trees_of
from treewarden.ppdm_models.tree.predicate import AllOf, CategoryTest, NumericTest, Predicate, atoms
from treewarden.ppdm_models.tree.tree import Feature, Tree

CLEAN, WITH_GAPS, WITH_UNKNOWN = 12_000, 3_000, 3_000
UNKNOWN = "never seen"

Records = dict[str, NDArray[np.float64] | list[str | None]]


def records(model: Model, seed: int = 0, scale: float = 1.0) -> dict[str, Column]:
    """Return the columns of records: whole ones first, then some with missing values, then some with unknown ones.

    Half of the whole ones are sent to a leaf each, by values that its path asks for; the rest is drawn from the ends of
    all tests, the numbers next to them, and numbers far from them.
    """
    draw = np.random.default_rng(seed)
    sizes = [max(int(size * scale), 1) for size in (CLEAN, WITH_GAPS, WITH_UNKNOWN)]
    size = sum(sizes)
    tests = list(_tests(model))
    pools = {feature.name: _pool(feature, tests) for feature in model.features}
    table = {name: draw.choice(pool, size) for name, pool in pools.items()}
    _send_to_leaves(model, table, draw.permutation(size)[: size // 2], draw)
    gaps = np.arange(size) >= sizes[0]
    strange = np.arange(size) >= sizes[0] + sizes[1]
    columns = {}
    for feature in model.features:
        missing = gaps & (draw.random(size) < 0.15)
        unknown = strange & (draw.random(size) < 0.1)
        columns[feature.name] = _column(feature, table[feature.name], missing, unknown)
    return columns


def whole(columns: dict[str, Column]) -> NDArray[np.bool_]:
    """Return which records lack no value."""
    return ~np.any([column.missing for column in columns.values()], axis=0)


def _tests(model: Model) -> Iterator[Predicate]:
    if isinstance(model, Ensemble):
        for member in model.members:
            yield member.test
            if not isinstance(member.model, NonTreeModel):
                yield from _tests(member.model)
    else:
        yield from (node.test for node in model.nodes)


def _pool(feature: Feature, tests: list[Predicate]) -> NDArray[np.generic]:
    """Return the values that one attribute is drawn from."""
    own = [
        atom
        for test in tests
        for atom in atoms(test)
        if getattr(atom, "feature", "") == feature.name
    ]
    if not feature.numeric:
        named = {value for atom in own if isinstance(atom, CategoryTest) for value in atom.values}
        return np.array(sorted(named | set(feature.values)) or [UNKNOWN])
    ends = {end for atom in own if isinstance(atom, NumericTest) for end in (atom.low, atom.high)}
    on = np.array(sorted(end for end in ends if np.isfinite(end)) or [0.0])
    far = [on[0] - 1, on[-1] + 1, *(on[:-1] + np.diff(on) / 2), 0.0, -1.0, 1.0]
    return _as_number(
        feature, np.concatenate([on, _next(feature, on, 1), _next(feature, on, -1), far])
    )


def _as_number(feature: Feature, values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return values.astype(np.float32).astype(np.float64) if feature.single else values


def _next(feature: Feature, values: NDArray[np.float64], sign: int) -> NDArray[np.float64]:
    kind = np.float32 if feature.single else np.float64
    with np.errstate(over="ignore"):
        return np.nextafter(values.astype(kind), kind(sign * np.inf)).astype(np.float64)


def _send_to_leaves(
    model: Model,
    table: dict[str, NDArray[np.generic]],
    rows: NDArray[np.intp],
    draw: np.random.Generator,
) -> None:
    """Give each of the rows values that lead it to a leaf drawn at random."""
    leaves = [(tree, leaf.index) for tree in trees_of(model) for leaf in tree.leaves]
    features = {feature.name: feature for feature in model.features}
    chosen = draw.integers(0, len(leaves), len(rows))
    for number in np.unique(chosen):
        going = rows[chosen == number]
        for name, values in _asked(*leaves[number], features).items():
            table[name][going] = draw.choice(values, len(going))


def _asked(tree: Tree, leaf: int, features: dict[str, Feature]) -> dict[str, NDArray[np.generic]]:
    """Return values that every simple test on the way to a leaf allows, the ends of its intervals first."""
    low: dict[str, float] = {}
    high: dict[str, float] = {}
    sets: dict[str, set[str]] = {}
    for part in (part for node in tree.path(leaf) for part in _joint(node.test)):
        if isinstance(part, NumericTest) and part.feature in features:
            low[part.feature] = max(low.get(part.feature, -np.inf), part.low)
            high[part.feature] = min(high.get(part.feature, np.inf), part.high)
        elif isinstance(part, CategoryTest) and part.feature in features:
            every = sets.get(part.feature) or set(features[part.feature].values) | set(part.values)
            named = set(part.values)
            sets[part.feature] = every - named if part.negated else every & named
    found: dict[str, NDArray[np.generic]] = {
        name: np.array(sorted(values)) for name, values in sets.items() if values
    }
    for name in low:
        if features[name].numeric:
            found[name] = _inside(features[name], low[name], high[name])
    return found


def _joint(test: Predicate) -> Iterator[Predicate]:
    stack = [test]
    while stack:
        part = stack.pop()
        if isinstance(part, AllOf):
            stack.extend(part.parts)
        else:
            yield part


def _inside(feature: Feature, low: float, high: float) -> NDArray[np.float64]:
    ends = np.array([end for end in (low, high) if np.isfinite(end)])
    middle = [(low + high) / 2] if len(ends) == 2 else [low + 1 if np.isfinite(low) else high - 1]
    near = np.concatenate([ends, _next(feature, ends, 1), _next(feature, ends, -1)])
    values = _as_number(feature, np.concatenate([near, np.nan_to_num(middle)]))
    fitting = values[(values >= low) & (values <= high)]
    return fitting if len(fitting) else values


def _column(
    feature: Feature,
    values: NDArray[np.generic],
    missing: NDArray[np.bool_],
    unknown: NDArray[np.bool_],
) -> Column:
    if feature.numeric:
        return NumericColumn(np.where(missing, np.nan, values.astype(np.float64)))
    named = np.where(unknown, UNKNOWN, values.astype(object)).astype(str)
    categories, codes = np.unique(named, return_inverse=True)
    return CategoricalColumn(
        codes=np.where(missing, -1, codes), categories=tuple(map(str, categories))
    )

"""Who meets a condition of a published number: by values of columns, or by what the model predicts for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray
from treewarden.ppdm_models.outputs.published import (
    Condition,
    PredictedCondition,
    RangeCondition,
    ScoreCondition,
    ValueCondition,
    ValuesCondition,
)
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.nodes import Node
from treewarden.ppdm_models.tree.tree import Tree

NO_SHARES = Undetermined("the leaves of the model have no class shares")
LABELS_ONLY = Undetermined("the adversary knows the labels of leaves only")
SEVERAL_TREES = Undetermined("the scores of several trees depend on how their sums are rounded")
NOT_GIVEN = Undetermined("there is no model")


@dataclass(frozen=True, slots=True, eq=False)
class ModelPredictions:
    """What a model says of each profile: ``label`` (P,) is the class that it predicts, -1 where none.

    ``leaf`` (P,) tells profiles apart of which it says different things, and ``shares`` are the shares of the classes
    in each leaf, exactly, or why they are not used.
    """

    classes: tuple[str, ...]
    label: IndexArray
    leaf: IndexArray
    shares: Mapping[int, tuple[Fraction, ...]] | Undetermined

    def take(self, profiles: IndexArray) -> ModelPredictions:
        """Return the same of some profiles only."""
        return replace(self, label=self.label[profiles], leaf=self.leaf[profiles])


def no_predictions(population: Population, classes: tuple[str, ...]) -> ModelPredictions:
    """Return what is said where there is no model."""
    nothing = np.full(len(population.counts), -1, dtype=np.intp)
    return ModelPredictions(classes, nothing, nothing, NOT_GIVEN)


def predictions_of(
    model: Model, population: Population, *, has_shares: bool = True
) -> ModelPredictions:
    """Return what a model says of the people that it was trained on; without ``has_shares`` its labels alone."""
    classes = tuple(model.classes)
    if isinstance(model, Ensemble):
        label = _labels_of_ensemble(model, population)
        return ModelPredictions(classes, label, label, SEVERAL_TREES)
    leaf = population.leaf
    used = np.unique(leaf[leaf >= 0]).tolist()
    codes = {name: code for code, name in enumerate(classes)}
    label = np.full(len(leaf), -1, dtype=np.intp)
    for node in used:
        label[leaf == node] = codes.get(str(model.nodes[node].score), -1)
    shares = _shares_of(model, used) if has_shares else LABELS_ONLY
    return ModelPredictions(classes, label, leaf, shares)


def _labels_of_ensemble(model: Ensemble, population: Population) -> IndexArray:
    from treewarden.ppdm_models.tables.predict import labels, predict  # of several trees only

    nothing = np.full(len(population.counts), -1, dtype=np.intp)
    try:
        found = labels(model, predict(model, population.columns))
    except (KeyError, ValueError):
        return nothing
    codes = {name: code for code, name in enumerate(model.classes)}
    return np.array([-1 if name is None else codes[name] for name in found], dtype=np.intp)


def _shares_of(
    tree: Tree, nodes: Iterable[int]
) -> Mapping[int, tuple[Fraction, ...]] | Undetermined:
    found = {}
    for number in nodes:
        shares = _node_shares(tree.nodes[number])
        if shares is None:
            return NO_SHARES
        found[number] = shares
    return found


def _node_shares(node: Node) -> tuple[Fraction, ...] | None:
    counts = node.class_counts
    if counts is not None and None not in counts and sum(filter(None, counts)) > 0:
        exact = [Fraction(count) for count in counts if count is not None]
        return tuple(count / sum(exact) for count in exact)
    if node.class_shares is None:
        return None
    return tuple(Fraction(share) for share in node.class_shares)


def having(
    population: Population, condition: Condition, predictions: ModelPredictions | None = None
) -> BoolArray:
    """Return which profiles, (P,), meet a condition; of the model ``predictions`` tell."""
    if isinstance(condition, PredictedCondition):
        assert predictions is not None
        code = predictions.classes.index(condition.predicted)
        return np.asarray(predictions.label == code)
    if isinstance(condition, ScoreCondition):
        assert predictions is not None
        assert not isinstance(predictions.shares, Undetermined)
        code = predictions.classes.index(condition.scored)
        inside = [
            leaf for leaf, shares in predictions.shares.items() if _is_in(shares[code], condition)
        ]
        return np.isin(predictions.leaf, np.array(inside, dtype=np.intp))
    column = population.columns[condition.column]
    if isinstance(condition, RangeCondition):
        return (
            _in_range(column.numbers, condition)
            if isinstance(column, NumericColumn)
            else _none(column)
        )
    if isinstance(condition, ValuesCondition):
        found = _none(column)
        for value in sorted(condition.values):
            found |= having(population, ValueCondition(condition.column, value))
        return found
    if condition.value is None:
        return np.asarray(~column.missing)
    if isinstance(column, NumericColumn):
        text = condition.value.replace(",", "").replace("−", "-")  # as is read of published numbers
        return np.asarray(column.numbers == float(text))
    if condition.value not in column.categories:
        return _none(column)
    return np.asarray(column.codes == column.categories.index(condition.value))


def _none(column: object) -> BoolArray:
    return np.zeros(len(column), dtype=bool)  # type: ignore[arg-type]


def _in_range(numbers: np.ndarray, condition: RangeCondition) -> BoolArray:
    inside = ~np.isnan(numbers)
    if condition.low is not None:
        low = float(condition.low)
        inside &= (numbers >= low) if condition.has_low else (numbers > low)
    if condition.high is not None:
        high = float(condition.high)
        inside &= (numbers <= high) if condition.has_high else (numbers < high)
    return np.asarray(inside)


def _is_in(share: Fraction, condition: ScoreCondition) -> bool:
    above = share > condition.low or (condition.has_low and share == condition.low)
    return above and (share < condition.high or (condition.has_high and share == condition.high))


def keys_of(
    population: Population,
    conditions: Iterable[Condition],
    column: str,
    predictions: ModelPredictions,
) -> list[np.ndarray]:
    """Return arrays (P,) that are alike of profiles whom the conditions and the column do not tell apart."""
    names, found = {column} - {""}, list[np.ndarray]()
    for condition in conditions:
        if isinstance(condition, PredictedCondition):
            found.append(predictions.label)
        elif isinstance(condition, ScoreCondition):
            found.append(predictions.leaf)
        else:
            names.add(condition.column)
    return [*(population.columns[name].keys for name in sorted(names)), *found]

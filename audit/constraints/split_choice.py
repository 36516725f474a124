"""Choice of a split: no candidate that the learner compared was better (Zhu & Du 2010, internal constraint)."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from audit.constraints import Case, Constraint
from audit.knowledge import SplitLevel
from audit.rows import Grouping, Origin, Row, SplitFamily
from audit.weighed_rows import common_weight
from ppdm_models.predicate import CategoryTest, Column, features_of, number_text
from ppdm_models.tree import Criterion, Feature, Node

SMALLEST_GAP = 1e-7
"""scikit-learn does not cut between 32-bit values closer than this."""
WEIGHT_SLACK = 1e-9
"""How far a sum of weights may fall short of the whole number that it is."""
MOST_BINS_FOR_SUBSETS = 10
"""With more categories at a node only one-against-rest candidates are formed: all subsets would be 2^(B-1)."""


class SplitChoice(Constraint):
    """Yields, per inner node and attribute, the family of candidates that the learner could have taken instead.

    Only attributes among the quasi-identifiers: of the others the adversary does not know who has which value. Under
    sampling weights the learner compared weighed impurities, which rows over people say only where all weights at the
    node are equal; ``left_out_nodes`` names the others.
    """

    def rows(self, case: Case) -> Iterator[Row]:
        if case.knowledge.split is SplitLevel.NONE:
            return
        grouping = _grouping_of_categories(case)
        known = [feature for feature in case.tree.features if feature.name in case.population.qi]
        bins = {feature.name: _values(case, feature) for feature in known}
        for node in _split_nodes(case):
            inside = case.members.of(node.index)
            if common_weight(case, inside) is None:
                continue
            chosen = _chosen(case, node, inside)
            for feature in known:
                family = _family(
                    case, node, feature, grouping, (inside, chosen, bins[feature.name])
                )
                if family is not None:
                    yield family


def left_out_nodes(case: Case) -> tuple[Node, ...]:
    """Return the nodes of whose choice of a split no row speaks, as the sampling weights there differ.

    The adversary could use them: what is proved without them is proved, but what is not proved may be.
    """
    if case.knowledge.split is SplitLevel.NONE:
        return ()
    return tuple(
        node
        for node in _split_nodes(case)
        if common_weight(case, case.members.of(node.index)) is None
    )


def _split_nodes(case: Case) -> Iterator[Node]:
    """Yield the inner nodes that pass on everybody who comes to them."""
    for node in case.tree.nodes:
        inside = case.members.of(node.index)
        stays = case.population.leaf[inside] == node.index
        if not node.is_leaf and len(inside) and not stays.any():
            yield node


def _grouping_of_categories(case: Case) -> Grouping:
    """Return how this tree splits categories: one branch each, sets against sets, or one against the rest."""
    tree = case.tree
    inner = [node for node in tree.nodes if not node.is_leaf]
    is_multiway = tree.learner.multiway
    if is_multiway is None:
        is_multiway = any(len(node.children) > 2 for node in inner)
    if is_multiway:
        return Grouping.MULTIWAY
    for node in inner:
        tests = [tree.nodes[child].test for child in node.children]
        sets = [test for test in tests if isinstance(test, CategoryTest) and len(test.values) > 1]
        if len(sets) == len(tests):
            return Grouping.SUBSET
    return Grouping.ONE_AGAINST_REST


def _values(case: Case, feature: Feature) -> NDArray[np.float64]:
    """Return each profile's value of an attribute as the learner compared it; a missing value is NaN."""
    column: Column = case.population.columns[feature.name]
    if column.numbers is not None:
        return (
            column.numbers.astype(np.float32).astype(np.float64)
            if feature.single
            else column.numbers
        )
    assert column.codes is not None
    return np.where(column.codes < 0, np.nan, column.codes.astype(np.float64))


def _chosen(case: Case, node: Node, inside: NDArray[np.intp]) -> NDArray[np.intp]:
    branch = np.full(len(case.population.counts), -1, dtype=np.intp)
    for position, child in enumerate(node.children):
        branch[case.members.of(child)] = position
    return branch[inside]


def _family(
    case: Case,
    node: Node,
    feature: Feature,
    grouping: Grouping,
    split: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]],
) -> SplitFamily | None:
    """Return the candidates on one attribute at one node, or None where it offers none."""
    inside, chosen, values = split
    here = values[inside]
    if np.isnan(here).any():
        return None
    found, bins = np.unique(here, return_inverse=True)
    if len(found) < 2:
        return None
    if feature.numeric:
        grouping = Grouping.THRESHOLD
    elif grouping is Grouping.MULTIWAY and _is_used_above(case, node, feature.name):
        return None
    elif grouping is Grouping.SUBSET and len(found) > MOST_BINS_FOR_SUBSETS:
        grouping = Grouping.ONE_AGAINST_REST
    records = np.bincount(bins, weights=case.population.counts[inside]).astype(np.float64)
    smallest = case.knowledge.min_leaf or _smallest(case, inside)
    admissible = _admissible(grouping, records, smallest)
    if grouping is Grouping.THRESHOLD and feature.single:
        admissible = admissible[np.diff(found)[admissible] > SMALLEST_GAP]
    admissible = _others(grouping, bins, chosen, admissible)
    if not len(admissible):
        return None
    return SplitFamily(
        node=node.index,
        attribute=feature.name,
        criterion=Criterion(case.knowledge.split.value),
        grouping=grouping,
        profiles=inside,
        chosen=chosen,
        bins=bins.reshape(-1).astype(np.intp),
        admissible=admissible,
        bin_names=_names(case, feature, found),
        origin=Origin("split_choice", case.tree.where(node), node.index),
    )


def _smallest(case: Case, inside: NDArray[np.intp]) -> int:
    """Return the fewest people that the learner may leave in a branch.

    Where the file does not tell whether its limit is of people or of weights, the lower: a candidate too many is
    dropped if the true table breaks it.
    """
    least, weight = case.tree.learner.min_leaf_records, common_weight(case, inside)
    return least if weight is None else min(least, max(1, math.floor(least / weight)))


def _is_used_above(case: Case, node: Node, name: str) -> bool:
    return any(name in features_of(above.test) for above in case.tree.path(node.index))


def _admissible(
    grouping: Grouping, records: NDArray[np.float64], smallest: int
) -> NDArray[np.int64]:
    """Return the candidates whose branches all hold enough records."""
    total, count, enough = records.sum(), len(records), smallest - WEIGHT_SLACK
    if grouping is Grouping.MULTIWAY:
        return np.arange(1 if (records >= enough).sum() >= 2 else 0)
    if grouping is Grouping.THRESHOLD:
        left = np.cumsum(records)[:-1]
        return np.flatnonzero((left >= enough) & (total - left >= enough))
    if grouping is Grouping.ONE_AGAINST_REST:
        codes = np.arange(count if count > 2 else 1)
        return np.asarray(codes[(records[codes] >= enough) & (total - records[codes] >= enough)])
    codes = np.arange(1, 2 ** (count - 1))
    left = ((codes[:, None] >> np.arange(count)) & 1) @ records
    return np.asarray(codes[(left >= enough) & (total - left >= enough)])


def _others(
    grouping: Grouping,
    bins: NDArray[np.intp],
    chosen: NDArray[np.intp],
    admissible: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Leave out the candidate that parts the node as the chosen split does."""
    low = np.full(bins.max() + 1, chosen.max() + 1)
    high = np.full(bins.max() + 1, -1)
    np.minimum.at(low, bins, chosen)
    np.maximum.at(high, bins, chosen)
    if (low != high).any():
        return admissible
    if grouping is Grouping.THRESHOLD:
        steps = np.flatnonzero(np.diff(low))
        return admissible[admissible != steps[0]] if len(steps) == 1 else admissible
    kept = []
    for code in admissible:
        side = branch_of_bins(grouping, int(code), len(low))
        pairs = set(zip(side.tolist(), low.tolist(), strict=True))
        if len(pairs) != len({a for a, _ in pairs}) or len(pairs) != len({b for _, b in pairs}):
            kept.append(code)
    return np.array(kept, dtype=np.int64)


def branch_of_bins(grouping: Grouping, code: int, count: int) -> NDArray[np.intp]:
    """Return the branch that each of ``count`` bins takes under one candidate of a family."""
    bins = np.arange(count)
    if grouping is Grouping.MULTIWAY:
        return bins
    if grouping is Grouping.THRESHOLD:
        return np.asarray(bins > code, dtype=np.intp)
    if grouping is Grouping.ONE_AGAINST_REST:
        return np.asarray(bins != code, dtype=np.intp)
    return np.asarray(1 - ((code >> bins) & 1))


def _names(case: Case, feature: Feature, found: NDArray[np.float64]) -> tuple[str, ...]:
    if feature.numeric:
        return tuple(number_text(float(value)) for value in found)
    categories = case.population.columns[feature.name].categories
    return tuple(categories[int(code)] for code in found)


CONSTRAINT = SplitChoice()

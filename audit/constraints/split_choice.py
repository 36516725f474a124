"""Choice of a split: no candidate that the learner compared was better (Zhu & Du 2010, internal constraint)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from audit.adversary.knowledge import SplitLevel
from audit.constraints import Constraint
from audit.facts.candidates import compared
from audit.facts.case import Case
from audit.facts.grower import Grower, grower, incomplete_records, lacking
from audit.facts.rows import Grouping, LeftOut, Origin, Row, SplitFamily
from audit.facts.split_families import MISSING, Attribute, Levels
from audit.facts.weighed_rows import common_weight, whole_units
from audit.people.table_counts import UNNAMED_WEIGHTS
from ppdm_models.arrays import FloatArray, IndexArray, ShortArray
from ppdm_models.tree.column import CategoricalColumn, number_text
from ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate, features_of
from ppdm_models.tree.tree import Criterion, Feature, Node, Tool, Tree

WEIGHED = "how splits were chosen where sampling weights differ, as sums of weights were compared"


class SplitChoice(Constraint):
    """Yields, per inner node and attribute, the candidates that the learner is known to have compared.

    What it may have compared is left out. Only attributes among the quasi-identifiers: of the others the adversary does
    not know who has which value. Under sampling weights the learner compared weighed impurities, which rows over people
    say only where all weights at the node are equal; elsewhere they are left out.
    """

    def rows(self, case: Case) -> Iterator[Row | LeftOut]:
        if case.knowledge.split is SplitLevel.NONE:
            return
        by, grouping = grower(case), grouping_of_categories(case.tree)
        nowhere = left_out(case, by)
        if nowhere is not None:
            yield nowhere
            return
        seen, counts = _all_seen(case), case.population.counts[case.members.order]
        for node in case.tree.nodes:
            inside = case.members.of(node.index)
            if node.is_leaf or not len(inside):
                continue
            not_here = left_out_at(case, node, inside, by)
            if not_here is not None:
                yield not_here
                continue
            place = case.members.place(node.index)
            passing = _Passing(place, inside, _chosen(case, node), counts[place])
            for one in seen:
                if grouping is Grouping.MULTIWAY and is_used_above(case.tree, node, one.feature):
                    continue
                found = compared(_at(case, node, one, grouping, passing), by)
                yield from found if common_weight(case, inside) else _weighed(case, node, found)


def left_out(case: Case, by: Grower) -> LeftOut | None:
    """Return why nothing is known of how any split was chosen; None where something is."""
    if by.tool is Tool.WEKA:
        # Quinlan 1993, section 4.4: a raised subtree was split for the records that were there before.
        why = "how splits were chosen, as Weka may have raised subtrees when it pruned"
        return LeftOut(0, "", why, is_open=True)
    if case.tree.learner.unmodelled:
        some = " and ".join(case.tree.learner.unmodelled)
        return LeftOut(0, "", f"how splits were chosen, as {some} had a part in it", is_open=True)
    if case.population.hides_weights(case.tree):
        why = f"how splits were chosen: {UNNAMED_WEIGHTS}"
        return LeftOut(0, "", why, is_open=True)
    passed_over = float(incomplete_records(case).sum())
    if passed_over:
        why = (
            f"how splits were chosen, as {lacking(passed_over, 'a value')} and {case.tree.source} counts no "
            "records: its learner may have left incomplete ones out"
        )
        return LeftOut(0, "", why, is_open=True)
    return None


def left_out_at(case: Case, node: Node, inside: IndexArray, by: Grower) -> LeftOut | None:
    """Return why nothing is known of how a node, which the profiles ``inside`` pass, was split; None where it is."""
    if len(case.members.stops(node.index)):
        why = f"{case.tree.where(node)}: how it was split, as records stop there"
        return LeftOut(node.index, "", why, is_open=True)
    if not by.sends_missing and (name := _lacked(case, node, inside)):
        why = "splits beside those on {}, which some records there lack"
        return LeftOut(node.index, name, why, is_open=True)
    return None


def of_everybody(case: Case, by: Grower) -> Iterator[SplitFamily]:
    """Yield the candidates that the learner is known to have compared were all records at one node, the first."""
    root, grouping = case.tree.nodes[0], grouping_of_categories(case.tree)
    inside = case.members.of(root.index)
    place, records = case.members.place(root.index), case.population.counts[inside]
    passing = _Passing(place, inside, _chosen(case, root), records)
    for one in _all_seen(case):
        found = compared(_at(case, root, one, grouping, passing), by)
        yield from (each for each in found if isinstance(each, SplitFamily))


@dataclass(frozen=True, slots=True)
class _Seen:
    """An attribute, each profile's value (P,) as the learner compared it, and where it is cut.

    Profiles are in the order of the nodes where they stop, so that those of a node are looked at where they lie.
    ``distinct`` is how many values it has, ``lacking`` how many records have none; ``names`` are its categories.
    ``codes`` (P,) are the places of the values among the ``levels``, one beyond them where there is no value.
    """

    feature: Feature
    values: FloatArray
    distinct: int
    lacking: float
    cuts: FloatArray
    levels: Levels
    codes: ShortArray
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Passing:
    """The profiles that pass a node (K,), their place in the order, the child that each goes to, and its records."""

    place: slice
    profiles: IndexArray
    chosen: IndexArray
    records: FloatArray


def grouping_of_categories(tree: Tree) -> Grouping:
    """Return how a tree splits categories: one branch each, sets against sets, or one against the rest."""
    inner = [node for node in tree.nodes if not node.is_leaf]
    is_multiway = tree.learner.multiway
    if is_multiway is None:
        is_multiway = any(len(node.children) > 2 for node in inner)
    if is_multiway:
        return Grouping.MULTIWAY
    if tree.learner.sets is not None or tree.learner.tool in (Tool.RPART, Tool.SPARK):
        one_by_one = tree.learner.sets is False
        return Grouping.ONE_AGAINST_REST if one_by_one else Grouping.SUBSET
    for node in inner:
        tests = [tree.nodes[child].test for child in node.children]
        sets = [test for test in tests if isinstance(test, CategoryTest) and len(test.values) > 1]
        if len(sets) == len(tests):
            return Grouping.SUBSET
    return Grouping.ONE_AGAINST_REST


def _all_seen(case: Case) -> list[_Seen]:
    """Return the attributes among the quasi-identifiers as the learner compared them."""
    names = case.population.qi
    return [_seen(case, feature) for feature in case.tree.features if feature.name in names]


def _seen(case: Case, feature: Feature) -> _Seen:
    """Return an attribute as the learner compared it; a missing value is NaN, a category its code."""
    column = case.population.columns[feature.name]
    lacking = float(case.population.counts[column.missing].sum())
    column = column.take(case.members.order)
    if isinstance(column, CategoricalColumn):
        values = np.where(column.codes < 0, np.nan, column.codes.astype(np.float64))
        names, none = column.categories, np.zeros(0)
        levels, codes = _levels(values, lambda value: names[int(value)])
        return _Seen(feature, values, len(names), lacking, none, levels, codes, names)
    values = column.numbers
    if feature.single:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32).astype(np.float64)
    cuts = {end for node in case.tree.nodes for end in _ends(node.test, feature.name)}
    levels, codes = _levels(values, number_text)
    distinct = len(levels.values)
    return _Seen(feature, values, distinct, lacking, np.array(sorted(cuts)), levels, codes)


def _levels(values: FloatArray, name: Callable[[float], str]) -> tuple[Levels, ShortArray]:
    """Return the values that there are, and each profile's place among them, (P,)."""
    found = np.unique(values[~np.isnan(values)])
    names = tuple(name(value) if np.isfinite(value) else MISSING for value in found.tolist())
    return Levels(found, names), np.searchsorted(found, values).astype(np.int32)


def _ends(test: Predicate, name: str) -> Iterator[float]:
    if isinstance(test, NumericTest) and test.feature == name:
        yield from (end for end in (test.low, test.high) if np.isfinite(end))


def _weighed(case: Case, node: Node, found: Iterable[SplitFamily | LeftOut]) -> Iterator[LeftOut]:
    """Yield candidates whose records differ in weight: no row over people says that none of them was better."""
    inside = case.members.of(node.index)
    units = whole_units(case.population.weight, inside)
    for fact in found:
        if units is None or (isinstance(fact, LeftOut) and fact.is_open):
            yield LeftOut(node.index, "", WEIGHED, is_open=True)
        elif isinstance(fact, SplitFamily):
            yield LeftOut(node.index, "", WEIGHED, possible=(replace(fact, weights=units),))
        else:
            possible, implying = (
                tuple(replace(family, weights=units) for family in families)
                for families in (fact.possible, fact.implying)
            )
            yield replace(fact, possible=possible, implying=implying)


def _lacked(case: Case, node: Node, inside: IndexArray) -> str:
    """Return an attribute that a node tests and some of its records lack; "" where there is none."""
    for name in _tested(case, node):
        if case.population.columns[name].take(inside).missing.any():
            return name
    return ""


def _tested(case: Case, node: Node) -> list[str]:
    """Return the attributes that the children of a node ask about."""
    asked = (features_of(case.tree.nodes[child].test) for child in node.children)
    return list(dict.fromkeys(name for names in asked for name in names))


def _chosen(case: Case, node: Node) -> IndexArray:
    """Return which child each profile that passes a node goes to; none stops there."""
    start, end = case.members.start, case.members.end
    branch = np.empty(int(end[node.index] - start[node.index]), dtype=np.intp)
    for position, child in enumerate(node.children):
        branch[start[child] - start[node.index] : end[child] - start[node.index]] = position
    return branch


def _at(
    case: Case,
    node: Node,
    seen: _Seen,
    grouping: Grouping,
    passing: _Passing,
) -> Attribute:
    feature = seen.feature
    return Attribute(
        node=node.index,
        name=feature.name,
        is_numeric=feature.numeric,
        grouping=grouping,
        criterion=Criterion(case.knowledge.split.value),
        profiles=passing.profiles,
        chosen=passing.chosen,
        values=seen.values[passing.place],
        records=passing.records,
        names=seen.names,
        distinct=seen.distinct,
        lacking=seen.lacking,
        cuts=seen.cuts,
        origin=Origin("split_choice", case.tree.where(node), node.index),
        levels=seen.levels,
        codes=seen.codes[passing.place],
    )


def is_used_above(tree: Tree, node: Node, feature: Feature) -> bool:
    """Return whether a feature of categories is asked about on the way to a node."""
    if feature.numeric:
        return False
    return any(feature.name in features_of(above.test) for above in tree.path(node.index))


CONSTRAINT = SplitChoice()

"""The candidate splits of a node, as the learner's own arithmetic saw them, and the rows that their refusal gives.

A row says of a candidate that it was compared and was no better, or that it may have been compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.facts.grower import Grower, grower, incomplete_records, lacking
from treewarden.audit.facts.impurity_rows import excesses
from treewarden.audit.facts.rows import (
    MISSING,
    TRUTH_TOLERANCE_SHARE,
    Case,
    Grouping,
    LeftOut,
    Origin,
    Row,
    SplitFamily,
    common_weight,
    whole_units,
)
from treewarden.audit.facts.split_families import Levels, NodeAttribute, TableAttribute, compared
from treewarden.audit.knowledge.knowledge import is_program_known, published_criterion
from treewarden.audit.population.table_counts import UNNAMED_WEIGHTS
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, ShortArray, distinct
from treewarden.ppdm_models.tree.column import CategoricalColumn, number_text
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate, features_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Node, Tree

ONE_BRANCH = "how splits were chosen where all records take one branch, which has no gain ratio"
UNLISTED = "splits on {}, which the file does not list: the training program may have compared them"


def left_out(case: Case, by: Grower) -> LeftOut | None:
    """Return why nothing is known of how any split was chosen; None where something is."""
    if by.tool is Tool.WEKA:
        # Quinlan 1993, section 4.4: a raised subtree was split for the records that were there before.
        why = "how splits were chosen, as Weka may have raised subtrees when it pruned"
        return LeftOut(0, "", why, is_open=True)
    if case.tree.learner.unmodelled:
        some = " and ".join(case.tree.learner.unmodelled)
        return LeftOut(0, "", f"how splits were chosen, as {some} influenced it", is_open=True)
    if case.population.hides_weights(case.tree):
        why = f"how splits were chosen: {UNNAMED_WEIGHTS}"
        return LeftOut(0, "", why, is_open=True)
    passed_over = float(incomplete_records(case).sum())
    if passed_over:
        why = (
            f"how splits were chosen, as {lacking(passed_over, 'a value')} and {case.tree.source} "
            "counts no records: its training program may have dropped incomplete ones"
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


@dataclass(frozen=True, slots=True)
class Listing:
    """The quasi-identifiers that a file lists as the learner's columns, and those that it does not, though it may.

    ``grouping`` is how its tree splits categories.
    """

    listed: tuple[SeenAttribute, ...]
    unlisted: tuple[SeenAttribute, ...]
    grouping: Grouping


def listing_of(case: Case) -> Listing:
    """Return which quasi-identifiers the learner compared, and which of them it may have compared.

    Many files list only the columns that some node tests, and do not say whether these are all.
    """
    tree, names = case.tree, case.population.qi
    grouping = grouping_of_categories(tree)
    listed = tuple(_seen(case, feature) for feature in tree.features if feature.name in names)
    if tree.learner.lists_columns or tree.learner.tool is Tool.TREEWARDEN:
        return Listing(listed, (), grouping)
    is_single = bool(tree.features) and all(feature.single for feature in tree.features)
    known = {feature.name for feature in tree.features}
    columns = ((name, case.population.columns[name]) for name in names if name not in known)
    features = [
        Feature(name, numeric=is_number, single=is_number and is_single)
        for name, column in columns
        for is_number in [not isinstance(column, CategoricalColumn)]
    ]
    return Listing(listed, tuple(_seen(case, feature) for feature in features), grouping)


def compared_at(
    case: Case, node: Node, listing: Listing, by: Grower, criterion: Criterion | None = None
) -> Iterator[SplitFamily | LeftOut]:
    """Yield the candidates at a node, and what is left out of them; ``criterion`` is the known one, unless given."""
    inside, place = case.members.profiles_at(node.index), case.members.place(node.index)
    counts = case.population.counts[inside]
    passing = Passing(place, inside, chosen_children(case, node), counts)
    criterion = criterion or Criterion(case.knowledge.split.value)
    if criterion is Criterion.GAIN_RATIO and not np.ptp(passing.chosen):
        yield LeftOut(node.index, "", ONE_BRANCH, is_open=True)  # its gain ratio is 0 / 0
        return
    for seen_attribute in listing.listed:
        if listing.grouping is Grouping.MULTIWAY and is_used_above(
            case.tree, node, seen_attribute.feature
        ):
            continue
        yield from compared(
            attribute_at(case, node, seen_attribute, listing.grouping, passing, criterion), by
        )
    anything = replace(by, surely=by.smallest, sets=True)
    for seen_attribute in listing.unlisted:
        for grouping in dict.fromkeys((listing.grouping, Grouping.SUBSET)):
            at = attribute_at(case, node, seen_attribute, grouping, passing, criterion)
            yield from (_unlisted(each) for each in compared(at, anything))
            if seen_attribute.feature.numeric:
                break  # numbers are cut, however categories are grouped


def _unlisted(compared_family: SplitFamily | LeftOut) -> LeftOut:
    if isinstance(compared_family, SplitFamily):
        return LeftOut(
            compared_family.node, compared_family.attribute, UNLISTED, possible=(compared_family,)
        )
    return replace(compared_family, why=UNLISTED, supposed=())


def of_everybody(case: Case, by: Grower) -> Iterator[SplitFamily]:
    """Yield the candidates that the learner is known to have compared were all records at one node, the first."""
    found = compared_at(case, case.tree.nodes[0], listing_of(case), by)
    yield from (each for each in found if isinstance(each, SplitFamily))


@dataclass(frozen=True, slots=True)
class SeenAttribute:
    """An attribute, and each profile's value (P,) as the learner compared it.

    Profiles are in the order of the nodes where they stop, so that those of a node are looked at where they lie.
    ``codes`` (P,) are the places of the values among the attribute's levels, one beyond them where there is no value.
    """

    feature: Feature
    attribute: TableAttribute
    values: FloatArray
    codes: ShortArray


@dataclass(frozen=True, slots=True)
class Passing:
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


def _seen(case: Case, feature: Feature) -> SeenAttribute:
    """Return an attribute as the learner compared it; a missing value is NaN, a category its code."""
    column = case.population.columns[feature.name]
    lacking = float(case.population.counts[column.missing].sum())
    column = column.take(case.members.order)
    if isinstance(column, CategoricalColumn):
        values = np.where(column.codes < 0, np.nan, column.codes.astype(np.float64))
        names, none = column.categories, np.zeros(0)
        there = distinct(column.codes[column.codes >= 0]).astype(np.float64)
        levels, codes = _levels(there, values, lambda value: names[int(value)])
        attribute = TableAttribute(
            name=feature.name,
            is_numeric=feature.numeric,
            names=names,
            distinct=len(names),
            lacking=lacking,
            cuts=none,
            levels=levels,
        )
        return SeenAttribute(feature, attribute, values, codes)
    values = column.numbers
    if feature.single:
        with np.errstate(over="ignore"):
            values = values.astype(np.float32).astype(np.float64)
    cuts = {end for node in case.tree.nodes for end in _ends(node.test, feature.name)}
    levels, codes = _levels(np.unique(values[~np.isnan(values)]), values, number_text)
    ends = np.array(sorted(cuts))
    attribute = TableAttribute(
        name=feature.name,
        is_numeric=feature.numeric,
        names=(),
        distinct=len(levels.values),
        lacking=lacking,
        cuts=ends,
        levels=levels,
    )
    return SeenAttribute(feature, attribute, values, codes)


def _levels(
    levels: FloatArray, values: FloatArray, name: Callable[[float], str]
) -> tuple[Levels, ShortArray]:
    """Return the values that there are (``levels``, in their order), and each profile's place among them, (P,)."""
    names = tuple(name(value) if np.isfinite(value) else MISSING for value in levels.tolist())
    return Levels(levels, names), np.searchsorted(levels, values).astype(np.int32)


def _ends(test: Predicate, name: str) -> Iterator[float]:
    if isinstance(test, NumericTest) and test.feature == name:
        yield from (end for end in (test.low, test.high) if np.isfinite(end))


def _lacked(case: Case, node: Node, inside: IndexArray) -> str:
    """Return an attribute that a node tests and some of its records lack; "" where there is none."""
    for name in tested_columns(case, node):
        if case.population.columns[name].take(inside).missing.any():
            return name
    return ""


def tested_columns(case: Case, node: Node) -> list[str]:
    """Return the attributes that the children of a node ask about."""
    asked = (features_of(case.tree.nodes[child].test) for child in node.children)
    return list(dict.fromkeys(name for names in asked for name in names))


def chosen_children(case: Case, node: Node) -> IndexArray:
    """Return which child each profile that passes a node goes to; none stops at an inner one."""
    start, end = case.members.start, case.members.end
    branch = np.zeros(int(end[node.index] - start[node.index]), dtype=np.intp)
    for position, child in enumerate(node.children):
        branch[start[child] - start[node.index] : end[child] - start[node.index]] = position
    return branch


def attribute_at(
    case: Case,
    node: Node,
    seen: SeenAttribute,
    grouping: Grouping,
    passing: Passing,
    criterion: Criterion,
) -> NodeAttribute:
    """Return an attribute at a node, as the learner saw it there."""
    return NodeAttribute(
        node=node.index,
        attribute=seen.attribute,
        grouping=grouping,
        criterion=criterion,
        profiles=passing.profiles,
        chosen=passing.chosen,
        values=seen.values[passing.place],
        codes=seen.codes[passing.place],
        records=passing.records,
        origin=Origin("split_choice", case.tree.where(node), node.index),
    )


def is_used_above(tree: Tree, node: Node, feature: Feature) -> bool:
    """Return whether a feature of categories is asked about on the way to a node."""
    if feature.numeric:
        return False
    return any(feature.name in features_of(above.test) for above in tree.path(node.index))


BEATEN = (
    "how splits were chosen, as other splits are better in the true table: the training "
    "program compared part of the columns, or has limits that the file does not contain"
)
DRAWN = (
    "other cuts of a tested column, as the training program drew the columns that it "
    "compared at random"
)
UNNAMED = "how splits on {} were chosen, as the file does not name the criterion: if you know it, add --split"
WEIGHED = "how splits were chosen where sampling weights differ, as sums of weights were compared"


def compared_rows(case: Case) -> Iterator[Row | LeftOut]:
    """Yield what is known of candidates that were no better than the chosen splits, and what is left out of them."""
    by = grower(case)
    nowhere = left_out(case, by)
    if nowhere is not None:
        yield nowhere
        return
    found = _compared(case, by, Criterion(case.knowledge.split.value))
    if case.tree.learner.criterion is None and published_criterion(case.tree) is not None:
        listed = tuple(found)
        if _is_beaten(case, listed):
            yield LeftOut(0, "", BEATEN, is_open=True)
            return
        found = iter(listed)
    yield from found


def _compared(case: Case, by: Grower, criterion: Criterion) -> Iterator[SplitFamily | LeftOut]:
    """Yield what is known of every inner node's candidates by a criterion, and what is left out of them."""
    listing = listing_of(case)
    for node in case.tree.nodes:
        inside = case.members.profiles_at(node.index)
        if node.is_leaf or not len(inside):
            continue
        not_here = left_out_at(case, node, inside, by)
        if not_here is not None:
            yield not_here
            continue
        found = compared_at(case, node, listing, by, criterion)
        yield from found if common_weight(case, inside) else _weighed(case, node, found)


def supposed_rows(case: Case, criteria: Sequence[Criterion]) -> Iterator[LeftOut]:
    """Yield the candidates by each criterion that an adversary may suppose: a table is shown only if it obeys all.

    Where the program is known it used one of them, so that what is left out by each stays so; and if the true table
    shows better splits by all of them, something else decided too. Of other programs they are a guess: what is not
    known of these proves nothing to whoever guesses.
    """
    by = grower(case)
    is_known, nowhere = is_program_known(case.knowledge, case.tree), left_out(case, by)
    if nowhere is not None:
        yield from [nowhere] if is_known else []
        return
    found = [tuple(_compared(case, by, criterion)) for criterion in criteria]
    if is_known and all(_is_beaten(case, facts) for facts in found):
        yield LeftOut(0, "", BEATEN, is_open=True)
        return
    for fact in (fact for facts in found for fact in facts):
        if isinstance(fact, SplitFamily):
            yield LeftOut(fact.node, fact.attribute, UNNAMED, possible=(fact,))
        elif is_known:
            yield replace(fact, supposed=())
        elif not fact.is_open:
            possible = (*fact.possible, *fact.implying)
            yield replace(fact, why=UNNAMED, possible=possible, implying=(), supposed=())


def drawn_rows(case: Case) -> Iterator[LeftOut]:
    """Yield, where a learner compared random parts of its columns, other cuts of the column that each node tests.

    scikit-learn looks at every cut of the columns that it draws, but for the splitter that draws cuts too: which of the
    two it was is not known here, so that this is left out.
    """
    by, learner = grower(case), case.tree.learner
    nowhere = left_out(case, by)
    if nowhere is not None:
        yield nowhere
        return
    listing = listing_of(case)
    for node in case.tree.nodes:
        inside = case.members.profiles_at(node.index)
        if node.is_leaf or not len(inside):
            continue
        here = left_out_at(case, node, inside, by)
        if here is not None or common_weight(case, inside) is None:
            yield LeftOut(node.index, "", DRAWN, is_open=True)
            continue
        names = tested_columns(case, node)
        seen_attributes = tuple(
            seen_attribute
            for seen_attribute in listing.listed
            if seen_attribute.feature.name in names
        )
        own = replace(listing, listed=seen_attributes, unlisted=())
        for found in compared_at(case, node, own, by, learner.criterion):
            if isinstance(found, LeftOut):
                yield replace(found, supposed=())
            else:
                yield LeftOut(node.index, found.attribute, DRAWN, possible=(found,))


def _is_beaten(case: Case, facts: Iterable[Row | LeftOut]) -> bool:
    """Whether a candidate would have been better than the chosen split in the true table."""
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return False
    families = ((0, family) for family in facts if isinstance(family, SplitFamily))
    over = (excess.max(initial=0.0) for _, excess in excesses(families, truth))
    return any(most > TRUTH_TOLERANCE_SHARE for most in over)


def _weighed(case: Case, node: Node, facts: Iterable[SplitFamily | LeftOut]) -> Iterator[LeftOut]:
    """Yield candidates whose records differ in weight: no row over people says that none of them was better."""
    inside = case.members.profiles_at(node.index)
    units = whole_units(case.population.weight, inside)
    for fact in facts:
        if units is None or (isinstance(fact, LeftOut) and fact.is_open):
            yield LeftOut(node.index, "", WEIGHED, is_open=True)
        elif isinstance(fact, SplitFamily):
            yield LeftOut(node.index, "", WEIGHED, possible=(replace(fact, weights=units),))
        else:
            possible, implying = (
                tuple(replace(family, weights=units) for family in families)
                for families in (fact.possible, fact.implying)
            )
            yield replace(fact, possible=possible, implying=implying, supposed=())

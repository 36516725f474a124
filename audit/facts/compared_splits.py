"""Rows of the choice of each split: what was compared at a node and was no better, or may have been compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.grower import Grower, grower
from treewarden.audit.facts.impurity_rows import excesses
from treewarden.audit.facts.node_candidates import (
    compared_at,
    left_out,
    left_out_at,
    listing_of,
    tested_columns,
)
from treewarden.audit.facts.rows import TRUTH_TOLERANCE_SHARE, LeftOut, Row, SplitFamily
from treewarden.audit.facts.weighed_rows import common_weight, whole_units
from treewarden.audit.knowledge.knowledge import published_criterion
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.tree import Node

BEATEN = (
    "how splits were chosen, as others would have been better in the true table: the learner compared part of "
    "the columns, or has limits that the file does not name"
)
DRAWN = (
    "other cuts of the column that a node tests, as the learner drew the columns that it compared"
)
WEIGHED = "how splits were chosen where sampling weights differ, as sums of weights were compared"


def compared_rows(case: Case) -> Iterator[Row | LeftOut]:
    """Yield what is known of candidates that were no better than the chosen splits, and what is left out of them."""
    by = grower(case)
    nowhere = left_out(case, by)
    if nowhere is not None:
        yield nowhere
        return
    found = _compared(case, by)
    if case.tree.learner.criterion is None and published_criterion(case.tree) is not None:
        listed = tuple(found)
        if _is_beaten(case, listed):
            yield LeftOut(0, "", BEATEN, is_open=True)
            return
        found = iter(listed)
    yield from found


def _compared(case: Case, by: Grower) -> Iterator[Row | LeftOut]:
    """Yield what is known of every inner node's candidates, and what is left out of them."""
    listing = listing_of(case)
    for node in case.tree.nodes:
        inside = case.members.of(node.index)
        if node.is_leaf or not len(inside):
            continue
        not_here = left_out_at(case, node, inside, by)
        if not_here is not None:
            yield not_here
            continue
        found = compared_at(case, node, listing, by)
        yield from found if common_weight(case, inside) else _weighed(case, node, found)


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
        inside = case.members.of(node.index)
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
                yield found
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
    inside = case.members.of(node.index)
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
            yield replace(fact, possible=possible, implying=implying)

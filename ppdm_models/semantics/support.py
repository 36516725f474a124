"""For how many people the numbers in a tree speak: what producers wrote, what it means, and whether it adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewarden.ppdm_models.semantics.consistency import (
    RELATIVE_TOLERANCE,
    contradictions,
    is_whole,
    known_sum,
    records_may_stay,
)
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tree import (
    PRIVACY,
    Node,
    Quality,
    Tree,
    completed,
    count_of,
)

ROUNDED_TOLERANCE = 0.01
"""How far total x published share may lie from a whole number and still be that number (shares are printed rounded)."""

MOST_RECORDS = 2**53
"""Whole numbers up to this one add up exactly."""

REPEATED_TOTALS = "each class repeats the total of its node"
"""What is noted of files in which the probabilities alone tell the classes apart."""

NO_COUNTS = (
    "its nodes state 0 records, so there are no counts. Its labels may have been drawn "
    "at random, as for differential privacy"
)
"""What is noted of files in which no node has any record, as learners write them whose counts are not to be told."""

REASONS = {
    Quality.EXACT: "the leaf counts sum to those of the nodes above",
    Quality.DERIVED: "the counts follow from other published numbers",
    Quality.WEIGHTED: "the numbers are sums of weights, not of people",
    Quality.NORMALISED: "the numbers are shares of each leaf, not records",
    Quality.HESSIAN: "the file gives sums of weights for each leaf, not numbers of people",
    Quality.ABSENT: "the file publishes no counts",
    Quality.INCONSISTENT: "the numbers of the file contradict each other",
}


def with_support(tree: Tree) -> Tree:
    """Return the tree with its raw numbers given their meaning, and the quality that follows.

    Raw means as the file has them: ``records`` and ``class_counts`` (None where a class is not listed) whatever the
    producer put there, ``class_shares`` where it wrote probabilities beside them.
    """
    if _says_nobody(tree):
        return _untold(tree)
    if isinstance(tree.nodes, NodeTable):
        quality = plain_quality(tree.nodes)
        if quality is not None:
            return replace(tree, quality=quality)
    for meaning in (_nothing, _shares_only, _repeated_totals, _fractions_of_one, _draws):
        found = meaning(tree)
        if found is not None:
            return found
    return _people(tree)


def checked(tree: Tree) -> Tree:
    """Return the tree, called inconsistent (with a note) where it claims people and its numbers do not add up."""
    if not tree.has_people:
        return tree
    said = next(contradictions(tree), None)
    if said is None:
        return tree
    return replace(tree, quality=Quality.INCONSISTENT, notes=(*tree.notes, said))


def plain_quality(nodes: NodeTable) -> Quality | None:
    """Recognise the common cases fast: nothing is published, or everything, in whole numbers that add up exactly."""
    counts, records = nodes.class_counts, nodes.records
    if nodes.class_shares is not None or nodes.bands is not None:
        return None
    if counts is None and records is None:
        return Quality.ABSENT
    if records is None or len(nodes) == 1:  # a single leaf of one record may be a share of it
        return None
    numbers = records[:, None] if counts is None else np.column_stack((records, counts))
    if not (numbers == np.floor(numbers)).all() or numbers.sum() > MOST_RECORDS:
        return None
    if counts is not None and (counts.sum(axis=1) != records).any():
        return None
    below = np.zeros_like(numbers)
    np.add.at(below, nodes.parents[1:], numbers[1:])
    is_inner = np.bincount(nodes.parents[1:], minlength=len(nodes)) > 0
    return Quality.EXACT if (below == numbers)[is_inner].all() else None


def _says_nobody(tree: Tree) -> bool:
    """Return whether every number of records that nodes tell is 0: no tree was grown from nobody."""
    nodes = tree.nodes
    if isinstance(nodes, NodeTable):
        if nodes.records is None or nodes.bands is not None:
            return False
        told = (
            [nodes.records] if nodes.class_counts is None else [nodes.records, nodes.class_counts]
        )
        return not any(np.nan_to_num(numbers).any() for numbers in told)
    if all(node.records is None for node in nodes):
        return False
    return not any(node.records or any(node.class_counts or ()) or node.bands for node in nodes)


def _untold(tree: Tree) -> Tree:
    """Return a tree without its numbers of records, which are those of nobody; shares that it states stay."""
    nodes = tuple(replace(node, records=None, class_counts=None) for node in tree.nodes)
    learner = replace(tree.learner, unmodelled=(*tree.learner.unmodelled, PRIVACY))
    notes = (*tree.notes, f"{tree.source}: {NO_COUNTS}")
    return with_support(replace(tree, nodes=nodes, learner=learner, notes=notes))


def _has_counts(node: Node) -> bool:
    counts = node.class_counts
    return counts is not None and (None not in counts or any(count is not None for count in counts))


def _nothing(tree: Tree) -> Tree | None:
    if any(
        node.records is not None or _has_counts(node) or node.class_shares or node.bands
        for node in tree.nodes
    ):
        return None
    nodes = tuple(replace(node, class_counts=None, class_shares=None) for node in tree.nodes)
    return replace(tree, nodes=nodes, quality=Quality.ABSENT)


def _shares_only(tree: Tree) -> Tree | None:
    if any(node.records is not None or _has_counts(node) for node in tree.nodes):
        return None
    return replace(tree, quality=Quality.NORMALISED)


def _repeated_totals(tree: Tree) -> Tree | None:
    """Statistica: each class repeats the node's total, and only the probabilities differ."""
    listed = [node for node in tree.nodes if _has_counts(node)]
    telling = (node.class_shares for node in listed if len(_listed(node)) > 1 and node.class_shares)
    differ = any(max(shares) - min(shares) > ROUNDED_TOLERANCE for shares in telling)
    if not differ or not all(map(_repeats_its_total, listed)):
        return None
    totals = [
        replace(node, records=_listed(node)[0], class_counts=None) if _has_counts(node) else node
        for node in tree.nodes
    ]
    note = f"{tree.source}: {REPEATED_TOTALS}; its own count is total x probability"
    return _people(replace(tree, nodes=tuple(totals), notes=(*tree.notes, note)))


def _repeats_its_total(node: Node) -> bool:
    listed = _listed(node)
    repeated = len(set(listed)) == 1 and node.class_shares is not None
    return repeated and node.records in (None, listed[0])


def _listed(node: Node) -> list[float]:
    return [count for count in node.class_counts or () if count is not None]


def _fractions_of_one(tree: Tree) -> Tree | None:
    """JPMML-SkLearn with scikit-learn 1.3 or newer: every leaf "holds 1 record", split into fractions."""
    for leaf in tree.leaves:
        total = known_sum(leaf)
        if total is None or not _near(total, 1.0) or leaf.records not in (None, 1.0):
            return None
    counts = [
        count for node in tree.nodes for count in (node.class_counts or ()) if count is not None
    ]
    if all(map(is_whole, counts)) and _inner_counts_add_up(tree):
        return None
    nodes = [
        replace(node, records=None, class_counts=None, class_shares=_as_shares(node))
        for node in tree.nodes
    ]
    note = (
        f"{tree.source}: every leaf says 1 record, so its numbers are shares; exact shares such as 0.8 still tell "
        "which small counts they can come from"
    )
    return replace(tree, nodes=tuple(nodes), quality=Quality.NORMALISED, notes=(*tree.notes, note))


def _inner_counts_add_up(tree: Tree) -> bool:
    inner = [node for node in tree.nodes if not node.is_leaf]
    with_size = all(count_of(node) is not None for node in inner)
    return bool(inner) and with_size and next(contradictions(tree), None) is None


def _as_shares(node: Node) -> tuple[float, ...] | None:
    total = known_sum(node)
    if total is None or not _near(total, 1.0):
        return None
    return tuple(count or 0.0 for count in node.class_counts or ())


def _draws(tree: Tree) -> Tree | None:
    """Forests of Nyoka and sklearn-pmml: nodes count distinct records, classes count draws with repetition."""
    both = [
        (node.records, known_sum(node))
        for node in tree.nodes
        if node.records is not None and _has_counts(node)
    ]
    if not any(drawn is not None and drawn > records for records, drawn in both):
        return None
    if any(drawn is None or drawn < records for records, drawn in both):
        return None
    sizes = replace(tree, nodes=tuple(replace(node, class_counts=None) for node in tree.nodes))
    draws = replace(tree, nodes=tuple(replace(node, records=None) for node in tree.nodes))
    if any(next(contradictions(part), None) is not None for part in (sizes, draws)):
        return None
    note = (
        f"{tree.source}: the classes of a node sum to more than its records, as they do where a bootstrap draws "
        "records repeatedly; they are draws, not people"
    )
    nodes = tuple(
        replace(node, class_shares=None) if _has_counts(node) else node for node in tree.nodes
    )
    return replace(tree, nodes=nodes, quality=Quality.WEIGHTED, notes=(*tree.notes, note))


def _people(tree: Tree) -> Tree:
    distrusted = [
        node
        for node in tree.nodes
        if node.children and node.records == 0 and (known_sum(node) or 0) > 0
    ]
    believed = {node.index: replace(node, records=known_sum(node)) for node in distrusted}
    nodes = [believed.get(node.index, node) for node in tree.nodes]
    nodes = [
        node
        if node.class_counts is None or None not in node.class_counts
        else replace(node, class_counts=completed(node.class_counts, node.records))
        for node in nodes
    ]
    notes = list(tree.notes)
    if distrusted:
        first = tree.where(distrusted[0])
        notes.append(
            f"{first}: the node states 0 records, but its classes have some. The classes "
            f"are used ({len(distrusted)} nodes)"
        )
    nodes, is_derived, misfit = _from_shares(nodes)
    quality = Quality.DERIVED if is_derived else Quality.EXACT
    numbers = {number for node in nodes for number in (node.records, *(node.class_counts or ()))}
    if not all(number is None or is_whole(number) for number in numbers):
        quality = Quality.WEIGHTED
        notes.append(
            f"{tree.source}: the counts are not whole, so they are sums of weights, not of people"
        )
    judged = replace(tree, nodes=tuple(nodes), quality=quality, notes=tuple(notes))
    said = next(contradictions(judged), None)
    if misfit is not None:
        said = f"{tree.where(misfit)}: its probabilities do not fit its counts, and are left out"
    if said is None:
        return _differenced(judged) if judged.has_people else judged
    return replace(judged, quality=Quality.INCONSISTENT, notes=(*judged.notes, said))


def _differenced(tree: Tree) -> Tree:
    """Return the tree with each count that follows from its parent's and its siblings' filled in, and a note."""
    nodes = list(tree.nodes)
    stays: frozenset[int] | None = None
    found: list[int] = []
    for node in tree.nodes:
        children = [nodes[child] for child in node.children]
        if not any(_is_open(child) for child in children):
            continue
        stays = records_may_stay(tree) if stays is None else stays
        for child in () if node.index in stays else children:
            others = [other for other in children if other is not child]
            filled = _by_difference(nodes[node.index], child, others)
            if filled != child:
                nodes[child.index] = filled
                found.append(child.index)
    if not found:
        return tree
    sure = replace(tree, nodes=tuple(nodes), quality=Quality.DERIVED)
    if next(contradictions(sure), None) is not None:
        return tree
    more = f" (and so for {len(found) - 1} more nodes)" if len(found) > 1 else ""
    note = f"{tree.where(tree.nodes[found[0]])}: its count is left out, but is its parent's less its siblings'{more}"
    return replace(sure, notes=(*tree.notes, note))


def _is_open(node: Node) -> bool:
    return count_of(node) is None or None in (node.class_counts or (None,))


def _by_difference(parent: Node, child: Node, others: Sequence[Node]) -> Node:
    records = _remaining_count(count_of(parent), [count_of(node) for node in others])
    if child.records is None and count_of(child) is None and records is not None:
        child = replace(child, records=records)
    if parent.class_counts is None:
        return child
    known = child.class_counts or (None,) * len(parent.class_counts)
    if child.class_shares is not None or None not in known:
        return child
    counts = completed(
        tuple(
            _remaining_count(total, [_count(node, place) for node in others])
            if own is None
            else own
            for place, (own, total) in enumerate(zip(known, parent.class_counts, strict=True))
        ),
        child.records,
    )
    return child if all(count is None for count in counts) else replace(child, class_counts=counts)


def _count(node: Node, place: int) -> float | None:
    return None if node.class_counts is None else node.class_counts[place]


def _remaining_count(total: float | None, others: Sequence[float | None]) -> float | None:
    known = [other for other in others if other is not None]
    if total is None or len(known) < len(others):
        return None
    rest = total - math.fsum(known)
    return rest if rest >= 0 else None


def _from_shares(nodes: Sequence[Node]) -> tuple[list[Node], bool, Node | None]:
    """Turn total x share into counts, where that gives whole numbers at every node that has both.

    Returned with whether it did, and the first node whose shares do not fit the counts it lists. Shares beside counts
    say nothing more and are dropped.
    """
    products = {
        node.index: _rounded(node)
        for node in nodes
        if node.class_shares
        and (None in (node.class_counts or (None,)))
        and _total(node) is not None
    }
    usable = bool(products) and all(counts is not None for counts in products.values())
    settled: list[Node] = []
    misfit = None
    for node in nodes:
        counts = products.get(node.index) if usable else None
        if counts is not None:
            node = replace(node, class_counts=counts, class_shares=None)
        elif node.class_counts is not None and node.class_shares is not None:
            misfit = misfit or (node if None in node.class_counts else None)
            node = replace(node, class_shares=None)
        settled.append(node)
    return settled, usable, misfit


def _total(node: Node) -> float | None:
    """Return how many records a node with shares holds: as published, or from one class's count and share."""
    if node.records is not None:
        return node.records
    pairs = zip(node.class_counts or (), node.class_shares or (), strict=False)
    return next((float(round(count / share)) for count, share in pairs if count and share), None)


def _rounded(node: Node) -> tuple[float, ...] | None:
    total, shares = _total(node), node.class_shares
    assert total is not None
    assert shares is not None
    products = [total * share for share in shares]
    counts = tuple(float(round(product)) for product in products)
    exact = all(abs(a - b) <= ROUNDED_TOLERANCE for a, b in zip(counts, products, strict=True))
    known = zip(node.class_counts or (), counts, strict=False)
    fits = all(listed is None or listed == count for listed, count in known)
    return counts if exact and fits and math.fsum(counts) == total else None


def _near(number: float, expected: float) -> bool:
    return abs(number - expected) <= RELATIVE_TOLERANCE

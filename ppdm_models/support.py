"""For how many people the numbers in a tree speak: what producers wrote, what it means, and whether it adds up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ppdm_models.consistency import RELATIVE_TOLERANCE, contradictions, is_whole, known_sum
from ppdm_models.tree import Node, Quality, Tree, completed, count_of

ROUNDED_TOLERANCE = 0.01
"""How far total x published share may lie from a whole number and still be that number (shares are printed rounded)."""

REASONS = {
    Quality.EXACT: "the numbers are whole and add up",
    Quality.DERIVED: "the counts follow from other published numbers",
    Quality.WEIGHTED: "the numbers are sums of weights, not of people",
    Quality.NORMALISED: "the numbers are shares of each leaf, not records",
    Quality.HESSIAN: "the numbers are second derivatives of a loss, not records",
    Quality.ABSENT: "the file publishes no counts",
    Quality.INCONSISTENT: "the numbers of the file contradict each other",
}


def with_support(tree: Tree) -> Tree:
    """Return the tree with its raw numbers given their meaning, and the quality that follows.

    Raw means as the file has them: ``records`` and ``class_counts`` (None where a class is not listed) whatever the
    producer put there, ``class_shares`` where it wrote probabilities beside them.
    """
    for meaning in (_nothing, _shares_only, _repeated_totals, _fractions_of_one):
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


def describe(tree: Tree) -> dict[str, object]:
    """Return what a tree publishes, ready for JSON.

    ``support.records`` and ``support.smallest_leaf`` are None where no published number counts people; ``publishes``
    says how many leaves tell their label, their size, the rates and the counts of their classes; ``notes`` is what the
    reader found remarkable, such as children that overlap.
    """
    used = {feature.name for feature in tree.used_features()}
    return {
        "trees": 1,
        "nodes": len(tree.nodes),
        "leaves": len(tree.leaves),
        "depth": tree.depth,
        "task": str(tree.task),
        "target": tree.target,
        "classes": list(tree.classes),
        "features": [
            {
                "name": feature.name,
                "type": "numeric" if feature.numeric else "categorical",
                "tested": feature.name in used,
            }
            for feature in tree.features
        ],
        "criterion": None if tree.learner.criterion is None else str(tree.learner.criterion),
        "support": _support(tree),
        "publishes": {
            "labels": sum(leaf.score is not None for leaf in tree.leaves),
            "sizes": sum(count_of(leaf) is not None for leaf in tree.leaves)
            if tree.has_people
            else 0,
            "rates": sum(
                leaf.class_shares is not None or _has_counts(leaf) for leaf in tree.leaves
            ),
            "counts": sum(_has_counts(leaf) for leaf in tree.leaves) if tree.has_people else 0,
        },
        "notes": list(tree.notes),
    }


def _support(tree: Tree) -> dict[str, object]:
    sizes = (
        [size for size in map(count_of, tree.leaves) if size is not None] if tree.has_people else []
    )
    total = count_of(tree.root) if tree.has_people else None
    if total is None and sizes and len(sizes) == len(tree.leaves):
        total = math.fsum(sizes)
    return {
        "quality": str(tree.quality),
        "reason": REASONS[tree.quality],
        "records": total,
        "smallest_leaf": min(sizes, default=None),
    }


def _has_counts(node: Node) -> bool:
    return node.class_counts is not None and any(count is not None for count in node.class_counts)


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
    note = f"{tree.source}: each class repeats the total of its node; its own count is total x probability"
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
        if node.class_counts is None
        else replace(node, class_counts=completed(node.class_counts, node.records))
        for node in nodes
    ]
    notes = list(tree.notes)
    if distrusted:
        first = tree.where(distrusted[0])
        notes.append(
            f"{first}: says 0 records, but its classes hold some; they are believed ({len(distrusted)} nodes)"
        )
    nodes, is_derived, misfit = _from_shares(nodes)
    quality = Quality.DERIVED if is_derived else Quality.EXACT
    numbers = [number for node in nodes for number in (node.records, *(node.class_counts or ()))]
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
        return judged
    return replace(judged, quality=Quality.INCONSISTENT, notes=(*judged.notes, said))


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

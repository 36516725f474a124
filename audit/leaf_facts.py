"""What each place where records stop says about their classes, at the level the adversary is assumed to have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from audit.constraints import Case
from audit.knowledge import LeafLevel
from audit.posterior import FloatArray
from audit.reading import Undetermined
from ppdm_models.errors import KnowledgeError
from ppdm_models.tree import Band, Node, Tree, completed

ROUNDING_SHARE = 1e-6
"""How far a published share may be from the whole record it stands for: what printing it loses."""


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """A node where records stop: how many, its label's class (None: no label), and each class's known mass or None.

    ``bands`` are what each class's mass lies between where the file says only that, empty where it says nothing of it.
    ``is_published`` is false where the masses were taken from the table because the file does not give them.
    """

    node: Node
    records: float
    label: int | None
    masses: tuple[float | None, ...]
    is_published: bool
    bands: tuple[Band | None, ...] = ()


def leaf_facts(case: Case) -> Iterator[LeafFacts]:
    """Yield the facts of every node where records stop, in document order.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    population = case.population
    size = np.bincount(population.leaf, weights=population.counts, minlength=len(case.tree.nodes))
    truth = _true_masses(case)
    for index in np.unique(population.leaf):
        node = case.tree.nodes[index]
        records = float(size[index])
        label = case.tree.classes.index(node.score) if node.score in case.tree.classes else None
        published = _published(case.tree, node, records)
        masses, from_file = _at_level(
            case, node, label, published, None if truth is None else truth[index]
        )
        as_published = case.knowledge.leaf is LeafLevel.AS_PUBLISHED
        bands = node.bands if as_published and node.bands is not None else ()
        yield LeafFacts(node, records, label, masses, from_file, bands)


def _true_masses(case: Case) -> FloatArray | None:
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return None
    sums = np.zeros((len(case.tree.nodes), truth.shape[1]))
    np.add.at(sums, case.population.leaf, truth)
    return sums


def _published(tree: Tree, node: Node, records: float) -> tuple[float | None, ...]:
    """Return what the file says of the records that stop at a node.

    Shares become masses because the adversary can count the node's records himself. For an inner node where records
    stop, its children's numbers are taken off where all are given.
    """
    unknown: tuple[float | None, ...] = (None,) * len(tree.classes)
    if node.class_counts is not None:
        own = node.class_counts
        for child in node.children:
            counts = tree.nodes[child].class_counts
            own = (
                unknown
                if counts is None
                else tuple(_minus(a, b) for a, b in zip(own, counts, strict=True))
            )
        return completed(own, records)
    if node.class_shares is not None and node.is_leaf:
        return tuple(_whole(share * records, records) for share in node.class_shares)
    return unknown


def published_below(tree: Tree, node: Node, records: float) -> tuple[float | None, ...]:
    """Return what the file says of all ``records`` that pass an inner node, by class; None where it does not say."""
    if node.class_counts is not None and tree.has_people:
        return completed(node.class_counts, records)
    if node.class_shares is not None:
        masses = [_whole(share * records, records) for share in node.class_shares]
        # Shares of rounded digits that stand for no whole record say less than they seem to.
        return tuple(mass if mass == round(mass) else None for mass in masses)
    return (None,) * len(tree.classes)


def _whole(mass: float, records: float) -> float:
    """Return the whole number that a rounded share stands for, where it is one."""
    return (
        float(round(mass))
        if abs(mass - round(mass)) <= ROUNDING_SHARE * max(records, 1.0)
        else mass
    )


def _minus(total: float | None, part: float | None) -> float | None:
    return None if total is None or part is None else total - part


def _at_level(
    case: Case,
    node: Node,
    label: int | None,
    published: tuple[float | None, ...],
    truth: FloatArray | None,
) -> tuple[tuple[float | None, ...], bool]:
    """Return the masses the adversary has at this level, and whether the file gives them."""
    level = case.knowledge.leaf
    nothing: tuple[float | None, ...] = (None,) * len(published)
    if level is LeafLevel.LABELS:
        return nothing, True
    if level is LeafLevel.AS_PUBLISHED:
        return published, True
    wanted = [label] if level is LeafLevel.RATES else list(range(len(published)))
    if label is None and level is LeafLevel.RATES:
        return nothing, True
    if all(published[klass] is not None for klass in wanted if klass is not None):
        source, from_file = published, True
    elif truth is not None:
        source, from_file = tuple(float(count) for count in truth), False
    else:
        raise KnowledgeError(
            case.tree.where(node),
            f"leaf = {level.value!r} needs numbers that the file does not publish and the table cannot give; "
            "choose leaf = 'as-published' or name the sensitive column",
        )
    return tuple(
        source[klass] if klass in wanted else None for klass in range(len(source))
    ), from_file

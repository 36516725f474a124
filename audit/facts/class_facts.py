"""Class facts: what each node says about the classes of the records there, at the adversary's level of knowledge."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.facts.rows import Case, LeftOut, Linear, Origin, once, once_per_case
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.population.table_counts import half_unit, has_sums, printed_half
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, grouped
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.tree import Band, Node, completed

ROUNDING_SHARE = 1e-6
"""How far a published share may be from the whole record it stands for: what printing it loses."""


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """A node where records stop: how many, its label's class (None: no label), and each class's known mass or None.

    Numbers are what the file counts: records, or the sums of their sampling weights, of which printing may have taken
    ``half`` a unit of the last decimal. ``bands`` are what each class's mass lies between where the file says only
    that, empty where it says nothing of it.
    ``is_published`` is false where the masses were taken from the table because the file does not give them.
    """

    node: Node
    records: float
    label: int | None
    masses: tuple[float | None, ...]
    is_published: bool
    bands: tuple[Band | None, ...] = ()
    half: float = 0.0


@once
def leaf_facts(case: Case) -> Iterator[LeafFacts]:
    """Return the facts of every node where records stop, in document order.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    population = case.population
    size = np.bincount(
        population.leaf, weights=population.weighed_counts, minlength=len(case.tree.nodes)
    )
    truth, printing = true_masses(case), Printing.from_case(case)
    for index in np.flatnonzero(np.bincount(population.leaf)).tolist():
        node = case.tree.nodes[index]
        records = float(size[index])
        label = case.tree.classes.index(node.score) if node.score in case.tree.classes else None
        published = _published(case, node, records)
        masses, from_file = _at_level(
            case, node, label, published, None if truth is None else truth[index]
        )
        as_published = case.knowledge.leaf is LeafLevel.AS_PUBLISHED
        bands = node.bands if as_published and node.bands is not None else ()
        half = printing.of_node(node, records)
        yield LeafFacts(
            node=node,
            records=records,
            label=label,
            masses=masses,
            is_published=from_file,
            bands=bands,
            half=half,
        )


def are_classes_counted(case: Case) -> bool:
    """Whether the number of each class is known wherever records stop, so that it is at every node.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    return not any(None in facts.masses for facts in leaf_facts(case))


@once_per_case
def true_masses(case: Case) -> FloatArray | None:
    """Return what a file counts of each class that stops at each node in the true table, (N, m); None: not known."""
    truth = case.population.weighed_truth
    if isinstance(truth, Undetermined):
        return None
    return grouped(case.population.leaf, truth, len(case.tree.nodes))


@dataclass(frozen=True, slots=True)
class Printing:
    """Half a unit of the last decimal that a file prints of weighed counts, and of shares; 0 where people count once.

    Counts of people are whole, so that no digit of theirs is lost.
    """

    count: float = 0.0
    share: float = 0.0

    @classmethod
    def from_case(cls, case: Case) -> Printing:
        """Return how precisely the file of a case prints."""
        if case.population.weight is None:
            return cls()
        shares = [share for node in case.tree.nodes for share in node.class_shares or ()]
        return cls(printed_half(case.tree), half_unit(shares))

    def of_node(self, node: Node, records: float) -> float:
        """Return how far printing may have moved the masses of a node with so many weighed records."""
        return self.count if node.class_counts is not None else self.share * records


def _published(case: Case, node: Node, records: float) -> tuple[float | None, ...]:
    """Return what the file says of the records that stop at a node.

    Shares become masses because the adversary can count the node's records. For an inner node where records
    stop, its children's numbers are taken off where all are given.
    """
    tree = case.tree
    unknown: tuple[float | None, ...] = (None,) * len(tree.classes)
    if are_unread_weights(case):
        return unknown
    if node.class_counts is not None:
        own = node.class_counts
        for child in node.children:
            counts = tree.nodes[child].class_counts
            own = (
                unknown
                if counts is None
                else tuple(_minus(a, b) for a, b in zip(own, counts, strict=True))
            )
        return _completed(case, own, records)
    if node.class_shares is not None and node.is_leaf:
        if case.population.weight is not None:
            return tuple(share * records for share in node.class_shares)
        return tuple(_whole(share * records, records) for share in node.class_shares)
    return unknown


@once_per_case
def are_unread_weights(case: Case) -> bool:
    """Whether the file's class numbers are sums of weights that nobody named, and no truth need show it.

    Those of a learner that weighs classes are; other sums are held against the table.
    """
    people, weighs = case.population, case.tree.learner.weighs_classes
    is_unnamed = people.hides_weights(case.tree)
    return is_unnamed and (weighs or isinstance(people.truth, Undetermined))


def published_below(case: Case, node: Node, records: float) -> tuple[float | None, ...]:
    """Return what the file says of all ``records`` that pass an inner node, by class; None where it does not say."""
    tree, is_weighed = case.tree, case.population.weight is not None
    if node.class_counts is not None and (has_sums(tree) if is_weighed else tree.has_people):
        return _completed(case, node.class_counts, records)
    if node.class_shares is not None:
        if is_weighed:
            return tuple(share * records for share in node.class_shares)
        masses = [_whole(share * records, records) for share in node.class_shares]
        # Shares of rounded digits that stand for no whole record say less than they seem to.
        return tuple(mass if mass == round(mass) else None for mass in masses)
    return (None,) * len(tree.classes)


def _completed(
    case: Case, counts: tuple[float | None, ...], records: float
) -> tuple[float | None, ...]:
    """Return class numbers with what subtraction reveals; sums of weights agree only but for rounding."""
    if case.population.weight is not None:
        known = math.fsum(count for count in counts if count is not None)
        if abs(records - known) <= ROUNDING_SHARE * records:
            return completed(counts, known)
    return completed(counts, records)


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
            f"leaf = {level.value!r} needs numbers that neither the file nor the table contains; "
            "use leaf = 'as-published' or name the sensitive column",
        )
    return tuple(
        source[klass] if klass in wanted else None for klass in range(len(source))
    ), from_file


# Class facts of inner nodes: what each publishes of all records that pass it, and what its parts imply.

Masses = tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class InnerFacts:
    """One inner node: its profiles, their records, and the records of each class, None where they are not known.

    ``told`` is what the node itself publishes, ``below`` the sum of what is known of its parts. Numbers are what the
    file counts: records, or the sums of their sampling weights, of which printing may have taken ``half`` a unit.
    """

    node: Node
    inside: IndexArray
    records: float
    told: Masses
    below: Masses
    half: float = 0.0

    @property
    def masses(self) -> Masses:
        """The records of each class, from the node itself or from below."""
        return tuple(
            mine if mine is not None else sum_
            for mine, sum_ in zip(self.told, self.below, strict=True)
        )


@once
def inner_facts(case: Case) -> Iterator[InnerFacts]:
    """Return the facts of every inner node, each after those below it.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
    """
    tree, printing = case.tree, Printing.from_case(case)
    nothing = (0.0,) * len(tree.classes)
    stopping: dict[int, Masses] = {facts.node.index: facts.masses for facts in leaf_facts(case)}
    known: dict[int, Masses] = {}
    counted = case.population.weighed_counts[case.members.order]
    for node in reversed(tree.nodes):
        if not node.children:
            known[node.index] = stopping.get(
                node.index, nothing
            )  # a leaf with nobody has no mass of any class
            continue
        parts = [known[child] for child in node.children]
        if node.index in stopping:
            parts.append(stopping[node.index])
        inside = case.members.profiles_at(node.index)
        records = float(counted[case.members.place(node.index)].sum())
        told, half = published_below(case, node, records), printing.of_node(node, records)
        facts = InnerFacts(node, inside, records, told, _summed(parts), half)
        known[node.index] = facts.masses
        yield facts


def _summed(parts: list[Masses]) -> Masses:
    return tuple(
        None if any(mass is None for mass in column) else float(sum(mass or 0.0 for mass in column))
        for column in zip(*parts, strict=True)
    )


# Labels where the learner may have left out incomplete records: the label is right for the records that it saw.

WHY = "labels, as records there lack values, which the learner may have left out"


def label_in_doubt(
    case: Case,
    passed_over: FloatArray,
    node: int,
    profiles: IndexArray,
    label: int,
    margin: float,
    before: Collection[int] = (),
) -> LeftOut | None:
    """Return that a label leads whichever incomplete records were left out; None where all are complete.

    It does where it leads by ``margin``, and by a whole record the classes of ``before``, when none of the incomplete
    records of its own class counts, and all of the others do. ``passed_over`` are those of each profile, (P,).
    """
    lacking, counts = passed_over[profiles], case.population.counts[profiles]
    if not lacking.any():
        return None
    if case.population.weight is not None:
        return LeftOut(node, "", WHY, is_open=True)
    is_complete = lacking < counts
    # Of a profile of which some are complete, nobody knows what these are.
    missed = float(lacking[is_complete].sum())
    origin = Origin("leaf_label", case.tree.where(case.tree.nodes[node]), node)
    rows = tuple(
        Linear(
            np.concatenate([profiles, profiles]),
            np.repeat(np.array([label, klass], dtype=np.intp), len(profiles)),
            np.concatenate([is_complete.astype(np.float64), -np.ones(len(profiles))]),
            missed + max(margin, float(klass in before)),
            np.inf,
            origin,
        )
        for klass in range(len(case.tree.classes))
        if klass != label
    )
    return LeftOut(node, "", WHY, lines=rows)

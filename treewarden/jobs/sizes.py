"""How large an audit is, from one look at its people: counted without forming a row or solving anything."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.adversary.knowledge import LeafLevel, SplitLevel, resolved
from treewarden.audit.facts.split_families import MOST_BINS_FOR_SUBSETS
from treewarden.audit.people.members import Members, members
from treewarden.audit.people.population import Population
from treewarden.jobs.subject import Subject
from treewarden.ppdm_models.arrays import IndexArray, alike
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Task, Tree

MOST_PLACES = 50_000_000
"""Leaves times values of an attribute up to which it is counted which value is where; beyond, each may be anywhere."""
FULL = (LeafLevel.COUNTS, LeafLevel.AS_PUBLISHED)
"""Levels at which a row may stand for each class of a leaf."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """What an audit has to deal with.

    ``signatures`` are kinds of people that some row may tell apart: the estimate has at most so many lumps of profiles.
    ``knowledge_rows`` say what leaves hold, ``candidates`` how splits were chosen (at most), and ``touched`` is how
    many profiles all these candidates are about, each attribute of each node counted once. ``splits`` are nodes whose
    choice is held against estimates. Adversaries who know only some columns take so many ``estimates``; where the
    secret is a column, nobody else is asked about.
    """

    records: float
    profiles: int
    trees: int
    leaves: int
    classes: int
    signatures: int
    knowledge_rows: int
    candidates: int
    touched: int
    adversaries: int
    releases: int
    is_by_entropy: bool = False
    splits: int = 0
    estimates: int = 0
    is_of_column: bool = False


def sizes_of(subject: Subject) -> Sizes:
    """Return how large the audit of a subject is."""
    model, people = subject.tree, subject.population
    trees = list(trees_of(model))
    signatures, rows, candidates, touched = _counted(model, people, subject)
    asked, classes = subject.asked, 0 if model.task is Task.REGRESSION else len(model.classes)
    is_of_column = asked.secret is not None
    return Sizes(
        records=people.records,
        profiles=len(people.counts),
        trees=len(trees),
        leaves=sum(tree.leaf_count for tree in trees),
        classes=classes,
        signatures=signatures,
        knowledge_rows=rows,
        candidates=candidates,
        touched=touched,
        adversaries=len(asked.partial) + (not is_of_column),
        releases=1 + len(subject.earlier),
        is_by_entropy=_is_by_entropy(model, subject),
        splits=sum(not node.is_leaf for tree in trees for node in tree.nodes) if candidates else 0,
        estimates=sum(classes if each.target else 1 for each in asked.partial),
        is_of_column=is_of_column,
    )


def _is_by_entropy(model: Model, subject: Subject) -> bool:
    if not isinstance(model, Tree):
        return False
    knowledge, _ = resolved(subject.knowledge, model)
    return knowledge.split in (SplitLevel.ENTROPY, SplitLevel.GAIN_RATIO)


def _counted(model: Model, people: Population, subject: Subject) -> tuple[int, int, int, int]:
    """Return signatures, rows of knowledge, candidates and the profiles that they touch."""
    size = len(people.counts)
    if not isinstance(model, Tree) or people.is_absent or not model.classes:
        return size, sum(tree.leaf_count for tree in trees_of(model)), 0, 0
    knowledge, _ = resolved(subject.knowledge, model)
    of_leaf = len(model.classes) if knowledge.leaf in FULL else 1
    rows = of_leaf * len(np.unique(people.leaf))
    if knowledge.split is SplitLevel.NONE:
        return len(np.unique(people.leaf)), rows, 0, 0
    names = [feature.name for feature in model.features if feature.name in people.qi]
    codes = {name: _codes(people, name) for name in names}
    signatures = len(alike([people.leaf, *codes.values()])[0])
    inside = members(model, people.leaf)
    inner = [node.index for node in model.nodes if not node.is_leaf]
    touched = len(names) * sum(len(inside.of(node)) for node in inner)
    candidates = sum(
        _splits(there, is_set=isinstance(people.columns[name], CategoricalColumn))
        for name in names
        for there in _values(model, people, inside, codes[name])
    )
    return signatures, rows, candidates, touched


def _codes(people: Population, name: str) -> IndexArray:
    return np.unique(people.columns[name].keys, return_inverse=True)[1].reshape(-1).astype(np.intp)


def _values(tree: Tree, people: Population, inside: Members, codes: IndexArray) -> Iterator[int]:
    """Yield how many values of an attribute occur at each inner node, or more where they are too many to look."""
    levels = int(codes.max(initial=-1)) + 1
    inner = [node for node in tree.nodes if not node.is_leaf]
    if len(tree.nodes) * levels > MOST_PLACES:
        yield from (min(levels, len(inside.of(node.index))) for node in inner)
        return
    is_there = np.zeros((len(tree.nodes), levels), dtype=bool)
    is_there[people.leaf, codes] = True
    for node in reversed(tree.nodes):
        if node.parent is not None:
            is_there[node.parent] |= is_there[node.index]
    yield from (int(is_there[node.index].sum()) for node in inner)


def _splits(values: int, *, is_set: bool) -> int:
    """Return how many ways there are to part so many values: cuts, or sets of them where they are few."""
    if values < 2:
        return 0
    if not is_set:
        return values - 1
    return 2 ** (values - 1) - 1 if values <= MOST_BINS_FOR_SUBSETS else values

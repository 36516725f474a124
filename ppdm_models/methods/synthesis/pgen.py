"""Pseudo records drawn from published trees, path by path: algorithms PGEN and BASEGEN.

Sharkey, Tian, Zhang & Xu (2008), section 2.2. PPGEN is PGEN on trees that algorithm APT has pruned.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.errors import SynthesisError
from treewarden.ppdm_models.methods.synthesis.regions import (
    Attribute,
    Choices,
    Domains,
    LeafIntervals,
    NumericRange,
    domains_of,
    leaf_regions,
)
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.tree import (
    Node,
    Task,
    Tree,
    completed,
    count_of,
)

CHUNK_ROWS = 500_000
"""How many records are drawn at a time; what is in memory is a small multiple of it, however many are wanted."""

CELLS = 4_000_000
"""How many of the classes' limits are looked at together: of many classes they would be more than the records."""


class NumberDraw(StrEnum):
    """Which number of an interval on a leaf's path a record gets; attributes off the path are always drawn evenly."""

    UNIFORM = "uniform"
    MIDPOINT = "midpoint"
    END = "end"


class ClassSource(StrEnum):
    """What a record's class is drawn from: the leaf's hits and misses, or all its class counts."""

    HITS = "hits"
    COUNTS = "counts"


@dataclass(frozen=True, slots=True)
class DrawPlan:
    """How to draw. ``rows`` None: as many records as the leaves publish.

    ``misses`` are weights by class: how a record that is no hit gets its class (empty: all others alike).
    """

    rows: int | None = None
    seed: int = 0
    numbers: NumberDraw = NumberDraw.UNIFORM
    classes: ClassSource = ClassSource.HITS
    misses: Mapping[str, float] = field(default_factory=dict)
    domains: Domains = field(default_factory=dict)


Chunk = dict[str, Column]


def pgen(trees: Sequence[Tree], plan: DrawPlan) -> Iterator[Chunk]:
    """Yield pseudo records in chunks: each leaf as many as it publishes, or in that proportion.

    A record lies in its leaf's region and has a class drawn from what the leaf publishes; attributes that its path
    does not test, or that only other trees know, are drawn evenly from their domains.

    Raises:
        SynthesisError: a leaf publishes no counts or cannot be drawn from, the trees do not fit each other, or
            ``misses`` name a class that no tree has.
    """
    target, classes = _target(trees)
    unknown = next((label for label in plan.misses if label not in classes), None)
    if unknown is not None:
        have = ", ".join(map(repr, classes[:12]))
        raise SynthesisError(f"class {unknown!r}", f"no tree has it; use {have}")
    leaves, attributes = leaf_regions(trees, domains_of(trees, plan.domains))
    owners = [tree for tree in trees for _ in tree.leaves]
    shares = np.array(
        [
            _class_weights(tree, leaf, classes, plan)
            for tree, leaf in zip(owners, leaves, strict=True)
        ]
    )
    sizes = shares.sum(axis=1)
    wanted = np.rint(sizes) if plan.rows is None else _apportioned(sizes, plan.rows)
    upto = np.cumsum(shares / np.where(sizes > 0, sizes, 1.0)[:, None], axis=1)
    random = np.random.default_rng(plan.seed)
    for rows in _chunks(wanted.astype(np.int64), random):
        chunk = {
            name: _drawn(attribute, rows, plan.numbers, random)
            for name, attribute in attributes.items()
        }
        chosen = _chosen(random.random(len(rows)), upto[:, :-1], rows)
        chunk[target] = CategoricalColumn(codes=chosen, categories=classes)
        yield chunk


def basegen(trees: Sequence[Tree], plan: DrawPlan) -> Iterator[Chunk]:
    """Yield records drawn evenly from the whole data space and labelled by the trees, each tree an equal part of them.

    Raises:
        SynthesisError: the number of rows is not given, a tree has a leaf without a label, or the trees do not fit each
            other.
    """
    if plan.rows is None:
        raise SynthesisError(
            "BASEGEN", "nothing published says how many records to draw; give the number of rows"
        )
    target, classes = _target(trees)
    domains = domains_of(trees, plan.domains)
    everywhere = {name: _whole(domain) for name, domain in domains.items()}
    random = np.random.default_rng(plan.seed)
    for tree, rows in zip(trees, _apportioned(np.ones(len(trees)), plan.rows), strict=True):
        codes = _labels(tree, classes)
        left = int(rows)
        while left:
            size = min(left, CHUNK_ROWS)
            one = np.zeros(size, dtype=np.intp)
            chunk = {
                name: _drawn(attribute, one, NumberDraw.UNIFORM, random)
                for name, attribute in everywhere.items()
            }
            stops = route(tree, chunk)
            if (stops < 0).any():
                raise SynthesisError(
                    tree.source, "some combinations of values reach no leaf; use --method pgen"
                )
            chunk[target] = CategoricalColumn(codes=codes[stops], categories=classes)
            yield chunk
            left -= size


def _target(trees: Sequence[Tree]) -> tuple[str, tuple[str, ...]]:
    """Return the name of what the trees predict, and their classes together."""
    first = trees[0]
    for tree in trees:
        if tree.task is not Task.CLASSIFICATION or not tree.classes:
            raise SynthesisError(
                tree.source, "predicts no classes; only classification trees can be drawn from"
            )
        if tree.target != first.target:
            now, then = (
                repr(one.target) if one.target else "an unnamed target" for one in (tree, first)
            )
            problem = f"predicts {now}, but {first.source} {then}; give trees of one target"
            raise SynthesisError(tree.source, problem)
        for feature in tree.features:
            for other in trees:
                if any(
                    f.name == feature.name and f.numeric != feature.numeric for f in other.features
                ):
                    problem = (
                        f"{feature.name!r} holds numbers in one tree and categories in another"
                    )
                    raise SynthesisError(tree.source, f"{problem}; give trees of one table")
    classes = dict.fromkeys(label for tree in trees for label in tree.classes)
    tested = {feature.name for tree in trees for feature in tree.features}
    name = first.target or next(each for each in _free_names() if each not in tested)
    if name in tested:
        raise SynthesisError(first.source, f"tests its own target {name!r}")
    return name, tuple(classes)


def _free_names() -> Iterator[str]:
    """Yield what a target that no file names can be called."""
    yield "class"
    yield from (f"class_{number}" for number in itertools.count(2))


def _class_weights(tree: Tree, leaf: Node, classes: tuple[str, ...], plan: DrawPlan) -> FloatArray:
    """Return how many of a leaf's records have each class, as far as it is published and the plan believes it."""
    row = np.zeros(len(classes))
    records = count_of(leaf) if tree.has_people else None
    if records is None:
        raise SynthesisError(
            tree.where(leaf), "this leaf has no number of people; use --method basegen"
        )
    if not records:
        return row
    places = [classes.index(label) for label in tree.classes]
    counts = completed(leaf.class_counts or (), records)
    if plan.classes is ClassSource.COUNTS:
        if not counts or None in counts:
            raise SynthesisError(
                tree.where(leaf), "does not publish all its class counts; draw classes by hits"
            )
        row[places] = [float(count or 0.0) for count in counts]
        return row
    hit = tree.classes.index(str(leaf.score)) if leaf.score in tree.classes else None
    hits = None if hit is None or not counts else counts[hit]
    if hits is None and hit is not None and leaf.class_shares is not None:
        hits = records * leaf.class_shares[hit]
    if hit is None or hits is None:
        raise SynthesisError(
            tree.where(leaf), "does not publish how many have its label; draw by BASEGEN"
        )
    row[places] = (records - hits) * _spread(tree, hit, plan.misses)
    row[places[hit]] = hits
    return row


def _spread(tree: Tree, hit: int, misses: Mapping[str, float]) -> FloatArray:
    """Return how the misses of a leaf are spread over the classes."""
    weights = np.array([misses.get(label, 0.0) if misses else 1.0 for label in tree.classes])
    weights[hit] = 0.0
    if not weights.sum():  # nothing is known of the others
        weights = np.ones(len(tree.classes))
        weights[hit] = 0.0
    return np.asarray(weights / max(weights.sum(), 1.0e-300))


def _apportioned(sizes: FloatArray, rows: int) -> FloatArray:
    """Return whole numbers in proportion to sizes that sum to ``rows``: largest remainders first, ties in order."""
    total = float(sizes.sum())
    if not total:
        raise SynthesisError(
            "the trees", "no leaf holds a record, so there is nothing to draw from"
        )
    exact = sizes / total * rows
    whole = np.floor(exact)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: int(round(rows - whole.sum()))]] += 1
    return np.asarray(whole)


def _chunks(sizes: IntArray, random: np.random.Generator) -> Iterator[IndexArray]:
    """Yield the leaf of each record, in chunks and in random order; each leaf as often as is wanted."""
    left = sizes.copy()
    while (total := int(left.sum())) > 0:
        size = min(CHUNK_ROWS, total)
        taken = left if size == total else _draw_share(left, size, random)
        rows = np.repeat(np.arange(len(left)), taken)
        random.shuffle(rows)
        left = left - taken
        yield rows


def _draw_share(left: IntArray, size: int, random: np.random.Generator) -> IntArray:
    """Return how many records of each leaf are among the next ``size``: the same share of each, remainders by lot."""
    exact = left * (size / left.sum())
    taken = np.floor(exact).astype(np.int64)
    short = size - int(taken.sum())
    spare = np.flatnonzero(left > taken)
    taken[random.choice(spare, short, replace=False)] += 1
    return np.asarray(taken)


def _chosen(part: FloatArray, upto: FloatArray, rows: IndexArray) -> IntArray:
    """Return the class of each record by lot, (rows,): how many of its leaf's limits its lot has reached."""
    size = max(1, CELLS // max(1, upto.shape[1]))
    parts = [slice(start, start + size) for start in range(0, len(rows), size)]
    found = [(part[own, None] >= upto[rows[own]]).sum(axis=1) for own in parts]
    return np.concatenate(found).astype(np.int64)


def _drawn(
    attribute: Attribute, rows: IndexArray, numbers: NumberDraw, random: np.random.Generator
) -> Column:
    """Return one attribute of the records of some leaves."""
    part = random.random(len(rows))
    if isinstance(attribute, Choices):
        place = (part * attribute.size[rows]).astype(np.intp)
        codes = attribute.flat[attribute.start[rows] + place]
        return CategoricalColumn(codes=codes.astype(np.int64), categories=attribute.values)
    if numbers is not NumberDraw.UNIFORM:
        fixed = 0.5 if numbers is NumberDraw.MIDPOINT else _end(attribute)[rows]
        part = np.where(attribute.is_tested[rows], fixed, part)
    low, high = attribute.low[rows], attribute.high[rows]
    # Rounding must not carry a value over the end that it lies beside.
    return NumericColumn(np.clip(low + part * (high - low), low, high))


def _end(attribute: LeafIntervals) -> FloatArray:
    """Return 1 where a leaf's interval is cut above, 0 where it is cut below only: its end that the tree tests."""
    return np.asarray(attribute.high < attribute.high.max(), dtype=np.float64)


def _whole(domain: NumericRange | tuple[str, ...]) -> Attribute:
    if isinstance(domain, NumericRange):
        return LeafIntervals(np.array([domain.low]), np.array([domain.high]), np.array([False]))
    size = len(domain)
    return Choices(domain, np.arange(size), np.zeros(1, dtype=np.intp), np.array([size]))


def _labels(tree: Tree, classes: tuple[str, ...]) -> IntArray:
    """Return the code of each node's label; of inner nodes too, as some trees stop there."""
    bare = next((leaf for leaf in tree.leaves if leaf.score not in classes), None)
    if bare is not None:
        raise SynthesisError(
            tree.where(bare),
            "this leaf predicts no class, so no records can be drawn from the tree; give a tree whose "
            "leaves all predict a class",
        )
    return np.array(
        [classes.index(str(n.score)) if n.score in classes else 0 for n in tree.nodes],
        dtype=np.int64,
    )

"""Ways of publishing less at a node, mildest first, and which of them a leaf needs.

Record counts go last and are never what a leaf needs: whoever knows everybody's quasi-identifiers counts the
records of each leaf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.entropy.posterior import certain
from treewarden.audit.evidence import NOT_RUN, Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import Measure, measures
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import LeafKnowledge, closed_form, complete
from treewarden.audit.withholding_costs import BAND_WIDTH
from treewarden.policies.pack import Pack
from treewarden.policies.rules import Rule, rules
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.semantics.consistency import is_whole, records_may_stay
from treewarden.ppdm_models.tables.predict import VOTES, predict
from treewarden.ppdm_models.tree.column import Columns
from treewarden.ppdm_models.tree.ensemble import Ensemble, with_trees
from treewarden.ppdm_models.tree.tree import (
    Band,
    Node,
    Tree,
    completed,
    count_of,
)

CLASS_COUNTS = "class counts"
ERROR_RATES = "error rates"
INNER_LABELS = "labels of inner nodes"
RECORD_COUNTS = "record counts"
FINER = "finer than"


@dataclass(frozen=True, slots=True)
class WithholdingStep:
    """One way of publishing less: what is withheld, in words, and what is left of a leaf."""

    withheld: tuple[str, ...]
    title: str
    leaf: Callable[[Tree, Node], Node]


def banded(base: int) -> Callable[[Tree, Node], Node]:
    """Return what gives a leaf's class counts as bands of ``base`` numbers: 0 to 4, 5 to 9, ... for 5."""

    def change(tree: Tree, node: Node) -> Node:
        counts, records = _counts(node), count_of(node)
        bare = label_only(tree, node)
        if not _can_be_banded(tree, counts) or records is None:
            return bare
        bands = tuple(None if count is None else _band(count, base, records) for count in counts)
        return replace(bare, bands=bands)

    return change


def _can_be_banded(tree: Tree, counts: Sequence[float | None]) -> bool:
    known = [count for count in counts if count is not None]
    return tree.has_people and bool(known) and all(map(is_whole, known))


def _band(count: float, base: int, records: float) -> Band:
    low = base * math.floor(round(count) / base)
    return float(low), float(min(low + base - 1, records))


def rate_only(tree: Tree, node: Node) -> Node:
    """Keep of a leaf's classes the count of its label."""
    label, counts = label_of(tree, node), _counts(node)
    bare = label_only(tree, node)
    if not counts or label is None or counts[label] is None:
        return bare
    kept = tuple(count if code == label else None for code, count in enumerate(counts))
    return replace(bare, class_counts=kept)


def label_only(tree: Tree, node: Node) -> Node:
    """Keep what the node predicts and how many records it has, said outright where it followed from its counts."""
    label = label_of(tree, node)
    score = tree.classes[label] if node.score is None and label is not None else node.score
    records = count_of(node)
    return replace(
        node,
        score=score,
        records=records,
        class_counts=None,
        class_shares=None,
        bands=None,
        impurity=None,
        figures=replace(node.figures, other_splits=()),
    )


def bare_inner(tree: Tree) -> Callable[[Tree, Node], Node]:
    """Return what leaves of an inner node its records, and its label only where somebody can stop there.

    A label that predicts nothing tells which class leads among all who pass.
    """
    stays = records_may_stay(tree)

    def change(tree: Tree, node: Node) -> Node:
        bare = label_only(tree, node)
        return bare if node.index in stays else replace(bare, score=None)

    return change


def without_counts(node: Node) -> Node:
    """Keep of a node what it is without any number of people."""
    return replace(node, records=None)


BOOSTED = (
    "a boosted model predicts with its leaf values, so none of them can be withheld; round them (round_leaves), leave "
    "out trees (drop_trees), or train again with fewer rounds or larger leaves"
)
AVERAGED = (
    "this model predicts with the class shares of its leaves ({}), so they cannot be withheld; train trees with larger "
    "leaves, or a forest that takes the majority vote of its trees"
)
OTHER_PREDICTIONS = "without class counts the model predicts otherwise, so they cannot be withheld"
Leaf = tuple[int, int]
"""The tree and the node of a leaf."""


def withhold_counts(
    forest: Forest,
    columns: Columns,
    withheld: Set[Leaf] | None,
    in_bands: Set[Leaf] = frozenset(),
) -> Ensemble | str:
    """Return several trees without the class counts of some leaves, all where None is given; or why that cannot be.

    Those of the leaves ``in_bands`` become bands. Labels and record counts stay, so that trees which vote predict what
    they did. Inner nodes keep no class numbers.
    """
    model = forest.model
    assert isinstance(model, Ensemble)
    if model.growth is not None:
        return BOOSTED
    averaging = [part.combination for part in model.ensembles if part.combination not in VOTES]
    if averaging:
        return AVERAGED.format(averaging[0].value.replace("-", " "))
    trees = []
    for number, tree in enumerate(forest.trees):
        inner = bare_inner(tree)
        nodes = tuple(
            inner(tree, node)
            if not node.is_leaf
            else label_only(tree, node)
            if withheld is None or (number, node.index) in withheld
            else banded(BAND_WIDTH)(tree, node)
            if (number, node.index) in in_bands
            else node
            for node in tree.nodes
        )
        trees.append(replace(tree, nodes=nodes, unused=()))
    found = with_trees(model, iter(trees))
    before, after = predict(model, columns), predict(found, columns)
    return found if np.array_equal(before, after, equal_nan=True) else OTHER_PREDICTIONS


def _counts(node: Node) -> tuple[float | None, ...]:
    return completed(node.class_counts or (), count_of(node))


def _banded_rate(base: int) -> Callable[[Tree, Node], Node]:
    return lambda tree, node: banded(base)(tree, rate_only(tree, node))


def steps(bases: Sequence[int]) -> tuple[WithholdingStep, ...]:
    """Return what a leaf may need to withhold, mildest first; the last step leaves labels and record counts."""
    kept = "predicted classes, record counts and"
    return (
        *(
            WithholdingStep(
                (f"{CLASS_COUNTS} {FINER} {base}",),
                f"publish class counts as ranges of {base}; {kept} these ranges stay",
                banded(base),
            )
            for base in bases
        ),
        WithholdingStep(
            (CLASS_COUNTS,), f"withhold the class counts; {kept} error rates stay", rate_only
        ),
        *(
            WithholdingStep(
                (CLASS_COUNTS, f"{ERROR_RATES} {FINER} {base}"),
                f"withhold the class counts and publish error rates as ranges of {base} records",
                _banded_rate(base),
            )
            for base in bases
        ),
        WithholdingStep(
            (CLASS_COUNTS, ERROR_RATES),
            "withhold the class counts and the error rates; labels and record counts stay",
            label_only,
        ),
    )


@dataclass(frozen=True, slots=True)
class LeafRequirement:
    """A clause about the adversary's estimate, ready to be held against many leaves."""

    measure: Measure
    parameters: Mapping[str, float | str]
    rule: Rule
    limit: float

    def is_met(self, evidence: Evidence) -> bool:
        """Return whether the clause passes; one that cannot be told has no say."""
        reading = self.measure.read(evidence, self.parameters).reading
        if isinstance(reading, Undetermined):
            return True
        return self.rule.judge(reading, self.limit) is PolicyVerdict.PASS


def demands(pack: Pack) -> tuple[LeafRequirement, ...]:
    """Return what withholding numbers may mend of the clauses that count.

    That is what is about the estimate, not leaves or whole records. Of a combination only what it asks in any case is a
    demand, as one leaf alone does not tell the rest; and nothing withheld matters to whoever is said not to use it.
    """
    known, ways = measures(), rules()
    return tuple(
        LeafRequirement(
            known[atom.call.measure], dict(atom.call.parameters), ways[atom.rule], atom.limit
        )
        for clause in pack.counting
        if clause.under is None or clause.under.leaf is None
        for atom in clause.demanded
        if not known[atom.call.measure].is_of_leaves
        and not known[atom.call.measure].is_of_worlds
        and not known[atom.call.measure].is_of_file
    )


def passes(
    tree: Tree,
    node: Node,
    rows: IndexArray,
    people: Population,
    leaf_requirements: Sequence[LeafRequirement],
) -> bool:
    """Return whether a leaf with what it publishes meets the clauses on its own, as far as its own numbers tell.

    The estimate is the closed form of this leaf alone: an audit that knows more may still find it wanting. ``rows`` are
    the profiles that stop there.
    """
    counts, truth, m = people.counts[rows], people.truth, len(tree.classes)
    shares = closed_form(_leaf_knowledge(tree, node, float(people.weighed_counts[rows].sum())))
    real = truth if isinstance(truth, Undetermined) else truth[rows]
    leaf = people.leaf[rows]
    evidence = Evidence(
        Forest(tree, (tree,), leaf[None, :], NOT_RUN),
        Population((), {}, counts, leaf, real),
        Knowledge(),
        certain(np.full((len(rows), m), 1 / m)),
        certain(np.tile(shares, (len(rows), 1))),
    )
    return all(demand.is_met(evidence) for demand in leaf_requirements)


def _leaf_knowledge(tree: Tree, node: Node, records: float) -> LeafKnowledge:
    """Return what a leaf's own numbers say of its classes."""
    m = len(tree.classes)
    low, high = np.zeros(m), np.full(m, records)
    if node.class_shares is not None:
        low[:] = high[:] = np.array(node.class_shares) * records
    for klass, count in enumerate(completed(node.class_counts or (), records)):
        if count is not None:
            low[klass] = high[klass] = count
    for klass, band in enumerate(node.bands or ()):
        if band is not None:
            low[klass], high[klass] = band[0], min(band[1], records)
    complete(low, high, records)
    return LeafKnowledge(
        node=node.index,
        records=records,
        low=low,
        high=high,
        label=None,
        margin=0.0,
        named=np.ones(m, dtype=bool),
    )

"""Withhold numbers: class counts, error rates, record counts, in this order. Accuracy does not change.

Class counts become bands or go, then error rates: first only in the leaves that need it, then everywhere. It lowers
what an adversary can be sure of, never what is guessed right: whoever believes the labels is right as often as before.
So it is no remedy for clauses about the leaves themselves. Numbers go at every inner node: a parent's count less those
of the other children is what a leaf withheld. So do impurities, and the labels of inner nodes where nobody stops: they
predict nothing, and tell which class leads among all who pass.

It has no claim to be the least that suffices. What withholds the least has that claim for checks of proofs, so that
its proposals are preferred where they pass; these are for all other checks, and where no least set is known.

Record counts go last, and everywhere: whoever knows all quasi-identifiers counts the records of each leaf, and the
audit assumes that. So no leaf needs it, and a tree that passes by it passes without it.

Where some leaves give less than others, whoever knows the policy can guess that their own numbers would have broken it
(the minimality attack, Wong et al. 2007). No audit reads that; where it matters, choose what is withheld everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from treewarden.audit.measures import measures
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy
from treewarden.policies.remedies._withholding import (
    CLASS_COUNTS,
    ERROR_RATES,
    FINER,
    INNER_LABELS,
    RECORD_COUNTS,
    WithholdingStep,
    bare_inner,
    demands,
    label_only,
    passes,
    steps,
    withhold_counts,
    without_counts,
)
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.tree import (
    Node,
    Tree,
    completed,
    count_of,
)

COUNTED_ANYWAY = (
    "record counts are audited as known: an adversary with everyone's quasi-identifiers can count"
)


@dataclass(frozen=True, slots=True)
class Redact(Remedy):
    """Publishes less of some leaves, each the mildest way that its own numbers ask for; then less of all.

    ``bases`` are the widths of the bands that are tried, in records, each 2 or more.
    """

    mends_leaves = False
    second_to = "withhold_least"
    bases: tuple[int, ...] = (5, 10)

    def __post_init__(self) -> None:
        if any(base < 2 for base in self.bases):
            raise ValueError(f"a band of fewer than 2 numbers hides nothing: {self.bases}")

    def using(self, taxonomies: Taxonomies, bases: tuple[int, ...] = ()) -> Remedy:
        return Redact(bases) if bases else self

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        if not _has_other_clauses(pack):
            return
        if not tree.classes:
            reason = "the tree predicts a number, so it gives no class numbers to withhold"
            yield NoProposal(("redact",), reason)
            return
        ways = _telling(tree, steps(self.bases))
        needs = _needs(tree, population, pack, ways)
        silent = _everywhere(tree, lambda tree, leaf: leaf)
        if not ways and (silent != tree or tree.unused):
            title = f"withhold the {INNER_LABELS}, where nobody stops"
            yield _proposal(tree, (INNER_LABELS,), title, silent)
        if len(set(needs.values())) > 1:
            yield _in_some_leaves(tree, ways, needs)
        worst = max(needs.values(), default=0)
        for number, step in enumerate(ways, start=1):
            # A band that some leaf's own numbers break is broken; a whole kind of number may be what the audit needs.
            if number >= worst or not _is_banded(step):
                yield _proposal(tree, step.withheld, step.title, _everywhere(tree, step.leaf))
        if any(count_of(node) is not None for node in tree.nodes):
            yield _labels_only(tree)

    def propose_all(
        self, forest: Forest, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        if not any(tree.classes for tree in forest.trees):
            yield NoProposal(("redact",), OF_NUMBERS)
            return
        found = withhold_counts(forest, population.columns, None)
        if isinstance(found, str):
            yield NoProposal(("redact",), found)
        elif found == forest.model:
            yield NoProposal(("redact",), LABELS_ONLY)
        elif _has_other_clauses(pack):
            withheld = (CLASS_COUNTS, ERROR_RATES)
            yield Proposal(("redact",), OF_ALL_TREES, found, withheld, ())


OF_NUMBERS = "a model that predicts a number publishes no class numbers that could be withheld"
LABELS_ONLY = (
    "the trees publish no class numbers that could be withheld; train fewer trees or larger leaves"
)
OF_ALL_TREES = (
    "withhold the class counts and the error rates of all trees; labels and record counts stay"
)


def _has_other_clauses(pack: Pack) -> bool:
    known = measures()
    return any(
        not (known[atom.call.measure].is_of_leaves or known[atom.call.measure].is_of_file)
        for clause in pack.counting
        for atom in clause.atoms
    )


def _is_banded(step: WithholdingStep) -> bool:
    return any(FINER in withheld for withheld in step.withheld)


def _telling(tree: Tree, ways: Sequence[WithholdingStep]) -> list[WithholdingStep]:
    """Return the steps that each leave less of this tree than the one before; the last leaves the labels."""
    *milder, last = ways
    bare = _class_statements(_everywhere(tree, last.leaf))
    withholding_steps, seen = [], [_class_statements(tree)]
    for step in milder:
        told = _class_statements(_everywhere(tree, step.leaf))
        if told not in seen and told != bare:
            withholding_steps.append(step)
            seen.append(told)
    inner = [node for node in tree.nodes if not node.is_leaf]
    if bare != seen[0] or any(node != label_only(tree, node) for node in inner):
        withholding_steps.append(last)
    return withholding_steps


def _needs(
    tree: Tree, population: Population, pack: Pack, ways: list[WithholdingStep]
) -> Mapping[int, int]:
    """Return for each node where records stop how many steps it needs: 0 as it is, the last where none is enough."""
    order = np.argsort(population.leaf, kind="stable")
    stops, starts = np.unique(population.leaf[order], return_index=True)
    found, leaf_requirements = {}, demands(pack)
    for index, rows in zip(stops.tolist(), np.split(order, starts[1:]), strict=True):
        node = tree.nodes[index]
        forms = chain([node], (step.leaf(tree, node) for step in ways))
        met = (passes(tree, form, rows, population, leaf_requirements) for form in forms)
        found[index] = next((n for n, is_met in enumerate(met) if is_met), len(ways))
    return found


def _in_some_leaves(tree: Tree, ways: list[WithholdingStep], needs: Mapping[int, int]) -> Proposal:
    def change(tree: Tree, node: Node) -> Node:
        number = needs.get(node.index, 0)
        return ways[number - 1].leaf(tree, node) if number else node

    kinds = [kind for way in ways for kind in way.withheld]
    parts = []
    for kind in dict.fromkeys(kinds):
        touched = sum(kind in ways[n - 1].withheld for n in needs.values() if n)
        if touched:
            parts.append(f"{kind} in {touched} of {len(tree.leaves)} leaves")
    title = f"withhold the {' and the '.join(parts)}; labels and record counts stay"
    return _proposal(tree, tuple(parts), title, _everywhere(tree, change))


def _labels_only(tree: Tree) -> Proposal:
    bare = _everywhere(tree, label_only)
    nodes = tuple(map(without_counts, bare.nodes))
    numbers = [n.class_counts or n.class_shares or n.bands for n in tree.nodes]
    withheld = (CLASS_COUNTS, ERROR_RATES) if any(numbers) else ()
    kinds = [f"the {kind}" for kind in (*withheld, RECORD_COUNTS)]
    said = " and ".join([part for part in (", ".join(kinds[:-1]), kinds[-1]) if part])
    title = f"withhold {said}: labels only; {COUNTED_ANYWAY}"
    return _proposal(tree, (*withheld, RECORD_COUNTS), title, replace(bare, nodes=nodes))


def _everywhere(tree: Tree, change: Callable[[Tree, Node], Node]) -> Tree:
    inner = bare_inner(tree)
    nodes = [change(tree, n) if n.is_leaf else inner(tree, n) for n in tree.nodes]
    return replace(tree, nodes=tuple(nodes), unused=())


def _proposal(tree: Tree, withheld: tuple[str, ...], title: str, changed: Tree) -> Proposal:
    return Proposal(("redact",), title, changed, withheld, tuple(range(len(tree.nodes))))


def _class_statements(tree: Tree) -> list[tuple[object, ...]]:
    """Return what leaves tell of classes, with what simple subtraction reveals."""
    return [
        (
            n.class_counts and completed(n.class_counts, count_of(n)),
            n.class_shares,
            n.bands,
            n.impurity,
        )
        for n in tree.leaves
    ]


REMEDY = Redact()

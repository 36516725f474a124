"""What every way of pruning needs: which merged leaves would meet the clauses about leaves, and what each keeps.

The requirement is every clause of the pack that counts and is about the leaves alone, held against the owner's real
counts; of a combination, what pruning can do for it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from treewarden.audit.measures import LeafMeasure, measures
from treewarden.audit.population.leaves import Leaves, described
from treewarden.audit.population.population import Population
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Undetermined
from treewarden.policies.clause import Atom, Clause, Pack, Part
from treewarden.policies.judging.clause_evaluation import combined, verdicts
from treewarden.policies.remedies import NoProposal, Proposal, Remedy
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.pruning.merged import merged_leaves, summed
from treewarden.ppdm_models.pruning.prune import Prunable, Pruned
from treewarden.ppdm_models.pruning.siblings import MergedLeaves, candidates
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.tree import Node, Task, Tree

# Which leaves meet a clause, as far as the leaves alone can: what pruning aims at.
#
# A combination may hold measures that no leaf tells by itself. Where the others are enough for it, they are asked for;
# else the best is taken to be true of what is not told, as only an audit tells. Every change is audited again in any
# case.

UNDETERMINED, PASS = PolicyVerdict.UNDETERMINED, PolicyVerdict.PASS


def met(clause: Clause, leaves: Leaves) -> BoolArray | str | None:
    """Return whether each leaf meets a clause; why that cannot be told; None where leaves alone have no part in it."""
    told = {
        atom: found for atom in clause.atoms if (found := _atom_verdicts(atom, leaves)) is not None
    }
    if not told:
        return None
    reasons = [found for found in told.values() if isinstance(found, str)]
    size = len(leaves.nodes)
    best = combined(clause, lambda atom: _flat(PASS if atom in told else UNDETERMINED, 1))
    unknown = UNDETERMINED if best[0] == PASS else PASS

    def of_atom(atom: Atom) -> IndexArray:
        found = told.get(atom)
        return _flat(unknown, size) if found is None or isinstance(found, str) else found

    aim = clause if clause.scope in ("leaf", "profile") else _aim(clause, told)
    if reasons and (not clause.is_combined or (combined(aim, of_atom) != PASS).any()):
        return reasons[0]
    return np.asarray(combined(aim, of_atom) == PASS)


def _aim(part: Part, readable: Container[Atom]) -> Part:
    """Return what every leaf can be asked for so that the model as a whole meets a part.

    That every leaf meets one way or another is not enough where all have to meet the same: of several ways it is the
    first that leaves alone tell.
    """
    if part.form == "any":
        ways = [each for each in part.parts if all(atom in readable for atom in each.atoms)]
        return _aim((ways or part.parts)[0], readable)
    if part.form == "all":
        return part.model_copy(update={"every": tuple(_aim(each, readable) for each in part.parts)})
    return part


def _atom_verdicts(atom: Atom, leaves: Leaves) -> IndexArray | str | None:
    """Return the verdict of an atom in each leaf; why there is none; None where it is about more than leaves."""
    measure = measures()[atom.call.measure]
    if not isinstance(measure, LeafMeasure):
        return None
    ends = measure.ends(leaves, dict(atom.call.parameters))
    if isinstance(ends, Undetermined):
        return ends.reason
    return verdicts(atom, ends, len(leaves.nodes))


def _flat(verdict: PolicyVerdict, size: int) -> IndexArray:
    return np.full(size, verdict, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class Prospect:
    """A tree that can be pruned, and what each merged leaf keeps.

    ``right`` are the records predicted right, ``unchanged`` those predicted as before: each a pair, for the candidates
    as leaves (N + G,) and for those who stop at a node while it is split (N,). ``right`` is None without the truth.
    """

    prunable: Prunable
    right: tuple[FloatArray, FloatArray] | None
    unchanged: tuple[FloatArray, FloatArray]


@dataclass(frozen=True, slots=True)
class Pruning(Remedy):
    """A remedy that merges siblings; by hierarchies where it is given some.

    ``no_tree`` says in words that nothing is left.
    """

    mends_leaves: ClassVar[bool] = True
    no_tree: ClassVar[str]
    taxonomies: Taxonomies = field(default_factory=dict)

    def using(self, taxonomies: Taxonomies, bases: tuple[int, ...] = ()) -> Remedy:
        return replace(self, taxonomies=taxonomies)

    @abstractmethod
    def best(self, prospect: Prospect) -> Pruned | None:
        """Return what is left of the tree, every leaf of which meets the clauses; None where nothing is."""


@dataclass(frozen=True, slots=True)
class Merging:
    """All that merging could make of a tree, before any requirement: what a ``Prospect`` is judged from.

    ``own`` are the nodes with those who stop there while they are split, ``merged`` the candidates as leaves: each with
    the numbers of the nodes where anybody is, (L,), and what is measured on those.
    """

    tree: Tree
    candidates: MergedLeaves
    leaves: tuple[Node, ...]
    records: FloatArray
    own: tuple[IndexArray, Leaves]
    merged: tuple[IndexArray, Leaves]
    right: tuple[FloatArray, FloatArray] | None
    unchanged: tuple[FloatArray, FloatArray]


def prospect(
    tree: Tree, population: Population, pack: Pack, taxonomies: Taxonomies
) -> Prospect | str:
    """Return what pruning can make of a tree, or why it cannot tell.

    Raises:
        TaxonomyError: a hierarchy lacks a value that the tree tests.
    """
    return held_to(merging(tree, population, taxonomies), pack)


def merging(tree: Tree, population: Population, taxonomies: Taxonomies) -> Merging:
    """Return all that merging could make of a tree; it serves any number of requirements.

    Raises:
        TaxonomyError: a hierarchy lacks a value that the tree tests.
    """
    found, size = candidates(tree, taxonomies), len(tree.nodes)
    stopping = np.bincount(population.leaf, population.counts, size).astype(np.float64)
    records = found.totals(summed(tree, stopping))
    own, classes = _by_class(tree, found, population.leaf, population.truth)
    known = None if isinstance(classes, Undetermined) or not tree.classes else classes
    own_sums: FloatArray | Undetermined | None = None
    sums: FloatArray | Undetermined | None = None
    if population.weight is not None and known is not None:
        own_sums, sums = _by_class(tree, found, population.leaf, population.weighed_truth)
    # The label of a merged leaf is what the learner would have written: the plurality of weights where there are any.
    leaves = merged_leaves(
        tree, found, known if sums is None or isinstance(sums, Undetermined) else sums, stopping
    )
    right = None
    if known is not None and not isinstance(own, Undetermined):
        right = _picked(known, _codes(tree, leaves)), _picked(own, _codes(tree, tree.nodes))
    return Merging(
        tree=tree,
        candidates=found,
        leaves=leaves,
        records=records,
        own=_peopled(tree, population, tree.nodes, stopping, own, own_sums),
        merged=_peopled(tree, population, leaves, records, classes, sums),
        right=right,
        unchanged=_unchanged(tree, found, leaves, stopping),
    )


def held_to(merging: Merging, pack: Pack) -> Prospect | str:
    """Return what pruning can make of a tree under a pack, or why it cannot tell."""
    stays = _satisfied(len(merging.tree.nodes), merging.own, pack)
    satisfied = _satisfied(len(merging.leaves), merging.merged, pack)
    if isinstance(stays, str) or isinstance(satisfied, str):
        return stays if isinstance(stays, str) else str(satisfied)
    prunable = Prunable(
        merging.tree, merging.candidates, stays, satisfied, merging.records, merging.leaves
    )
    return Prospect(prunable, merging.right, merging.unchanged)


def proposal(name: str, tree: Tree, pruned: Pruned | None, why_none: str) -> Proposal | NoProposal:
    """Return what pruning came to, in words."""
    if pruned is None:
        return NoProposal((name,), why_none)
    if tree.task is Task.CLASSIFICATION and any(leaf.score is None for leaf in pruned.tree.leaves):
        return NoProposal((name,), "pruning needs a label for each merged leaf, and none is known")
    parts = []
    if pruned.merged or not pruned.joined:
        parts.append(_counted(len(pruned.merged), "node becomes a leaf", "nodes become leaves"))
    if pruned.joined:
        parts.append(
            _counted(
                len(pruned.joined),
                "group of siblings becomes a leaf",
                "groups of siblings become leaves",
            )
        )
    lost = len(tree.leaves) - len(pruned.tree.leaves)
    leaves = len(tree.leaves)
    title = f"{' and '.join(parts)}, so {leaves - lost} of {leaves} leaves remain"
    return Proposal((name,), title, pruned.tree, (), pruned.node_map)


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _codes(tree: Tree, nodes: Sequence[Node]) -> list[int]:
    return [-1 if (code := label_of(tree, node)) is None else code for node in nodes]


def _picked(classes: FloatArray, codes: Sequence[int]) -> FloatArray:
    """Return of each row the number of its own class; 0 where there is none."""
    column = np.array(codes, dtype=np.intp)
    return np.where(column < 0, 0.0, classes[np.arange(len(classes)), column])


def _unchanged(
    tree: Tree, merged_leaves: MergedLeaves, leaves: Sequence[Node], stopping: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return how many records each candidate, and each node's own stop, predicts as the tree did."""
    said = [_node_label(tree, node) for node in tree.nodes]
    held = np.flatnonzero(stopping).tolist()
    column = {prediction: k for k, prediction in enumerate(dict.fromkeys(said[i] for i in held))}
    by_prediction = np.zeros((len(said), max(len(column), 1)))
    for i in held:
        by_prediction[i, column[said[i]]] = stopping[i]
    together = merged_leaves.totals(summed(tree, by_prediction))
    codes = [column.get(_node_label(tree, leaf), -1) for leaf in leaves]
    return _picked(together, codes), stopping


def _node_label(tree: Tree, node: Node) -> str | float | int | None:
    return node.score if tree.task is Task.REGRESSION else label_of(tree, node)


def _by_class(
    tree: Tree, merged_leaves: MergedLeaves, leaf: IndexArray, truth: FloatArray | Undetermined
) -> tuple[FloatArray | Undetermined, FloatArray | Undetermined]:
    """Return the class sums of those who stop at each node, and of each candidate as a leaf."""
    if isinstance(truth, Undetermined):
        return truth, truth
    own = np.zeros((len(tree.nodes), truth.shape[1]))
    np.add.at(own, leaf, truth)
    return own, merged_leaves.totals(summed(tree, own))


def _peopled(
    tree: Tree,
    population: Population,
    nodes: Sequence[Node],
    records: FloatArray,
    classes: FloatArray | Undetermined,
    sums: FloatArray | Undetermined | None,
) -> tuple[IndexArray, Leaves]:
    """Return the numbers of the nodes where anybody is, and these as leaves."""
    held = np.flatnonzero(records > 0)
    kept = [nodes[index] for index in held.tolist()]
    real = classes if isinstance(classes, Undetermined) else classes[held]
    weighed = None if sums is None or isinstance(sums, Undetermined) else sums[held]
    return held, described(tree, population, kept, records[held], real, weighed)


def _satisfied(size: int, peopled: tuple[IndexArray, Leaves], pack: Pack) -> BoolArray | str:
    """Return per node whether its records meet the clauses about leaves; nobody is harmed where there are none."""
    held, leaves = peopled
    satisfied = np.ones(size, dtype=bool)
    for clause in pack.counting:
        found = met(clause, leaves)
        if isinstance(found, str):
            return f"pruning cannot meet check {clause.id!r}: {found}"
        if found is not None:
            satisfied[held] &= found
    return satisfied

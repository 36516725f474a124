"""Publish the table too, generalised so far that the pruned tree can still be trained on it.

It proposes only where it is given the table (``UsesTable``), and only for a tree that grows best split first from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import Weights
from treewarden.policies.judging.clause_evaluation import Clauses
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy, TableProposal
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.learn.growers import BestFirst, GrowthOrder
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.methods.tpp.sanitise import Job, SanitisedTable, sanitise
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Task, Tree, rebuilt

NAME = ("sanitize_tpp",)


@dataclass(frozen=True, slots=True)
class SanitizeTpp(Remedy):
    """Proposes one smaller tree with its table, every group of which meets the policy's clauses about leaves."""

    mends_leaves: ClassVar[bool] = True
    table: Table | None = None

    def using_table(self, table: Table) -> SanitizeTpp:
        """Return this remedy with the table that the tree was grown on."""
        return replace(self, table=table)

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        if self.table is None:
            return
        if tree.task is not Task.CLASSIFICATION or tree.learner.criterion is None:
            yield NoProposal(
                NAME, "sanitising needs a classification tree whose file names its criterion"
            )
            return
        if population.weights is not Weights.NONE or population.records != self.table.rows:
            reason = "the rows of the table have weights, but training counts rows"
            yield NoProposal(NAME, f"sanitising does not support weights: {reason}")
            return
        target = population.sensitive or tree.target
        if not target:
            reason = "neither the tree nor --sensitive names the column that it predicts"
            yield NoProposal(NAME, f"sanitising needs a target: {reason}")
            return
        try:
            yield from _proposed(tree, target, self.table, pack)
        except LearnerError as error:
            yield NoProposal(NAME, f"sanitising finds no tree: {error}")


def _proposed(tree: Tree, name: str, table: Table, pack: Pack) -> Iterator[Proposal | NoProposal]:
    columns = {feature.name: table.column(feature) for feature in tree.features}
    target = table.categories(name, tree.classes)
    job = _job(tree, name, target)
    splits = sum(not node.is_leaf for node in tree.nodes)
    growth = job.learner.growth(columns, job.response, splits)
    assert isinstance(growth, GrowthOrder)
    if not _same(tree, growth.tree(splits)):
        yield NoProposal(
            NAME,
            "training on this table, best split first, gives another tree, so no sanitised table can yield it",
        )
        return
    found = sanitise(columns, [job], target, [Clauses(pack)], max_splits=splits)
    if found.best is None or not found.best.step.splits:
        yield NoProposal(
            NAME, f"no split can be kept together with a sanitised table ({found.stopped})"
        )
    elif found.best.step.splits < splits:
        yield _proposal(tree, growth, found.best)


def _job(tree: Tree, name: str, target: CategoricalColumn) -> Job:
    assert tree.learner.criterion is not None
    learner = BestFirst(
        str(tree.learner.criterion),
        bool(tree.learner.multiway),
        tree.learner.min_leaf_records,
        max_depth=tree.depth,
    )
    return Job(learner, of_classes(name, target.codes, target.categories))


def _same(tree: Tree, grown: Tree) -> bool:
    """Whether two trees ask the same at every node; both are in document order."""
    asked = [
        [(node.parent, node.children, node.test) for node in one.nodes] for one in (tree, grown)
    ]
    return asked[0] == asked[1]


def _proposal(tree: Tree, growth: GrowthOrder, best: SanitisedTable) -> Proposal:
    """Return the tree cut to the first splits, with as much said at each node as before."""
    kept = {growth.tree(len(tree.nodes)).nodes[i].name: i for i in range(len(tree.nodes))}
    small = growth.tree(best.step.splits)
    stays = {kept[node.name] for node in small.nodes}
    inner = {kept[node.name] for node in small.nodes if not node.is_leaf}
    nodes = [
        node if node.index in inner else replace(node, children=(), default_child=None)
        for node in tree.nodes
    ]
    now = {old: new for new, old in enumerate(sorted(stays))}
    node_map: list[int] = []
    for node in tree.nodes:
        above = 0 if node.parent is None else node_map[node.parent]
        node_map.append(now.get(node.index, above))
    left = f"{len(small.leaves)} of {len(tree.leaves)} leaves remain"
    return TableProposal(
        NAME,
        f"sanitise: {left}; the table has groups of {best.step.k} or more",
        rebuilt(tree, nodes),
        (),
        tuple(node_map),
        sanitised=best,
    )


REMEDY = SanitizeTpp()

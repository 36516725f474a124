"""Changes to an ensemble: each of its trees is pruned over the people in it, and put back where it stood."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.measures import measures
from treewarden.audit.people.forest import Forest
from treewarden.audit.people.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.applying import applying
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy, remedies
from treewarden.policies.remedies._pruning import Prospect, Pruning, prospect
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.ensemble import Ensemble, with_trees
from treewarden.ppdm_models.tree.tree import Quality, Tree

ONE_LEAF = 1
"""A tree that says the same to everybody is a legal part of an ensemble."""


def forest_proposals(
    forest: Forest, population: Population, decision: Decision, taxonomies: Taxonomies
) -> Iterator[tuple[str, Proposal] | NoProposal]:
    """Yield what each remedy makes of an ensemble, by name; it is pruned where its leaves break a clause.

    Nothing is guessed: where somebody is in no leaf of a tree or in several, that is why nothing is proposed. A clause
    that cannot be told of the leaves is not mended; the audit of what is proposed will not be able to tell it either.

    Raises:
        TaxonomyError: a hierarchy lacks a value that a tree tests.
    """
    known = measures()
    judged = [finding for finding in decision.failing if not finding.is_about_evidence]
    broken = [finding for finding in judged if not finding.is_of_file]
    of_leaves = [
        finding
        for finding in broken
        if any(known[call.measure].is_of_leaves for call in finding.calls)
    ]
    if of_leaves:
        asked = applying(decision.pack, forest.model)
        parts = _parts(forest, population, _told(asked, of_leaves), taxonomies)
        yield from _prunings(forest, parts)
    if len(of_leaves) < len(broken):
        for name, remedy in remedies().items():
            if not remedy.mends_leaves:
                asked = applying(decision.pack, forest.model)
                yield from _withholdings(name, remedy, forest, population, asked)


def _withholdings(
    name: str, remedy: Remedy, forest: Forest, population: Population, pack: Pack
) -> Iterator[tuple[str, Proposal] | NoProposal]:
    """Yield what a remedy withholds of all trees, numbered where there are several ways; or why it cannot."""
    found = list(remedy.propose_all(forest, population, pack))
    several = sum(isinstance(each, Proposal) for each in found) > 1
    for number, each in enumerate(found, start=1):
        if isinstance(each, Proposal):
            yield (f"{name}-{number}" if several else name), each
        else:
            yield each


def _prunings(
    forest: Forest, parts: Sequence[Prospect | None] | str
) -> Iterator[tuple[str, Proposal] | NoProposal]:
    seen: list[object] = [forest.model]
    for name, remedy in remedies().items():
        if isinstance(remedy, Pruning):
            found = parts if isinstance(parts, str) else _pruned(name, remedy, forest, parts)
            if not isinstance(found, Proposal):
                yield NoProposal((name,), found)
            elif found.model not in seen:
                seen.append(found.model)
                yield name, found


def _told(pack: Pack, of_leaves: Sequence[Finding]) -> Pack | str:
    """Return the pack without the clauses that cannot be told of the leaves; or why none can be mended."""
    alone = [finding for finding in of_leaves if finding.is_of_leaves]
    reasons = {f.clause: f.reading.reason for f in alone if isinstance(f.reading, Undetermined)}
    if len(reasons) == len(of_leaves):
        clause, reason = next(iter(reasons.items()))
        return f"pruning cannot meet clause {clause!r}: {reason}"
    kept = tuple(clause for clause in pack.clauses if clause.id not in reasons)
    return pack.model_copy(update={"clauses": kept})


def _parts(
    forest: Forest, population: Population, pack: Pack | str, taxonomies: Taxonomies
) -> list[Prospect | None] | str:
    """Return what pruning can make of each tree, None where it stays as it is; or why that cannot be told."""
    if isinstance(pack, str):
        return pack
    found: list[Prospect | None] = []
    for index, tree in enumerate(forest.trees):
        part = _part(forest, index, population, pack, taxonomies)
        if isinstance(part, str):
            return f"tree {index + 1} of {len(forest.trees)} ({tree.source}): {part}"
        found.append(part)
    return found


def _part(
    forest: Forest, index: int, population: Population, pack: Pack, taxonomies: Taxonomies
) -> Prospect | None | str:
    tree, stops = forest.trees[index], forest.stops[index]
    people = _people(forest, index, population)
    if isinstance(people, str) or not len(people.counts):
        return people if isinstance(people, str) else None
    if forest.draws and tree.has_people:  # predictions are made from draws; clauses never read them
        tree = replace(tree, quality=Quality.WEIGHTED)
    found = prospect(tree, people, pack, taxonomies)
    if isinstance(found, str) or found.prunable.stays.all():
        return found if isinstance(found, str) else None
    lost = stops < 0
    if lost.any() and (route(tree, population.columns)[lost] < 0).any():
        return "some records are in no leaf of it, and pruning could put them in one"
    return replace(found, prunable=replace(found.prunable, fewest_leaves=ONE_LEAF))


def _people(forest: Forest, index: int, population: Population) -> Population | str:
    """Return those who stop somewhere in a tree, their classes in its order; or why these cannot be told."""
    tree, classes = forest.trees[index], forest.model.classes
    rows = np.flatnonzero(forest.stops[index] >= 0)
    truth = population.truth
    if not isinstance(truth, Undetermined):
        truth = truth[rows]
        if tree.classes and set(tree.classes) != set(classes):
            return "it has other classes than the whole model"
        if tree.classes:
            truth = truth[:, [classes.index(name) for name in tree.classes]]
    return replace(
        population,
        columns={name: column.take(rows) for name, column in population.columns.items()},
        counts=population.counts[rows],
        leaf=forest.stops[index][rows],
        truth=truth,
        weight=None if population.weight is None else population.weight[rows],
        values=population.values
        if isinstance(population.values, Undetermined)
        else population.values[rows],
    )


def _pruned(
    name: str, remedy: Pruning, forest: Forest, parts: Sequence[Prospect | None]
) -> Proposal | str:
    """Return the ensemble with its trees pruned, or why it cannot be."""
    trees: list[Tree] = []
    for index, (tree, part) in enumerate(zip(forest.trees, parts, strict=True)):
        now = tree if part is None else _best(remedy, tree, part)
        if isinstance(now, str):
            return f"tree {index + 1} of {len(forest.trees)} ({tree.source}): {now}"
        trees.append(now)
    if all(len(tree.nodes) == 1 for tree in trees):
        return f"no tree keeps a split: {remedy.no_tree}"
    assert isinstance(forest.model, Ensemble)
    model = with_trees(forest.model, iter(trees))
    return Proposal((name,), _title(forest.trees, trees), model, (), ())


def _best(remedy: Pruning, tree: Tree, part: Prospect) -> Tree | str:
    pruned = remedy.best(part)
    if pruned is None:
        return "even as a single leaf it does not meet the clauses about leaves"
    if any(leaf.score is None and leaf.outputs is None for leaf in pruned.tree.leaves):
        return "a merged leaf needs a label or a number, and none is known"
    return replace(pruned.tree, quality=tree.quality)


def _title(before: Sequence[Tree], after: Sequence[Tree]) -> str:
    pairs = list(zip(before, after, strict=True))
    changed = [(old, new) for old, new in pairs if len(old.nodes) != len(new.nodes)]
    leaves = sum(tree.leaf_count for tree in before)
    lost = leaves - sum(tree.leaf_count for tree in after)
    bare = sum(len(new.nodes) == 1 for _, new in changed)
    said = f"prune: {len(changed)} of {len(before)} trees"
    if len(before) == 1:
        said = "prune: its only tree"
    changes = "change" if len(changed) > 1 else "changes"
    only = f", {bare} of them to a single leaf" if bare else ""
    return f"{said} {changes}{only}, {lost} of {leaves} leaves go"

"""What can be tried next: each remedy's proposals for a model, by name, after the changes that led to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import measures
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, silent
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.applicability import applying
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import (
    NoProposal,
    Proposal,
    Remedy,
    SearchesLong,
    UsesTable,
    WithholdsByCost,
    remedies,
)
from treewarden.policies.remedies._pruning import Prospect, Pruning, prospect
from treewarden.policies.repair.utility import NO_LIMIT, Deadline, RepairResources
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.files.convert import writable
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, with_trees
from treewarden.ppdm_models.tree.side_channels import kinds_of
from treewarden.ppdm_models.tree.tree import Quality, Tree

# Changes to an ensemble: each of its trees is pruned over the people in it, and put back where it stood.

ONE_LEAF = 1
"""A tree that says the same to everybody is a legal part of an ensemble."""


def forest_proposals(
    forest: Forest,
    population: Population,
    decision: Decision,
    taxonomies: Taxonomies,
    with_progress: Callable[[Remedy], Remedy] = lambda remedy: remedy,
) -> Iterator[tuple[str, Proposal] | NoProposal]:
    """Yield what each remedy makes of an ensemble, by name; it is pruned where its leaves break a clause.

    Nothing is guessed: where somebody is in no leaf of a tree or in several, that is why nothing is proposed. A clause
    that cannot be told of the leaves is not mended; the audit of what is proposed will not be able to tell it either.
    ``with_progress`` returns a remedy that searches long with who hears of it.

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
        pack = applying(decision.pack, forest.model)
        parts = _parts(forest, population, _leaf_pack(pack, of_leaves), taxonomies)
        yield from _prunings(forest, parts)
    if len(of_leaves) < len(broken):
        for name, remedy in remedies().items():
            if not remedy.mends_leaves:
                pack = applying(decision.pack, forest.model)
                yield from _withholdings(name, with_progress(remedy), forest, population, pack)


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


def _leaf_pack(pack: Pack, of_leaves: Sequence[Finding]) -> Pack | str:
    """Return the pack without the clauses that cannot be told of the leaves; or why none can be mended."""
    alone = [finding for finding in of_leaves if finding.is_of_leaves]
    reasons = {f.clause: f.reading.reason for f in alone if isinstance(f.reading, Undetermined)}
    if len(reasons) == len(of_leaves):
        clause, reason = next(iter(reasons.items()))
        return f"pruning cannot meet check {clause!r}: {reason}"
    clauses = tuple(clause for clause in pack.clauses if clause.id not in reasons)
    return pack.model_copy(update={"clauses": clauses})


def _parts(
    forest: Forest, population: Population, pack: Pack | str, taxonomies: Taxonomies
) -> list[Prospect | None] | str:
    """Return what pruning can make of each tree, None where it stays as it is; or why that cannot be told."""
    if isinstance(pack, str):
        return pack
    prospects: list[Prospect | None] = []
    for index, tree in enumerate(forest.trees):
        part = _part(forest, index, population, pack, taxonomies)
        if isinstance(part, str):
            return f"tree {index + 1} of {len(forest.trees)} ({tree.source}): {part}"
        prospects.append(part)
    return prospects


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
        contributions=None,
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
        return "even a single leaf does not pass the checks on leaves"
    if any(leaf.score is None and leaf.outputs is None for leaf in pruned.tree.leaves):
        return "a merged leaf needs a label or a number, but the file has none"
    return replace(pruned.tree, quality=tree.quality)


def _title(before: Sequence[Tree], after: Sequence[Tree]) -> str:
    pairs = list(zip(before, after, strict=True))
    changed = [(old, new) for old, new in pairs if len(old.nodes) != len(new.nodes)]
    leaves = sum(tree.leaf_count for tree in before)
    lost = leaves - sum(tree.leaf_count for tree in after)
    bare = sum(len(new.nodes) == 1 for _, new in changed)
    said = f"{len(changed)} of {len(before)} trees"
    if len(before) == 1:
        said = "its only tree"
    changes = "change" if len(changed) > 1 else "changes"
    only = f", {bare} of them to a single leaf" if bare else ""
    return f"{said} {changes}{only}, so {leaves - lost} of {leaves} leaves remain"


# Removal of a file's side channels: proposed before any change of the trees, which would keep them.

REDACT_FILE = "redact_file"
"""The name that a repair calls it by; ``treewarden redact`` does the same alone."""
AGAIN = "export the model again without them"


def file_fails(decision: Decision) -> bool:
    """Return whether a clause about what stands beside the trees keeps the verdict from being a pass."""
    known = measures()
    return any(
        finding.verdict is PolicyVerdict.FAIL
        and any(known[call.measure].is_of_file for call in finding.calls)
        for finding in decision.failing
    )


def without_leaks(model: Model, evidence: Evidence, *, trees_alone: bool) -> Proposal | NoProposal:
    """Propose the same model in a file that gives nothing else away, as far as its format can be written so.

    ``trees_alone`` says that it is written in another format, which takes over nothing but the trees. All that can go
    goes, whatever the clauses: none of it is needed to predict.
    """
    if isinstance(evidence.leaks, Undetermined):
        return NoProposal((REDACT_FILE,), evidence.leaks.reason)
    goes = [leak for leak in evidence.leaks if leak.removable or trees_alone]
    if not goes:
        kinds = ", ".join(kinds_of(evidence.leaks))
        reason = (
            f"the other content of {evidence.source} ({kinds}) cannot be removed in its format: "
        )
        return NoProposal((REDACT_FILE,), reason + _otherwise(model))
    stays = [leak for leak in evidence.leaks if leak not in goes]
    title = f"remove the other content of the file ({', '.join(kinds_of(goes))})"
    if stays:
        title += f"; its format keeps {', '.join(kinds_of(stays))}: {_otherwise(model)}"
    node_map = tuple(range(len(model.nodes))) if isinstance(model, Tree) else ()
    return Proposal((REDACT_FILE,), title, model, (), node_map, is_bare=True)


def _otherwise(model: Model) -> str:
    """Return what to do about what a format keeps; PMML is written as it was read, so that no other way is asked."""
    targets = [target for target in writable(model) if target != model.format]
    if not targets:
        return AGAIN
    return f"{AGAIN}, or have the trees alone in another format (repair --to {targets[0]}, convert)"


Named = tuple[str, Proposal]
"""A proposal behind the name that it is chosen by."""


@dataclass(frozen=True, slots=True)
class RepairBase:
    """A model that remedies start from: the original, whose name is empty, or what an attempt came to."""

    name: str
    proposal: Proposal
    decision: Decision
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Proposing:
    """What stays the same from one proposal to the next: the original's people, the policy, what may be used.

    Remedies that search long tell ``step`` of it, and end with the ``deadline``.
    """

    population: Population
    pack: Pack
    given: RepairResources
    step: Step = silent
    deadline: Deadline = NO_LIMIT

    def with_progress(self, remedy: Remedy) -> Remedy:
        """Return a remedy with what numbers cost, who hears of a long search of it, and how long that may take."""
        if isinstance(remedy, WithholdsByCost):
            given = self.given
            remedy = remedy.at_costs(
                given.costs, same_everywhere=given.same_everywhere, beside=given.beside
            )
        if isinstance(remedy, SearchesLong):
            return remedy.reporting_to(self.step, self.deadline.left)
        return remedy

    def first(
        self, model: Model, decision: Decision, evidence: Evidence
    ) -> list[Named | NoProposal]:
        """Return what is tried on the original.

        Where the file fails for what stands beside its trees, that goes first: no change of the trees passes with it.
        Where nothing beside the trees can go, the other remedies are tried all the same.
        """
        node_map = tuple(range(len(model.nodes))) if isinstance(model, Tree) else ()
        start = RepairBase("", Proposal((), "as it is", model, (), node_map), decision, evidence)
        if not file_fails(decision):
            return list(self.on(start))
        found = without_leaks(model, evidence, trees_alone=self.given.trees_alone)
        if isinstance(found, Proposal):
            return [(REDACT_FILE, found)]
        return [found, *self.on(start)]

    def on(self, base: RepairBase) -> Iterator[Named | NoProposal]:
        """Yield what each remedy makes of a model, by name, numbered where there are several.

        Each remedy is used once, in one order: what decides on the leaves comes before withholding, which it cannot
        undo. Withholding is not tried while the leaves themselves break a clause, as it never mends that.
        """
        tree, forest = base.proposal.model, base.evidence.forest
        if not isinstance(tree, Tree):
            people, above = self.population, self.given.taxonomies
            for made in forest_proposals(forest, people, base.decision, above, self.with_progress):
                yield made if isinstance(made, NoProposal) else _named(base, *made)
            return
        for name, remedy in _ready(base, self.given):
            if not remedy.mends_leaves and _leaves_fail(base.decision):
                continue
            pack = applying(self.pack, tree)
            found = list(self.with_progress(remedy).propose(tree, base.evidence.population, pack))
            several = sum(isinstance(each, Proposal) for each in found) > 1
            for number, each in enumerate(found, start=1):
                if isinstance(each, NoProposal):
                    yield NoProposal((*base.proposal.remedies, *each.remedies), each.reason)
                    continue
                own = f"{name}-{number}" if several else name
                yield _named(base, own, each)


def _named(base: RepairBase, name: str, proposal: Proposal) -> Named:
    return f"{base.name}+{name}" if base.name else name, _joined(base.proposal, proposal)


def _ready(base: RepairBase, resources: RepairResources) -> Iterator[tuple[str, Remedy]]:
    """Yield the remedies that may follow, with what they can use; the table goes with the tree as it was grown only."""
    ordered = sorted(remedies().items(), key=lambda item: (not item[1].mends_leaves, item[0]))
    names = [name for name, _ in ordered]
    used = [name for name in base.proposal.remedies if name != REDACT_FILE]
    done = names.index(used[-1]) + 1 if used else 0
    for name, remedy in ordered[done:]:
        if isinstance(remedy, UsesTable):
            if resources.table is not None and not used:
                yield name, remedy.using_table(resources.table)
        else:
            yield name, remedy.using(resources.taxonomies, resources.bases)


def _joined(base: Proposal, proposal: Proposal) -> Proposal:
    if not base.remedies:
        return proposal
    return replace(
        proposal,
        remedies=(*base.remedies, *proposal.remedies),
        title=f"{base.title}; then {proposal.title}",
        withheld=(*base.withheld, *proposal.withheld),
        node_map=tuple(proposal.node_map[index] for index in base.node_map),
        is_bare=base.is_bare,
    )


def _leaves_fail(decision: Decision) -> bool:
    return any(finding.is_of_leaves for finding in decision.failing)

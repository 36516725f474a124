"""Everything the measures may look at: the trees, the people, what the adversary knew before and knows now.

It includes labels that the true table contradicts, where another class is more frequent, whatever the reason: an
adversary who believes a wrong label infers less than the file could tell, and nothing that labels imply can be used. A
file whose labels are not those of its table belongs to another table, or was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.claims.result import CLAIM_NOT_JUDGED, ClaimFindings, ComposedClaim
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior, Without
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.membership import NO_REGISTER
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import is_silent
from treewarden.audit.reading import Spot, Undetermined
from treewarden.audit.reconstruction.cells import NOT_REBUILT, DomainCoverage
from treewarden.audit.reconstruction.people_rows import RebuiltPeople
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, grouped
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.plain_splits import codes_of, is_inner, where_of
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Quality, Task, Tree

if TYPE_CHECKING:  # what no single tree has
    from treewarden.audit.joint.result import EnsembleInference
    from treewarden.audit.membership.candidates import MembershipInference
    from treewarden.audit.regression.result import CellRanges, ValueBounds


NOT_RUN = Undetermined("the search for proved values was switched off")
NOT_READ = Undetermined(
    "the rest of the file was not inspected; give the file as it will be published"
)


NOT_ASKED = Undetermined("not computed, because no check of the policy needs it")

NOT_RANDOMISED = Undetermined(
    "this metric is for noisy tables, not for models; see 'treewarden randomize --help'"
)

ONE_TREE = Undetermined("a single tree: each person is in one leaf")
NO_NUMBER = Undetermined("the model predicts a class, not a number")
SEE_NUMBERS = Undetermined("the model predicts a number, not a class: its leaves prove intervals")

NO_TABLES = Undetermined("no table of totals was given")

Enough = Callable[["Evidence"], bool]
"""Whether what whole records have proved by now is all that is needed of them; once so, so it must stay."""


@dataclass(frozen=True, slots=True)
class Named:
    """What is to stay secret where that is not the target: the column's name, and its values, or bins of them."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RecordEvidence:
    """What a file proves of who of a register of candidates is in the table, and whose whole rows by itself.

    ``coverage`` is what of the columns was declared for that, None where the values of the table stand for it.
    ``cells`` is how closely the totals of cells can be computed, where tables of totals are published beside the model.
    """

    membership: MembershipInference | Undetermined = NO_REGISTER
    rebuilt: RebuiltPeople | Undetermined = NOT_REBUILT
    coverage: DomainCoverage | None = None
    cells: CellRanges | Undetermined = NO_TABLES


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one audit knows. ``prior`` is the adversary's estimate before the model, ``posterior`` with it.

    ``forest`` is the model with the people in its trees, one tree or many. ``worlds`` is what integer reasoning over
    whole records proves. ``knowledge`` is resolved: no level in it says "as published". ``leaks`` is what the file
    gives away beside its trees. ``without`` is the estimate of the table that lacks one person, for some of them.
    ``together`` is what the leaves of several trees prove, and why nothing where they do not. ``numbers`` is what the
    leaves of a model that predicts a number prove of people's values.
    ``others`` names the other releases that were audited together with this one, in the order of their publication.
    ``linkage_gap`` is why nobody can tell which records of their tables are one person, "" where that is known.
    ``secret`` is what ``population.truth`` and the estimate are about, where that is not the target. ``records`` is
    what the file proves of records themselves: that they are in the table, and what is in them.
    ``claim`` is what was found of a claim of differential privacy, or of those of all releases together.
    """

    forest: Forest
    population: Population
    knowledge: Knowledge
    prior: Posterior | Undetermined
    posterior: Posterior | Undetermined
    worlds: ConsistentTables | Undetermined = field(default=NOT_RUN, compare=False)
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ
    without: Without | Undetermined = NOT_ASKED
    together: EnsembleInference | Undetermined = ONE_TREE
    numbers: ValueBounds | Undetermined = NO_NUMBER
    others: tuple[str, ...] = ()
    linkage_gap: str = ""
    secret: Named | None = None
    records: RecordEvidence = field(default=RecordEvidence(), compare=False)
    claim: ClaimFindings | ComposedClaim | Undetermined = CLAIM_NOT_JUDGED

    @property
    def is_of_several(self) -> bool:
        """Whether several releases were audited together."""
        return bool(self.others)

    @property
    def membership(self) -> MembershipInference | Undetermined:
        """What the file proves of who of a register of candidates is in the table."""
        return self.records.membership

    @property
    def rebuilt(self) -> RebuiltPeople | Undetermined:
        """Whose whole rows the file proves by itself."""
        return self.records.rebuilt

    @property
    def has_register(self) -> bool:
        """Whether a register of candidates was given, whatever could be told of it."""
        return self.membership is not NO_REGISTER

    @property
    def extra_inputs(self) -> frozenset[str]:
        """What was given beside the table and the model, as policies name it: a register, tables of totals."""
        has = {"population": self.has_register, "totals": self.records.cells is not NO_TABLES}
        return frozenset(name for name, is_given in has.items() if is_given)

    @property
    def model(self) -> Model:
        """What is published: a tree or an ensemble."""
        return self.forest.model

    @property
    def leaves(self) -> Leaves | Undetermined:
        """The places where records stop, those of every tree."""
        return self.forest.leaves

    @property
    def trees(self) -> tuple[Tree, ...]:
        """Every tree of the model."""
        return self.forest.trees

    @property
    def stops(self) -> IndexArray:
        """The node where each profile stops in each tree (negative: in none), shape (T, P)."""
        return self.forest.stops

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that the model tells apart; where another column is the secret, its values."""
        return self.model.classes if self.secret is None else self.secret.values

    @property
    def source(self) -> str:
        """The name of the model's file."""
        return self.model.source

    @property
    def task(self) -> Task:
        """What the model predicts: a class or a number."""
        return self.model.task

    @property
    def target(self) -> str:
        """What the model predicts: the sensitive column that was named for it, else what its file says, or ""."""
        return self.population.sensitive or self.model.target

    @property
    def secret_name(self) -> str:
        """The column that is to stay secret."""
        return self.target if self.secret is None else self.secret.name

    @property
    def truth(self) -> FloatArray | Undetermined:
        """The true class counts per profile, shape (P, m), or why there are none."""
        return self.population.truth

    @property
    def estimate(self) -> Posterior | Undetermined:
        """The posterior, if it was found for every profile that has records; else how many it lacks."""
        return self._whole(self.posterior)

    @property
    def estimate_before(self) -> Posterior | Undetermined:
        """The same of the prior."""
        return self._whole(self.prior)

    def _whole(self, posterior: Posterior | Undetermined) -> Posterior | Undetermined:
        if isinstance(posterior, Undetermined):
            return posterior
        counts = self.population.counts
        open_profiles = ~posterior.decided & (counts > 0)
        if open_profiles.any():
            return Undetermined(
                f"the inference was not found for {int(open_profiles.sum())} of {len(counts)} groups"
                f" ({counts[open_profiles].sum():g} of {counts.sum():g} records)"
            )
        if not (counts > 0).any():
            return Undetermined("the table has no records")
        return posterior

    def tree_of(self, spot: Spot) -> Tree:
        """Return the tree that a place is in."""
        return self.trees[spot.tree]

    def node_of(self, spot: Spot) -> int:
        """Return the node that a place is, or where its profile stops."""
        if spot.kind == "leaf":
            return spot.index
        return int(self.stops[spot.tree, spot.index])

    def records_at(self, spot: Spot) -> float:
        """Return how many records stop at the leaf of a place."""
        here = self.stops[spot.tree] == spot.index
        return float(self.population.counts[here].sum())


PROBLEM = "another class is more frequent there in this table, and the file names no weights or costs of classes"
SILENT = " (if there were any, audit a file that names them, such as scikit-learn's .skops)"
TOLERANCE_SHARE = 1e-9


def label_contradictions(evidence: Evidence) -> Iterator[DroppedRow]:
    """Yield the labels of nodes that the true table contradicts; none where a label need not be the majority.

    Of an ensemble the labels of each tree are held against all people, where none was trained on a sample of them.
    """
    model, people = evidence.model, evidence.population
    is_other = evidence.secret is not None or people.is_absent
    if is_other or not _saw_everybody(model) or isinstance(people.truth, Undetermined):
        return
    for tree, stops in zip(evidence.trees, evidence.stops, strict=True):
        if tree.classes == model.classes and why_not_judged(tree, people) is None:
            yield from _of_tree(tree, stops, people)


def why_not_judged(tree: Tree, people: Population) -> str | None:
    """Return why the labels of a tree need not be the most frequent classes; None where they have to be."""
    if tree.label_reason:
        return tree.label_reason
    if tree.learner.weighs_classes:
        return "the learner weighed classes"
    if tree.learner.saw_noise:
        return "the learner saw noisy records"
    if tree.quality is Quality.WEIGHTED and people.weight is None:
        moved = "the learner moved class shares to keep them in order (monotonic_cst)"
        return moved if tree.learner.bounds_shares else "the learner weighed records"
    return None


def _saw_everybody(model: Model) -> bool:
    if model.task is not Task.CLASSIFICATION:
        return False
    return not isinstance(model, Ensemble) or model.sampling.resampled is False


def _of_tree(tree: Tree, stops: IndexArray, people: Population) -> Iterator[DroppedRow]:
    """Yield the contradictions of one tree, whose people stop at these nodes (negative: nowhere)."""
    labels = codes_of(tree)
    wrong = _is_beaten(tree, labels, stops, people, np.ones(len(people.counts)))
    if wrong.any() and people.weight is not None:
        wrong &= _is_beaten(tree, labels, stops, people, people.weight)
    inner, problem = is_inner(tree), PROBLEM + (SILENT if is_silent(tree) else "")
    for node in np.flatnonzero(wrong).tolist():
        said = f"{where_of(tree, node)}: the label is {tree.classes[labels[node]]!r}"
        yield DroppedRow("inner_label" if inner[node] else "leaf_label", said, problem, True)


def _is_beaten(
    tree: Tree, labels: IndexArray, stops: IndexArray, people: Population, weight: FloatArray
) -> BoolArray:
    """Return whether another class than its label leads at each node, (N,), whoever of the incomplete was left out.

    Records that lack values may have been left out, or counted elsewhere in parts: those of the label may all have been
    at the node, and those of the other classes elsewhere.
    """
    truth = np.asarray(people.truth) * weight[:, None]
    lacking = truth * _incomplete(tree, people)[:, None]
    inside = stops >= 0
    here = _passing(tree, grouped(stops[inside], truth[inside], len(tree.nodes)))
    open_here = _passing(tree, grouped(stops[inside], lacking[inside], len(tree.nodes)))
    most = here + (lacking.sum(axis=0) - open_here)
    nodes = np.flatnonzero((labels >= 0) & (here.sum(axis=1) > 0))
    lead = most[nodes, labels[nodes]]
    rivals = (here - open_here)[nodes]
    rivals[np.arange(len(nodes)), labels[nodes]] = 0.0
    found = np.zeros(len(tree.nodes), dtype=np.bool_)
    slack = TOLERANCE_SHARE * here[nodes].sum(axis=1)
    found[nodes] = rivals.max(axis=1, initial=0.0) > lead + slack
    return found


def _passing(tree: Tree, stopping: FloatArray) -> FloatArray:
    """Return what passes each node, (N, m), of what stops at each."""
    passing = stopping.copy()
    parents = parents_of(tree.nodes).tolist()
    for node in range(len(parents) - 1, 0, -1):
        passing[parents[node]] += passing[node]
    return passing


def _incomplete(tree: Tree, people: Population) -> FloatArray:
    """Return 1 for the profiles that lack a value of some feature, (P,), else 0."""
    lacks = np.zeros(len(people.counts), dtype=np.bool_)
    for feature in tree.features:
        if feature.name in people.columns:
            lacks |= people.columns[feature.name].missing
    return lacks.astype(np.float64)

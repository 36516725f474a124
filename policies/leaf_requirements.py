"""What a policy requires of every leaf, judged of leaves that do not exist yet: from their records by class alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.audit.measures import LeafMeasure, measures
from treewarden.audit.population.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.policies.clause import Atom, Clause, When
from treewarden.policies.pack import Pack
from treewarden.policies.rules import rules
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.tree import Task

NO_CLASSES = Undetermined("the records have no classes")
MARGIN = 1e-9
"""How near to a limit a leaf counts as beyond it: floating point may read it otherwise in the audit."""


@dataclass(frozen=True, slots=True)
class LeafRequirements:
    """The limits that a policy sets to every leaf of a tree, of the clauses that have to be met.

    ``whole`` (m,) are the class counts of the whole table, ``weighed_whole`` the sums of their sampling weights, None
    where there are none. Clauses that are met in one of several ways, and those that read more than a leaf's own
    records, are not among them: the audit of the whole tree judges these.
    """

    atoms: tuple[Atom, ...]
    whole: FloatArray
    weighed_whole: FloatArray | None = None

    @property
    def fewest_records(self) -> int:
        """The fewest records that a leaf may hold."""
        ends = [
            math.floor(atom.limit) + 1 if rules()[atom.rule].is_strict else math.ceil(atom.limit)
            for atom in self.atoms
            if atom.call.measure == "k_anonymity" and rules()[atom.rule].risk == "low"
        ]
        return max(ends, default=1)

    def are_met(self, people: FloatArray, weighed: FloatArray | None = None) -> BoolArray:
        """Return which leaves meet all of them, (A,), from their people by class, (A, m), or (A, 1) without classes.

        ``weighed`` (A, m) are the sums of their sampling weights, None where all are alike.
        """
        leaves = self._leaves(people, weighed)
        fits = people.sum(axis=1) >= self.fewest_records
        for atom in self.atoms:
            measure = measures()[atom.call.measure]
            assert isinstance(measure, LeafMeasure)
            ends = measure.ends(leaves, dict(atom.call.parameters))
            if not isinstance(ends, Undetermined):
                fits = fits & _keeps(atom, *ends)
        return np.asarray(fits)

    def _leaves(self, people: FloatArray, weighed: FloatArray | None) -> Leaves:
        has_classes = people.shape[1] > 1
        sums = people if weighed is None else weighed
        number = np.arange(len(people), dtype=np.intp)
        return Leaves(
            nodes=number,
            records=people.sum(axis=1),
            classes=people if has_classes else NO_CLASSES,
            labels=sums.argmax(axis=1) if has_classes else NO_CLASSES,
            published=np.stack([sums.max(axis=1), sums.sum(axis=1) - sums.max(axis=1)], axis=1)
            if has_classes
            else NO_CLASSES,
            trees=np.zeros(len(people), dtype=np.intp),
            whole=self.whole if has_classes else NO_CLASSES,
            weighed=weighed,
            weighed_whole=None if weighed is None else self.weighed_whole,
        )


def leaf_requirements(
    pack: Pack, task: Task, whole: FloatArray, weighed_whole: FloatArray | None = None
) -> LeafRequirements:
    """Return what a policy requires of every leaf of a single tree, of a table of so many records by class."""
    return LeafRequirements(tuple(_atoms(pack, task)), whole, weighed_whole)


def _atoms(pack: Pack, task: Task) -> Iterator[Atom]:
    known = measures()
    for clause in pack.counting:
        if _is_about(clause, task):
            for atom in clause.demanded:
                if isinstance(known[atom.call.measure], LeafMeasure):
                    yield atom


def _is_about(clause: Clause, task: Task) -> bool:
    when = clause.when or When(model=("tree",))
    return "tree" in when.model and task.value in when.task


def _keeps(atom: Atom, low: FloatArray, high: FloatArray) -> BoolArray:
    """Return which readings keep a limit at both ends, as the rule says it."""
    rule = rules()[atom.rule]
    slack = MARGIN * max(1.0, abs(atom.limit)) * (1 if rule.is_strict else -1)
    with np.errstate(invalid="ignore"):
        if rule.risk == "low":
            return np.asarray(low > atom.limit + slack if rule.is_strict else low >= atom.limit)
        return np.asarray(high < atom.limit - slack if rule.is_strict else high <= atom.limit)

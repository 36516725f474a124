"""Holds a policy's clauses about leaves against the groups of a sanitised table, as if each group were a leaf."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.measures import LeafMeasure, measures
from treewarden.audit.people.leaves import Leaves
from treewarden.audit.reading import Undetermined, exactly
from treewarden.policies.clause import Atom, Clause, Pack
from treewarden.policies.judging.combining import combined, verdicts, words
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.methods.tpp.sanitise import Groups


@dataclass(frozen=True, slots=True)
class Clauses:
    """Every group meets the clauses about leaves that count; its label is its most frequent sensitive value.

    A combination of measures of leaves is held against each group too, unless it is judged over the whole.

    Clauses about what a tree as a whole gives away say nothing of a table, and are ``not_judged``; those about what
    stands beside the tree in its own file are no matter of the table.
    """

    pack: Pack

    @property
    def judged(self) -> tuple[Clause, ...]:
        """The clauses that groups can be held against."""
        return tuple(
            clause
            for clause in self.pack.counting
            if all(isinstance(measures()[atom.call.measure], LeafMeasure) for atom in clause.atoms)
        )

    @property
    def not_judged(self) -> tuple[str, ...]:
        """The ids of the other clauses that count."""
        judged = {clause.id for clause in self.judged}
        return tuple(
            clause.id
            for clause in self.pack.counting
            if clause.id not in judged
            and not all(measures()[atom.call.measure].is_of_file for atom in clause.atoms)
        )

    def lack(self, groups: Groups) -> str:
        """Return the first clause that a group does not meet, in words."""
        leaves = leaves_of(groups)
        for clause in self.judged:
            said = _combined_lack(clause, leaves) if clause.is_combined else _lack(clause, leaves)
            if said:
                return said
        return ""


def _lack(clause: Clause, leaves: Leaves) -> str:
    atom = clause.atom
    values = _values(atom, leaves)
    if isinstance(values, Undetermined):
        return f"clause {clause.id!r} cannot be judged: {values.reason}"
    worst = _worst(atom, values)
    if rules()[atom.rule].judge(exactly(worst), atom.limit) is Verdict.PASS:
        return ""
    wanted = f"{atom.rule.replace('_', ' ')} {atom.limit:g}"
    return f"clause {clause.id!r} wants {atom.call.measure} {wanted}; a group has {worst:g}"


def _combined_lack(clause: Clause, leaves: Leaves) -> str:
    """Return whether a group breaks a combination, or all of them together where it is judged over the whole."""
    found = {atom: _values(atom, leaves) for atom in clause.atoms}
    for values in found.values():
        if isinstance(values, Undetermined):
            return f"clause {clause.id!r} cannot be judged: {values.reason}"

    def of_atom(atom: Atom) -> IndexArray:
        values = found[atom]
        assert not isinstance(values, Undetermined)
        if clause.scope not in ("leaf", "profile"):
            values = np.array([_worst(atom, values)])
        return verdicts(atom, (values, values), len(values))

    if combined(clause, of_atom).max() == Verdict.PASS:
        return ""
    return f"clause {clause.id!r} wants {words(clause)}; a group breaks that"


def _values(atom: Atom, leaves: Leaves) -> FloatArray | Undetermined:
    measure = measures()[atom.call.measure]
    assert isinstance(measure, LeafMeasure)
    return measure.values(leaves, dict(atom.call.parameters))


def _worst(atom: Atom, values: FloatArray) -> float:
    is_low = measures()[atom.call.measure].risk == "low"
    return float(values.min() if is_low else values.max())


def leaves_of(groups: Groups) -> Leaves:
    """Return the groups as leaves that publish their most frequent sensitive value and how many have it."""
    labels = groups.classes.argmax(axis=1)
    hits = groups.classes.max(axis=1)
    return Leaves(
        np.arange(len(groups.sizes), dtype=np.intp),
        groups.sizes,
        groups.classes,
        labels,
        np.stack([hits, groups.sizes - hits], axis=1),
        np.zeros(len(groups.sizes), dtype=np.intp),
        whole=groups.classes.sum(axis=0),
    )

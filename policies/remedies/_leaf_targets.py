"""Which leaves meet a clause, as far as the leaves alone can: what pruning aims at.

A combination may hold measures that no leaf tells by itself. Where the others are enough for it, they are asked for;
else the best is taken to be true of what is not told, as only an audit tells. Every change is audited again in any
case.
"""

from __future__ import annotations

from collections.abc import Container

import numpy as np

from treewarden.audit.measures import LeafMeasure, measures
from treewarden.audit.people.leaves import Leaves
from treewarden.audit.reading import Undetermined
from treewarden.policies.clause import Atom, Clause, Part
from treewarden.policies.judging.combining import combined, verdicts
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.arrays import BoolArray, IndexArray

UNDETERMINED, PASS = Verdict.UNDETERMINED, Verdict.PASS


def met(clause: Clause, leaves: Leaves) -> BoolArray | str | None:
    """Return whether each leaf meets a clause; why that cannot be told; None where leaves alone have no part in it."""
    told = {atom: found for atom in clause.atoms if (found := _told(atom, leaves)) is not None}
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


def _aim(part: Part, told: Container[Atom]) -> Part:
    """Return what every leaf can be asked for so that the model as a whole meets a part.

    That every leaf meets one way or another is not enough where all have to meet the same: of several ways it is the
    first that leaves alone tell.
    """
    if part.form == "any":
        ways = [each for each in part.parts if all(atom in told for atom in each.atoms)]
        return _aim((ways or part.parts)[0], told)
    if part.form == "all":
        return part.model_copy(update={"every": tuple(_aim(each, told) for each in part.parts)})
    return part


def _told(atom: Atom, leaves: Leaves) -> IndexArray | str | None:
    """Return the verdict of an atom in each leaf; why there is none; None where it is about more than leaves."""
    measure = measures()[atom.call.measure]
    if not isinstance(measure, LeafMeasure):
        return None
    ends = measure.ends(leaves, dict(atom.call.parameters))
    if isinstance(ends, Undetermined):
        return ends.reason
    return verdicts(atom, ends, len(leaves.nodes))


def _flat(verdict: Verdict, size: int) -> IndexArray:
    return np.full(size, verdict, dtype=np.intp)

"""Verdicts of combinations: all is the worst of its parts, any the best, not swaps PASS and FAIL.

What could not be told stays so under not, and is never a pass. A verdict stands for a place here: a leaf, a profile, a
tree or the whole model, many at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from treewarden.audit.measures import measures
from treewarden.audit.reading import Interval, Reading, Undetermined
from treewarden.policies.clause import Atom, Part, Scope
from treewarden.policies.judging.figures import figure
from treewarden.policies.rules import rules
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

UNDETERMINED = Verdict.UNDETERMINED
OpenEnds = tuple[FloatArray, FloatArray] | Undetermined
"""The two ends of a reading, one a place; or why there are none."""
EVERY: dict[Scope, str] = {
    "leaf": "every leaf",
    "profile": "every profile",
    "tree": "every tree",
    "model": "the model as a whole",
}


def combined(part: Part, of_atom: Callable[[Atom], IndexArray]) -> IndexArray:
    """Return the verdicts of a part, one a place, from those of its atoms."""
    if part.form == "atom":
        return of_atom(part.atom)
    each = [combined(inner, of_atom) for inner in part.parts]
    if part.form == "not":
        return np.asarray(Verdict.FAIL - each[0])
    return np.asarray(reduce(np.maximum if part.form == "all" else np.minimum, each))


def whole_verdict(part: Part, reading: Callable[[Atom], Reading]) -> Verdict:
    """Return the verdict of a part on readings of the model as a whole."""

    def of_atom(atom: Atom) -> IndexArray:
        verdict = rules()[atom.rule].judge(reading(atom), atom.limit)
        return np.array([verdict], dtype=np.intp)

    return Verdict(int(combined(part, of_atom)[0]))


def verdicts(atom: Atom, ends: OpenEnds, places: int) -> IndexArray:
    """Return the verdict of an atom at each place; all undetermined where its ends are."""
    if isinstance(ends, Undetermined):
        return np.full(places, UNDETERMINED, dtype=np.intp)
    rule = rules()[atom.rule]
    different, which = np.unique(np.stack(ends), axis=1, return_inverse=True)
    each = [rule.judge(Interval(float(a), float(b)), atom.limit) for a, b in different.T]
    return np.array(each, dtype=np.intp)[which.reshape(-1)]


def atom_words(atom: Atom) -> str:
    """Return what an atom asks for, in plain words."""
    measure = measures()[atom.call.measure]
    plain = measure.words(dict(atom.call.parameters))
    return f"{plain}: {rules()[atom.rule].words} {figure(atom.limit, measure.unit)}"


def words(part: Part) -> str:
    """Return what a part asks for, as a sentence without its stop; inner combinations stand in parentheses."""
    if part.form == "atom":
        return atom_words(part.atom)
    each = [f"({words(inner)})" for inner in part.parts]
    if part.form == "not":
        return f"not {each[0]}"
    return f" {'and' if part.form == 'all' else 'or'} ".join(each)

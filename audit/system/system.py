"""The constraint system: all rows of all constraints, each checked on the truth before anyone relies on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from audit import constraints
from audit.constraints import Constraint
from audit.facts.case import Case
from audit.facts.impurity import excess
from audit.facts.rows import (
    LeafMass,
    LeftOut,
    Linear,
    Plurality,
    ProfileTotals,
    Row,
    SplitFamily,
    WholeRecords,
)
from audit.reading import Undetermined
from ppdm_models.arrays import BoolArray, FloatArray
from ppdm_models.plugins import discover

TRUTH_TOLERANCE_SHARE = 1e-9
"""How far, as a share of the records a row speaks of, the true table may miss it: what floating point needs."""
COUNT_TOLERANCE_RECORDS = 1e-6


@dataclass(frozen=True, slots=True)
class Dropped:
    """A row that the true table breaks, so it is no knowledge: where it comes from and the likely cause.

    ``is_published`` is true for what the file itself says (then the table is not the one the file speaks of).
    """

    constraint: str
    where: str
    problem: str
    is_published: bool


@dataclass(frozen=True, slots=True)
class System:
    """Rows that hold in the true table (where there is one), and those that do not. ``case`` is what they speak of.

    ``left_out`` may hold too, which is not known: no row says it. ``whole`` holds of whole records, and is no part of
    the estimate.
    """

    case: Case
    rows: tuple[Row, ...]
    dropped: tuple[Dropped, ...]
    left_out: tuple[LeftOut, ...] = ()
    whole: tuple[Linear, ...] = ()

    @property
    def families(self) -> tuple[SplitFamily, ...]:
        """The split-choice rows."""
        return tuple(row for row in self.rows if isinstance(row, SplitFamily))

    @property
    def size(self) -> int:
        """The number of rows, each candidate split counted as one; the profiles' own totals not counted."""
        return sum(
            len(row.admissible) if isinstance(row, SplitFamily) else 1
            for row in self.rows
            if not isinstance(row, ProfileTotals)
        )


def build_system(case: Case) -> System:
    """Collect the rows of every constraint and drop those that the true table breaks.

    Raises:
        KnowledgeError: the adversary is said to know what cannot be known here.
    """
    found = discover(constraints, "CONSTRAINT", Constraint)
    facts = [fact for constraint in found.values() for fact in constraint.rows(case)]
    left_out = tuple(fact for fact in facts if isinstance(fact, LeftOut))
    whole = [fact.row for fact in facts if isinstance(fact, WholeRecords)]
    rows = [fact for fact in facts if not isinstance(fact, LeftOut | WholeRecords)]
    truth = case.population.truth
    if isinstance(truth, Undetermined):
        return System(case, tuple(rows), (), left_out, tuple(whole))
    kept: list[Row] = []
    dropped: list[Dropped] = []
    for row in rows:
        held, broken = _checked(case, row, truth)
        kept.extend(held)
        dropped.extend(broken)
    true = tuple(
        row for row in whole if violations(case, row, truth).max() <= TRUTH_TOLERANCE_SHARE
    )
    return System(case, tuple(_unled(case, kept, truth)), tuple(dropped), left_out, true)


def _unled(case: Case, rows: list[Row], truth: FloatArray) -> Iterator[Row]:
    """Yield the rows, a label's lead over classes before it without those that the true table has as often."""
    for row in rows:
        if isinstance(row, Plurality) and row.before:
            totals = truth[case.members.stops(row.node)].sum(axis=0)
            led = tuple(k for k in row.before if totals[row.label] - totals[k] >= row.margin + 1)
            yield replace(row, before=led)
        else:
            yield row


def doubled(system: System) -> tuple[System, tuple[int, ...]]:
    """Return the system with what was left out as if it held, and the nodes below which nobody can tell what holds.

    A table that obeys it, and is as the true one below those nodes, obeys whatever of it does hold.
    """
    case, truth = system.case, system.case.population.truth
    rows: list[Row] = list(system.rows)
    open_nodes = {one.node for one in system.left_out if one.is_open}
    for one in system.left_out:
        if one.is_open:
            continue
        if isinstance(truth, Undetermined):
            rows += [*one.possible, *one.implying]
            continue
        rows += [row for family in one.possible for row in _checked(case, family, truth)[0]]
        if any(_checked(case, family, truth)[1] for family in one.implying):
            open_nodes.add(one.node)
        else:
            rows += one.implying
    return System(case, tuple(rows), system.dropped), tuple(sorted(open_nodes))


def left_out_in_words(system: System) -> tuple[str, ...]:
    """Return what was left out, each kind once, with the attributes and how many nodes it concerns."""
    kinds: dict[str, tuple[dict[str, None], set[int]]] = {}
    for one in system.left_out:
        names, nodes = kinds.setdefault(one.why, ({}, set()))
        names[repr(one.attribute)] = None
        nodes.add(one.node)
    return tuple(
        f"not used, though it may prove more: {why.replace('{}', ', '.join(names))}"
        f"{f' (at {len(nodes)} nodes)' if len(nodes) > 1 else ''}"
        for why, (names, nodes) in kinds.items()
    )


def violations(case: Case, row: Row, mass: FloatArray) -> FloatArray:
    """Return by how much each part of a row is broken, relative to the records it speaks of; 0 where it holds."""
    if isinstance(row, ProfileTotals):
        short = np.abs(mass.sum(axis=1) - row.counts) / row.counts
        return np.asarray(np.maximum(short, np.maximum(-mass.min(axis=1), 0.0) / row.counts))
    if isinstance(row, SplitFamily):
        return np.maximum(excess(row, mass), 0.0)
    if isinstance(row, Linear):
        value = float((row.weights * mass[row.profiles, row.classes]).sum())
        who, first = np.unique(row.profiles, return_index=True)
        each = 1.0 if row.slack is None else np.abs(row.weights[first])
        scale = float((case.population.counts[who] * each).sum())
        return _outside(value, row.low, row.high, scale)
    here = mass[case.members.stops(row.node)]
    scale = float(here.sum())
    if isinstance(row, LeafMass):
        return _outside(float(here[:, row.klass].sum()), row.low, row.high, scale)
    totals = here.sum(axis=0)
    others = np.delete(totals, row.label)
    return np.asarray(np.maximum(others + row.margin - totals[row.label], 0.0) / scale)


def max_violation(system: System, mass: FloatArray) -> float:
    """Return the largest relative violation over all rows, re-computed from their definitions."""
    worst = (float(violations(system.case, row, mass).max(initial=0.0)) for row in system.rows)
    return max(worst, default=0.0)


def _outside(value: float, low: float, high: float, scale: float) -> FloatArray:
    return np.array([max(low - value, value - high, 0.0) / scale])


def _checked(case: Case, row: Row, truth: FloatArray) -> tuple[list[Row], list[Dropped]]:
    broken = violations(case, row, truth)
    bad = broken > TRUTH_TOLERANCE_SHARE
    if isinstance(row, LeafMass):
        bad &= broken * truth[case.members.stops(row.node)].sum() > COUNT_TOLERANCE_RECORDS
    if not bad.any():
        return [row], []
    if isinstance(row, SplitFamily):
        return _without(row, bad)
    return [], [
        Dropped(
            row.origin.constraint,
            row.origin.where,
            _cause(row, float(broken.max())),
            row.origin.is_published,
        )
    ]


def _without(family: SplitFamily, bad: BoolArray) -> tuple[list[Row], list[Dropped]]:
    kept = replace(family, admissible=family.admissible[~bad])
    problem = (
        f"{int(bad.sum())} candidate splits on {family.attribute!r} would have been better in the true "
        "table; the learner broke a tie at random, looked at part of the features, or has limits that the "
        "file does not name"
    )
    said = Dropped("split_choice", family.origin.where, problem, False)
    return ([kept] if len(kept.admissible) else []), [said]


def _cause(row: Row, broken: float) -> str:
    amount = f"the true table misses it by {broken:.3g} of its records"
    if isinstance(row, Plurality) or row.origin.constraint == "inner_label":
        return f"{amount}; the learner weighed classes by cost or prior, broke a tie, or the label was changed"
    if isinstance(row, LeafMass) or row.origin.is_published:
        return f"{amount}; the file speaks of another table, of weighted records, or was changed"
    return f"{amount}; the fact is not true of this table"

"""The kinds of rows there are, one entry each; a new kind is a record in `facts/rows.py` and an entry here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.impurity import excess
from treewarden.audit.facts.kind import (
    COUNT_TOLERANCE_RECORDS,
    TRUTH_TOLERANCE_SHARE,
    Dropped,
    Kind,
    Kinds,
    R,
    Said,
)
from treewarden.audit.facts.rows import (
    LeafMass,
    Linear,
    Origin,
    Plurality,
    ProfileTotals,
    SplitFamily,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, by_rows

OTHER_LABEL = "the learner weighed classes by cost or prior, broke a tie, or the label was changed"
OTHER_TABLE = "the file speaks of another table, of weighted records, or was changed"
NOT_TRUE = "the fact is not true of this table"


class _Totals(Kind[ProfileTotals]):
    """Every formulation has the profiles' own totals in it, so they say nothing beside them."""

    def statements(self, row: ProfileTotals) -> int:
        return 0

    def broken(self, case: Case, row: ProfileTotals, mass: FloatArray) -> FloatArray:
        short = np.abs(by_rows(np.add, mass) - row.counts) / row.counts
        return np.asarray(
            np.maximum(short, np.maximum(-by_rows(np.minimum, mass), 0.0) / row.counts)
        )

    def held(
        self, case: Case, row: ProfileTotals, truth: FloatArray
    ) -> tuple[ProfileTotals | None, Dropped | None]:
        return whole_or_dropped(row, self.broken(case, row, truth), cause_of(row.origin))

    def said(self, case: Case, row: ProfileTotals) -> Said:
        return Said(ends=(), leads=(), across=(), families=())


class _LeafMass(Kind[LeafMass]):
    """Published counts are rounded, so the true table may miss them by what no whole record makes."""

    def statements(self, row: LeafMass) -> int:
        return 1

    def broken(self, case: Case, row: LeafMass, mass: FloatArray) -> FloatArray:
        here = mass.take(case.members.stops(row.node), axis=0)
        return outside(float(here[:, row.klass].sum()), row.low, row.high, float(here.sum()))

    def held(
        self, case: Case, row: LeafMass, truth: FloatArray
    ) -> tuple[LeafMass | None, Dropped | None]:
        broken = self.broken(case, row, truth)
        records = truth.take(case.members.stops(row.node), axis=0).sum()
        if not (broken * records > COUNT_TOLERANCE_RECORDS).any():
            return row, None
        return whole_or_dropped(row, broken, OTHER_TABLE)

    def said(self, case: Case, row: LeafMass) -> Said:
        return Said(ends=(row,), leads=(), across=(), families=())


class _Plurality(Kind[Plurality]):
    """A lead over classes before the label goes where the true table has them as often as the label."""

    def statements(self, row: Plurality) -> int:
        return 1

    def broken(self, case: Case, row: Plurality, mass: FloatArray) -> FloatArray:
        here = mass.take(case.members.stops(row.node), axis=0)
        totals = here.sum(axis=0)
        short = np.delete(totals, row.label) + row.margin - totals[row.label]
        return np.asarray(np.maximum(short, 0.0) / float(here.sum()))

    def held(
        self, case: Case, row: Plurality, truth: FloatArray
    ) -> tuple[Plurality | None, Dropped | None]:
        totals = truth.take(case.members.stops(row.node), axis=0).sum(axis=0)
        led = tuple(k for k in row.before if totals[row.label] - totals[k] >= row.margin + 1)
        broken = self.broken(case, row, truth)
        return whole_or_dropped(replace(row, before=led), broken, OTHER_LABEL)

    def said(self, case: Case, row: Plurality) -> Said:
        return Said(ends=(), leads=(row,), across=(), families=())


class _Linear(Kind[Linear]):
    """A row across leaves, and any other sum of masses."""

    def statements(self, row: Linear) -> int:
        return 1

    def broken(self, case: Case, row: Linear, mass: FloatArray) -> FloatArray:
        value = float((row.weights * mass[row.profiles, row.classes]).sum())
        who, first = np.unique(row.profiles, return_index=True)
        each = 1.0 if row.slack is None else np.abs(row.weights[first])
        return outside(value, row.low, row.high, float((case.population.counts[who] * each).sum()))

    def held(
        self, case: Case, row: Linear, truth: FloatArray
    ) -> tuple[Linear | None, Dropped | None]:
        return whole_or_dropped(row, self.broken(case, row, truth), cause_of(row.origin))

    def said(self, case: Case, row: Linear) -> Said:
        return Said(ends=(), leads=(), across=(row,), families=())


class _SplitFamily(Kind[SplitFamily]):
    """Each candidate is a statement, and is dropped alone: it would have been better than the split that was chosen."""

    def statements(self, row: SplitFamily) -> int:
        return len(row.admissible)

    def broken(self, case: Case, row: SplitFamily, mass: FloatArray) -> FloatArray:
        return np.maximum(excess(row, mass), 0.0)

    def held(
        self, case: Case, row: SplitFamily, truth: FloatArray
    ) -> tuple[SplitFamily | None, Dropped | None]:
        bad: BoolArray = self.broken(case, row, truth) > TRUTH_TOLERANCE_SHARE
        if not bad.any():
            return row, None
        problem = (
            f"{int(bad.sum())} candidate splits on {row.attribute!r} would have been better in the true "
            "table; the learner broke a tie at random, looked at part of the features, or has limits that the "
            "file does not name"
        )
        said = Dropped("split_choice", row.origin.where, problem, False)
        return None if bad.all() else replace(row, admissible=row.admissible[~bad]), said

    def said(self, case: Case, row: SplitFamily) -> Said:
        return Said(ends=(), leads=(), across=(), families=(row,))


KINDS: Kinds = {
    ProfileTotals: _Totals(),
    LeafMass: _LeafMass(),
    Plurality: _Plurality(),
    Linear: _Linear(),
    SplitFamily: _SplitFamily(),
}


def outside(value: float, low: float, high: float, scale: float) -> FloatArray:
    """Return by how much a value is outside two ends, relative to a scale, shape (1,)."""
    return np.array([max(low - value, value - high, 0.0) / scale])


def whole_or_dropped(row: R, broken: FloatArray, cause: str) -> tuple[R | None, Dropped | None]:
    """Return a row as it is, or as dropped where the true table breaks a part of it."""
    if not (broken > TRUTH_TOLERANCE_SHARE).any():
        return row, None
    problem = f"the true table misses it by {float(broken.max()):.3g} of its records; {cause}"
    origin = row.origin
    return None, Dropped(origin.constraint, origin.where, problem, origin.is_published)


def cause_of(origin: Origin) -> str:
    """Return why the true table is likely to break a row, by where that comes from."""
    if origin.constraint == "inner_label":
        return OTHER_LABEL
    return OTHER_TABLE if origin.is_published else NOT_TRUE

"""Rows say the same to all who ask; a kind that nobody else has heard of reaches everything through its entry alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.judges.estimate import direct
from tests.kit.cases import multiway_case
from treewarden.audit.consistent_tables.engine import reason_in_doubt
from treewarden.audit.consistent_tables.result import Consistency
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.facts.impurity_rows import excess
from treewarden.audit.facts.kinds import KINDS, cause_of, outside, whole_or_dropped
from treewarden.audit.facts.rows import (
    Linear,
    Origin,
    Plurality,
    RowContent,
    RowKind,
    as_lines,
    kind_of,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.conflict import conflict
from treewarden.audit.system.system import build_system, facts_of, max_violation, system_of

LEVELS = ("labels", "rates", "counts")


@dataclass(frozen=True)
class Together:
    """At some leaves together at most so many records have a class."""

    nodes: tuple[int, ...]
    klass: int
    most: float
    origin: Origin


class _Together(RowKind):
    def statements(self, row):
        return 1

    def broken(self, case, row, mass):
        here = np.isin(case.population.leaf, row.nodes)
        return outside(
            mass[here, row.klass].sum(), 0.0, row.most, case.population.counts[here].sum()
        )

    def keep_true(self, case, row, truth):
        return whole_or_dropped(row, self.broken(case, row, truth), cause_of(case, row.origin))

    def content_of(self, case, row):
        here = np.flatnonzero(np.isin(case.population.leaf, row.nodes))
        classes, ones = np.full(len(here), row.klass), np.ones(len(here))
        line = Linear(here, classes, ones, 0.0, row.most, row.origin)
        return RowContent(ends=(), leads=(), across=(line,), families=())


WITH_TOGETHER = {**KINDS, Together: _Together()}


def known(leaf="rates", split="gini"):
    return multiway_case(4, Knowledge(leaf=leaf, split=split, marginal=True), records=30)


def hidden(case):
    """Return the people of a case as if nobody knew their values."""
    return replace(case.population, truth=Undetermined("nobody knows"))


def two_leaves(case, most, second=6):
    """Return that the first leaf and another have no more than so many records of the first class together."""
    nodes = case.tree.leaves[0].index, case.tree.leaves[second].index
    return Together(nodes, 0, most, Origin("together", "two leaves"))


def extended(case, row):
    """Return the system with a row of the new kind too."""
    return system_of(case, (*facts_of(case), row), WITH_TOGETHER)


def there(case, row, mass):
    """Return the masses that a row is about."""
    return mass[np.isin(case.population.leaf, row.nodes), row.klass]


def truly(case, second=6):
    """Return the row whose number is that of the true table."""
    row = two_leaves(case, 0.0, second)
    return replace(row, most=float(there(case, row, case.population.truth).sum()))


def test_a_row_of_no_kind_is_refused():
    case = known()
    with pytest.raises(TypeError, match="no kind for Together rows"):
        system_of(case, (two_leaves(case, 1.0),))
    with pytest.raises(TypeError, match="no kind for Together rows"):
        kind_of(KINDS, two_leaves(case, 1.0))


@pytest.mark.parametrize("leaf", LEVELS)
def test_masses_break_a_row_where_they_break_what_it_says_and_nowhere_else(leaf):
    case = known(leaf)
    system = extended(case, truly(case))
    counts, draw = case.population.counts, np.random.default_rng(0)
    for _ in range(20):
        mass = draw.dirichlet(np.full(3, 0.3), size=len(counts)) * counts[:, None]
        for row, said in zip(system.rows, system.contents, strict=True):
            lines = (_outside(line, mass) for line in as_lines(case, said))
            splits = (float(excess(family, mass).max()) for family in said.families)
            is_said_broken = max((*lines, *splits), default=0.0) > 1e-9
            assert is_said_broken == (system.kind(row).broken(case, row, mass).max() > 1e-9)


def _outside(line, mass):
    value = (line.weights * mass[line.profiles, line.classes]).sum()
    return max(line.low - value, value - line.high, 0.0)


@pytest.mark.parametrize("split", ["none", "gini"])
def test_what_a_new_kind_says_counts_as_a_row_and_holds_in_the_estimate(split):
    case = known(split=split)
    row, plain = truly(case), build_system(case)
    system = extended(case, row)
    free, _ = estimate(plain, AuditOptions(jobs=1))
    posterior, report = estimate(system, AuditOptions(jobs=1))
    before, mass = (found.values * case.population.counts[:, None] for found in (free, posterior))
    assert report.status == "optimal"
    assert report.rows == plain.size + 1
    assert max_violation(system, mass) <= 1e-6
    assert there(case, row, before).sum() > row.most + 0.3
    assert there(case, row, mass).sum() == pytest.approx(row.most, abs=1e-4)


def test_labels_that_are_looked_at_together_are_kept_or_dropped_as_each_by_itself():
    case = known(leaf="labels", split="none")
    facts = facts_of(case)
    labels = [row for row in facts if isinstance(row, Plurality)]
    wrong = [replace(row, label=(row.label + 1) % len(case.tree.classes)) for row in labels]
    before = [replace(row, before=tuple(range(row.label))) for row in labels]
    strict = [replace(row, margin=1.0) for row in labels]
    for rows in (labels, wrong, before, strict):
        system, kind = system_of(case, rows), KINDS[Plurality]
        each = [kind.keep_true(case, row, case.population.truth) for row in rows]
        assert list(system.rows) == [kept for kept, _ in each if kept is not None]
        assert list(system.dropped) == [gone for _, gone in each if gone is not None]
        all_rows = system_of(replace(case, population=hidden(case)), rows)
        worst = max(float(kind.broken(case, row, case.population.truth).max()) for row in rows)
        assert max_violation(all_rows, case.population.truth) == worst
    assert wrong
    assert system_of(case, wrong).dropped


def test_what_a_new_kind_says_holds_in_the_problem_as_it_is_written_down():
    system = extended(known(split="none"), truly(known()))
    whole, said = direct.solve(system)
    reduced, _ = estimate(system, AuditOptions(jobs=1))
    assert said.status == "optimal"
    np.testing.assert_allclose(reduced.values, whole.values, atol=1e-3)


def test_a_row_of_a_new_kind_that_the_true_table_breaks_is_dropped_and_said():
    case = known()
    system = extended(case, two_leaves(case, 0.0))
    (dropped,) = [one for one in system.dropped if one.constraint == "together"]
    assert dropped.where == "two leaves"
    assert dropped.problem.endswith("the fact is not true of this table")
    assert system.size == build_system(case).size


def test_a_row_of_a_new_kind_is_named_where_it_contradicts_others():
    seen = multiway_case(4, Knowledge(leaf="as-published", split="none"), records=30)
    case = replace(
        seen, population=replace(seen.population, truth=Undetermined("no column 'class'"))
    )
    assert conflict(extended(case, truly(seen))) == ()
    named = conflict(extended(case, two_leaves(case, 0.0)))
    assert {origin.constraint for origin in named} == {"together", "leaf_distribution"}


def test_whole_records_obey_a_row_of_a_new_kind():
    case = known("labels", "none")
    row = truly(case, second=1)
    assert row.most == 0
    free = reason_in_doubt(build_system(case), budget_seconds=5.0)
    worlds = reason_in_doubt(extended(case, row), budget_seconds=5.0)
    assert worlds.consistency is Consistency.CONSISTENT
    assert there(case, row, free.reached_high).max() > 0
    assert there(case, row, worlds.high).max() == 0

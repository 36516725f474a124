"""Strict ties: knowing more of how a learner breaks ties never proves less, whatever the true table ties."""

from dataclasses import replace

import pytest

from tests.kit.cases import multiway_tree, random_table
from tests.kit.tiers import cases, few
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Criterion


def case_of(seed: int) -> Case:
    """Return a case whose learner took the last of equally good attributes, not the first."""
    table = random_table(seed, features=4, classes=2, records=9 + seed % 5, values=2)
    names = [name for name in table.columns if name != "class"]
    backwards = replace(table, columns={n: table.columns[n] for n in [*names[::-1], "class"]})
    criterion = (Criterion.ENTROPY, Criterion.GINI)[seed % 2]
    tree = multiway_tree(backwards, criterion, min_records=4)
    tree = replace(tree, features=tree.features[::-1])
    people = build_population(tree, table, sensitive="class")
    knowledge = Knowledge(leaf=("counts", "labels")[seed % 3 == 0], split=criterion.value)
    return Case(tree, people, members(tree, people.leaf), knowledge)


@pytest.mark.parametrize("first", cases(range(0, 120, 30), quick=1))
def test_what_is_certain_without_strict_ties_stays_certain_with_them(first):

    for seed in range(first, first + 30):
        system = build_system(case_of(seed))
        plain, strict = (reason(system, strict_ties=how) for how in (False, True))
        assert isinstance(plain, ConsistentTables)
        assert isinstance(strict, ConsistentTables)
        assert not (plain.certain & ~strict.certain).any(), f"seed {seed}"
        assert (strict.low >= plain.low).all(), f"seed {seed}"
        assert (strict.high <= plain.high).all(), f"seed {seed}"


@pytest.mark.in_both
def test_a_candidate_that_the_truth_only_ties_still_cannot_be_better():
    proved = 0
    for seed in few(range(60), 20):
        system = build_system(case_of(seed))
        without = replace(
            system, rows=tuple(row for row in system.rows if row not in system.families)
        )
        strict, blind = reason(system, strict_ties=True), reason(without)
        assert isinstance(strict, ConsistentTables)
        assert isinstance(blind, ConsistentTables)
        assert not any("left out" in note for note in strict.notes), f"seed {seed}"
        proved += int((strict.certain & ~blind.certain).sum())
    assert proved > 0

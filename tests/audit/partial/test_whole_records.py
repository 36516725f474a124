"""Who knows every column that the tree tests is told what who knows all is, whatever words say what he knows."""

import numpy as np
import pytest

from tests.kit.cases import NAMES, multiway_tree, random_table
from treewarden.audit.adversaries import with_adversaries
from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge, knowledge_of
from treewarden.audit.options import AuditOptions, RowStatement
from treewarden.audit.partial import target_inference
from treewarden.audit.partial.secret_values import AdversaryRequest
from treewarden.audit.partial.unmodelled_knowledge import FACTS_NOT_USED
from treewarden.audit.population.population import build_population
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Criterion

SEEDS = (0, 1, 2, 3, 4, 5)


def exposures(seed, options, hides=None, knowledge=None):
    """Return what who knows all can infer, and who lists the columns that he knows."""
    table = random_table(seed, features=3, classes=2, records=12, values=3)
    tree = multiway_tree(table, Criterion.GINI, min_records=2)
    population = build_population(tree, table, sensitive="class")
    knows = tuple(name for name in population.qi if name != hides)
    audit = run(tree, population, knowledge or Knowledge(), options=options)
    knowledge, asked = audit.full.evidence.knowledge, AdversaryRequest((Adversary("lists", knows),))
    return with_adversaries(audit, tree, population, knowledge, asked, (), options).exposures


@pytest.mark.parametrize("seed", SEEDS)
def test_who_lists_all_columns_is_read_as_who_knows_all(seed):
    full, lists = exposures(seed, AuditOptions())
    assert full.solver.split_rows == lists.solver.split_rows == RowStatement.INTEGER
    people, own = full.evidence.population, lists.evidence.population
    assert [people.columns[name].keys.tolist() for name in people.qi] == [
        own.columns[name].keys.tolist() for name in own.qi
    ]
    assert np.allclose(full.evidence.posterior.values, lists.evidence.posterior.values)
    for name in ("certain", "excluded"):
        assert np.array_equal(
            getattr(full.evidence.worlds, name), getattr(lists.evidence.worlds, name)
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_over_shares_and_of_who_knows_less_no_solver_is_asked_for_all(seed):
    _, shares = exposures(seed, AuditOptions(rows=RowStatement.REAL))
    _, less = exposures(seed, AuditOptions(), hides="x0")
    assert isinstance(shares.solver, SolverReport)
    assert shares.solver.split_rows == less.solver.split_rows == "real"


@pytest.mark.parametrize("of", ["x0", "x2"])
def test_facts_about_people_are_left_open_for_him_whatever_column_they_are_about(of):
    said = f"P(c0 | {of} = {NAMES[0]}) = 0.5"
    knowledge = knowledge_of({"fact": [{"says": said}]}, "known.toml")
    full, lists = exposures(0, AuditOptions(), knowledge=knowledge, hides="x2")
    assert full.evidence.knowledge.facts
    assert FACTS_NOT_USED in lists.evidence.posterior.reason


def test_who_lacks_a_value_that_he_does_not_know_counts_as_perhaps_left_out(monkeypatch):
    built = []

    def building(case):
        built.append(case)
        return build_system(case)

    monkeypatch.setattr(target_inference, "build_system", building)
    monkeypatch.setattr(target_inference, "incomplete_records", lambda case: case.population.counts)
    exposures(0, AuditOptions())
    assert built
    for case in built:
        assert case.incomplete.tolist() == case.population.counts.tolist()

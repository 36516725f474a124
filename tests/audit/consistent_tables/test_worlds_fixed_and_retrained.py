"""Cells that propagation fixes for the estimate, and witnesses on which the learner grows the same tree again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.worlds_by_hand import ONLY_PROOFS, brute_force, system_of
from tests.kit.cases import multiway_case
from tests.kit.grown_trees import grow_tree, heart
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.proofs.propagate import fixed_cells
from treewarden.audit.consistent_tables.result import Tiers, Witness
from treewarden.audit.consistent_tables.retrain import graded, growers
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.tree.tree import Feature

R1 = system_of([2, 1, 1, 2], [[0], [1, 2], [3]], [(2, 0), (1, 1), (0, 2)], [(0, "1010")])


def test_every_cell_of_example_1_is_fixed():
    fixed = fixed_cells(R1)
    assert fixed.is_fixed.all()
    assert (fixed.low == brute_force(R1)[0][0][0]).all()


def test_a_split_row_is_an_interval_of_the_first_classes_count_on_the_left():
    fixed = fixed_cells(R1)
    ((index, (low, high)),) = fixed.intervals.items()
    assert R1.families[index].attribute == "a1010"
    # Left are q2 and q4: q4's two records are of the second class, so the count is q2's.
    assert (low.tolist(), high.tolist()) == ([1], [2])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_our_learner_grows_the_same_tree_on_the_truth(criterion):
    case = multiway_case(2, Knowledge(leaf="counts", split=criterion), classes=2, records=40)
    assert growers(case, case.population.truth.astype(np.int64))


def test_each_witness_is_graded_by_the_learner():
    case = grow_tree(*heart(), criterion="gini", max_depth=3)
    told = graded(
        reason(build_system(case), tiers=Tiers(draws=0, most_draws=0, solver=False)), case
    )
    assert told.witnesses
    assert {one.grade for one in told.witnesses} <= {"same tree", "a tie"}
    same = [one for one in told.witnesses if one.grade == "same tree"]
    assert same
    able = growers(case, case.population.truth.astype(np.int64))
    assert all(growers(case, one.table) == able for one in same)


def test_a_tree_that_only_some_random_states_grow_again_is_a_tie():
    case = grow_tree(*heart(), criterion="gini", max_depth=5)
    able = growers(case, case.population.truth.astype(np.int64))
    told = graded(reason(build_system(case), budget_seconds=120), case)
    ties = [one for one in told.witnesses if one.grade == "a tie"]
    assert able
    assert all(growers(case, one.table) != able for one in ties)


def test_a_tree_that_differs_where_leaf_counts_may_differ_is_not_called_a_tie():
    case = grow_tree(*heart(), criterion="gini", max_depth=3)
    told = reason(build_system(case), budget_seconds=0)
    truth = case.population.truth.astype(np.int64)
    alike = np.stack([truth.sum(axis=1), np.zeros(len(truth), dtype=np.int64)], axis=1)
    found = graded(replace(told, witnesses=(Witness(0, "everybody is alike", alike),)), case)
    assert found.witnesses[0].grade == "another tree"


def test_no_learner_is_run_again_without_a_column_that_it_compared():
    columns, labels = heart()
    known = [name for name in columns if name != "fbs"]
    case = grow_tree(columns, labels, qi=known, criterion="gini", max_depth=3)
    told = reason(build_system(case), tiers=Tiers(draws=0, most_draws=0, solver=False))
    told = graded(told, case)
    assert not growers(case, case.population.truth.astype(np.int64))
    assert {one.grade for one in told.witnesses} == {"consistent"}


def test_id3_is_not_run_again_without_a_column_that_it_compared():
    case = multiway_case(2, Knowledge(leaf="counts", split="gini"), classes=2, records=40)
    tree = replace(case.tree, features=(*case.tree.features, Feature("more", False, ("a", "b"))))
    assert not growers(replace(case, tree=tree), case.population.truth.astype(np.int64))


def test_without_the_truth_witnesses_stay_consistent():
    told = reason(R1, tiers=ONLY_PROOFS)
    assert graded(told, R1.case) is told


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_id3_grades_tables_as_if_it_were_run_on_each_from_the_root(criterion):
    case = multiway_case(2, Knowledge(leaf="rates", split=criterion), classes=2, records=40)
    truth = case.population.truth.astype(np.int64)
    told = reason(build_system(case), tiers=Tiers(draws=0, most_draws=0, solver=False))
    tables = [one.table for one in told.witnesses]
    turned = [np.roll(truth, 1, axis=0), truth[:, ::-1]]
    tables += [one for one in turned if (one.sum(axis=1) == truth.sum(axis=1)).all()]
    witnesses = tuple(Witness(0, "", table) for table in tables)
    grades = [one.grade for one in graded(replace(told, witnesses=witnesses), case).witnesses]
    assert len(grades) > 1
    able = growers(case, truth)
    assert [grade == "same tree" for grade in grades] == [
        growers(case, table) == able for table in tables
    ]

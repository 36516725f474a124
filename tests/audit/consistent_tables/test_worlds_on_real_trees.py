"""Forced profiles of real trees, asserted only where the tree is the one that was studied."""

from __future__ import annotations

import pytest

from tests.kit.grown_trees import german, grow_tree, heart
from tests.kit.tiers import cases
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.queries import Asker
from treewarden.audit.consistent_tables.result import UNSURE_TIES, Consistency
from treewarden.audit.system.system import build_system


@pytest.mark.parametrize(
    ("table", "criterion", "settings", "nodes", "free", "forced", "tied"),
    cases(
        [
            (heart, "gini", {"max_depth": 3}, 15, 297, 8, 0),
            (heart, "entropy", {"max_depth": 3}, 15, 257, 5, 0),
            (heart, "gini", {"max_depth": 5}, 53, 173, 49, 1),
            (heart, "entropy", {"min_samples_leaf": 5}, 53, 108, 34, 0),
            (german, "entropy", {"max_depth": 4}, 31, 971, 6, 1),
            (german, "gini", {"min_samples_leaf": 10}, 131, 659, 86, 0),
            (heart, "entropy", {"max_depth": 5}, 49, 98, 33, 0),
            (heart, "gini", {"min_samples_leaf": 5}, 51, 105, 28, 0),
            (german, "gini", {"max_depth": 4}, 31, 976, 9, 0),
            (german, "entropy", {"min_samples_leaf": 10}, 127, 658, 74, 0),
        ],
        quick=2,
        second=6,
    ),
)
def test_the_forced_profiles_of_real_trees_are_proved_and_all_others_witnessed(
    table, criterion, settings, nodes, free, forced, tied
):
    case = grow_tree(*table(), criterion=criterion, **settings)
    if len(case.tree.nodes) != nodes:
        pytest.skip(f"this scikit-learn grows {len(case.tree.nodes)} nodes, not {nodes}")
    system = build_system(case)
    by_leaves = reason(system, budget_seconds=0).certain
    told = reason(system, budget_seconds=600)
    assert (~by_leaves).sum() == free
    assert (told.certain & ~by_leaves).sum() == forced
    assert told.open_profiles.sum() == tied  # only tables that rest on ties move these
    assert (UNSURE_TIES in told.left) == (tied > 0)
    assert told.consistency is Consistency.CONSISTENT
    truth = case.population.truth.argmax(axis=1)
    assert (told.certain_class == truth)[told.certain].all()
    assert all(told.reasons[q] for q in range(len(truth)) if told.certain[q])


def test_what_a_table_with_ties_denies_is_not_asked_again(monkeypatch):
    denied, again = set(), []
    settle_below = Asker._settle_below

    def noted(self, scope, question, effort):
        if question in denied:
            again.append((scope.node, question))
        found = settle_below(self, scope, question, effort)
        if self.pool.unsure[question.cell] and not found:
            denied.add(question)
        return found

    monkeypatch.setattr(Asker, "_settle_below", noted)
    case = grow_tree(*german(), criterion="entropy", max_depth=4)
    reason(build_system(case), budget_seconds=600)
    assert denied
    assert again == []

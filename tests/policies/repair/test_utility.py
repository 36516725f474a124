"""Changes are compared on people that no leaf was set by, wherever the table and the tree allow it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from tests.kit.small_audits import auditor, deep_tree, flat_tree, pack_of, people_of
from treewarden.audit.population.population import RecordOrder
from treewarden.audit.reading import Undetermined
from treewarden.policies.repair.repair import repair
from treewarden.policies.repair.utility import (
    FOLDS,
    CrossValidation,
    FoldedClasses,
    RepairResources,
    cross_validation,
)
from treewarden.ppdm_models.tree.tree import Task

TWO = ("a", "b")
SPLIT = deep_tree([[[40, 10], [10, 40]], [30, 30]], classes=TWO)


def measured(tree, utility="accuracy", people=None):
    people = people or people_of(tree)
    found = cross_validation(tree, people, utility)
    assert isinstance(found, CrossValidation), found.reason
    return found.measure(tree, people.leaf).low


def test_every_person_is_in_one_fold_and_each_class_is_dealt_evenly():
    people = people_of(SPLIT)
    folded = cross_validation(SPLIT, people, "accuracy").folded
    assert isinstance(folded, FoldedClasses)
    back = np.zeros_like(people.truth)
    np.add.at(back, (folded.profiles, folded.classes), folded.counts.sum(axis=0))
    assert (back == people.truth).all()
    for code in range(2):
        of_class = folded.counts[:, folded.classes == code].sum(axis=1)
        assert of_class.max() - of_class.min() <= 1


def test_the_utilities_are_those_of_scikit_learn_on_the_same_folds():
    people = people_of(SPLIT)
    cells = cross_validation(SPLIT, people, "accuracy").folded
    expected = {"accuracy": [], "auc": [], "log-loss": []}
    for fold in range(FOLDS):
        known = np.zeros_like(people.truth)
        rest = cells.counts.sum(axis=0) - cells.counts[fold]
        np.add.at(known, (cells.profiles, cells.classes), rest)
        prior = known.sum(axis=0) / known.sum()
        shares = (known + prior) / (known.sum(axis=1, keepdims=True) + 1)
        times = cells.counts[fold].astype(int)
        profiles, classes = np.repeat(cells.profiles, times), np.repeat(cells.classes, times)
        said = shares[profiles]
        expected["accuracy"].append((said.argmax(axis=1) == classes).mean())
        expected["auc"].append(roc_auc_score(classes, said[:, 1]))
        expected["log-loss"].append(-log_loss(classes, said))
    for utility, values in expected.items():
        assert measured(SPLIT, utility) == pytest.approx(np.mean(values)), utility


def test_leaves_of_one_person_are_worth_nothing_on_others():
    leaves = [[1, 0], [0, 1]] * 10
    alone = flat_tree(leaves, classes=TWO)
    people = people_of(alone)
    right = people.truth[np.arange(20), people.truth.argmax(axis=1)].sum() / 20
    assert right == 1  # what training accuracy says
    assert measured(alone) <= 0.5


def test_where_it_cannot_be_told_training_accuracy_is_compared_and_the_report_can_say_why():
    few = deep_tree([[[50, 1], [5, 1]], [55, 1]], classes=TWO)
    contrary = replace(
        SPLIT, nodes=tuple(replace(n, score="b" if n.is_leaf else n.score) for n in SPLIT.nodes)
    )
    for tree, words in ((few, "fewer than 5"), (contrary, "another class")):
        found = cross_validation(tree, people_of(tree), "accuracy")
        assert isinstance(found, Undetermined), words
        assert words in found.reason
    cost = attempts_of(few).attempts[0].cost
    assert cost.utility_after is None
    assert cost.utility_lost == cost.accuracy_lost


def attempts_of(tree, utility="accuracy", pack=None):
    pack = pack or pack_of(("k_anonymity", "at_least", 55))
    people = people_of(tree)
    return repair(tree, people, auditor(people, pack), pack, RepairResources(utility=utility))


def test_a_leaf_that_says_its_class_alone_has_no_log_loss_and_less_area():
    pack = pack_of(("confidence", "at_most", 0.65), ("label_disclosure", "at_most", 1))
    for utility in ("auc", "log-loss"):
        found = attempts_of(SPLIT, utility, pack)
        bare = [a.cost for a in found.attempts if a.cost.numbers_withheld == 1]
        assert bare, utility
        if utility == "auc":
            assert all(cost.utility_lost > 0 for cost in bare)
        else:
            assert {cost.utility_lost for cost in bare} == {float("inf")}


def test_a_change_that_predicts_better_on_others_comes_before_one_that_changes_less():
    found = attempts_of(SPLIT).attempts[0]
    better = replace(found.cost, utility_after=replace(found.cost.utility_before, low=0.99, high=1))
    same = replace(found.cost, utility_after=found.cost.utility_before, predictions_changed=0.0)
    assert better.rank < same.rank < found.cost.rank


def test_numbers_are_compared_by_the_variance_that_held_out_records_show():
    tree = flat_tree([[10, 0], [10, 0]], classes=TWO)
    numbers = np.concatenate([np.arange(10.0), 100 + np.arange(10.0)])
    leaves = [leaf.index for leaf in tree.leaves]
    means = dict(zip(leaves, (4.5, 104.5), strict=True))
    order = RecordOrder(np.repeat(np.arange(2), 10), None, numbers)
    people = replace(people_of(tree), order=order)
    nodes = tuple(
        replace(node, score=means.get(node.index, 54.5), class_counts=None) for node in tree.nodes
    )
    tree = replace(tree, nodes=nodes, task=Task.REGRESSION, classes=())
    assert 0.99 < measured(tree, people=people) < 1
    moved = replace(order, numbers=numbers + 50)
    found = cross_validation(tree, replace(people, order=moved), "accuracy")
    assert isinstance(found, Undetermined)

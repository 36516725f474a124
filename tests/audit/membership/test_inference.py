"""Who of a register was in the table: hand cases, and the judge on a few registers."""

from dataclasses import replace

import numpy as np
import pytest

from treewarden.audit.clock import FOREVER
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.membership.inference import infer_members
from treewarden.audit.membership.result import MembershipInference
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Tree

AGES = (30, 40, 44, 50, 60, 70)


def stump(threshold=47.0, counts=((2.0, 0.0), (0.0, 2.0)), tool=Tool.SCIKIT_LEARN):
    """Return a tree of one cut by age, no to its left and yes to its right."""
    left, right = counts
    whole = tuple(map(sum, zip(left, right, strict=True)))
    nodes = (
        Node(0, "0", None, (1, 2), records=sum(whole), class_counts=whole),
        Node(
            1,
            "1",
            0,
            (),
            NumericTest("age", high=threshold, high_closed=True),
            "no",
            sum(left),
            left,
        ),
        Node(2, "2", 0, (), NumericTest("age", low=threshold), "yes", sum(right), right),
    )
    learner = Learner(Criterion.GINI, tool=tool)
    return Tree(
        nodes, (Feature("age", numeric=True, single=True),), "ill", ("no", "yes"), learner=learner
    )


def register(ages=AGES, members=(0, 0, 1, 1, 1, 0), sizes=None, labels=True):
    """Return candidates by age, no up to 47 and yes beyond; without ``labels`` the register says no classes."""
    code = np.array([int(age > 47) for age in ages])
    inside = np.zeros((len(ages), 2), dtype=np.int64)
    inside[np.arange(len(ages)), code] = members
    return Candidates(
        columns={"age": NumericColumn(np.array(ages, dtype=float))},
        sizes=np.ones(len(ages), dtype=np.int64) if sizes is None else np.array(sizes),
        class_of=code if labels else None,
        members=inside,
        classes=("no", "yes"),
    )


def inferred(tree, candidates):
    found = infer_members((tree,), route(tree, candidates.columns)[None], candidates, FOREVER)
    assert isinstance(found, MembershipInference), found
    return found


def test_the_two_neighbours_of_a_threshold_are_proved_to_be_members():
    # Of 30, 40, 44 | 50, 60, 70 only 44 and 50 have the middle 47; of the others each is a member with 1/2.
    found = inferred(stump(), register(members=(0, 1, 1, 1, 0, 1)))
    assert found.proved_in.tolist() == [0, 0, 1, 1, 0, 0]
    assert found.proved_out.sum() == 0
    assert found.probability == pytest.approx([0.5, 0.5, 1, 1, 0.5, 0.5])


def test_other_tables_show_of_whom_nothing_is_proved():
    found = inferred(stump(), register(members=(0, 1, 1, 1, 0, 1)))
    assert found.open_groups.tolist() == [True, True, False, False, True, True]
    assert found.may_be_in.sum() == found.proved_in.sum()


def test_two_people_of_one_value_hide_each_other():
    # Two of 44: one of them is a member in 5 of the 6 pairs of 30, 40, 44, 44 that have one.
    candidates = register(members=(0, 1, 1, 1, 0, 1), sizes=(1, 1, 2, 1, 1, 1))
    found = inferred(stump(), candidates)
    assert found.proved_in.tolist() == [0, 0, 0, 1, 0, 0]
    assert found.low[2] == 1


def test_whoever_lies_between_the_neighbours_is_proved_to_be_out():
    ages = (30, 44, 46, 50, 60)
    found = inferred(stump(threshold=47.0), register(ages, members=(1, 1, 0, 1, 1)))
    assert found.proved_out.tolist() == [0, 0, 1, 0, 0]
    assert found.proved_in.tolist() == [1, 1, 0, 1, 1]


def test_a_count_of_nobody_excludes_all_of_a_class():
    candidates = replace(register(), class_of=np.array([0, 1, 0, 1, 1, 1]))
    members = np.zeros((6, 2), dtype=np.int64)
    for group, code in ((2, 0), (0, 0), (3, 1), (4, 1)):
        members[group, code] = 1
    found = inferred(stump(), replace(candidates, members=members))
    assert found.proved_out[1] == 1


def test_without_classes_in_the_register_thresholds_prove_as_much():
    found = inferred(stump(), register(members=(0, 1, 1, 1, 0, 1), labels=False))
    assert found.proved_in.tolist() == [0, 0, 1, 1, 0, 0]
    assert found.probability == pytest.approx([0.5, 0.5, 1, 1, 0.5, 0.5])


def test_a_learner_whose_thresholds_are_not_known_leaves_its_members_open_but_for_counts():
    found = inferred(stump(tool=Tool.WEKA), register(members=(0, 1, 1, 1, 0, 1)))
    assert found.proved_in.sum() == 0
    assert found.left
    assert found.may_be_in.sum() == 4  # nobody is shown to be open


def test_thresholds_that_the_true_members_do_not_make_prove_nothing():
    found = inferred(stump(threshold=46.0), register(members=(0, 1, 1, 1, 0, 1)))
    assert found.proved_in.sum() == 0
    assert found.left


def test_a_file_without_counts_is_left_open():
    tree = stump()
    bare = tuple(replace(node, records=None, class_counts=None) for node in tree.nodes)
    found = infer_members(
        (replace(tree, nodes=bare),), route(tree, register().columns)[None], register(), FOREVER
    )
    assert isinstance(found, Undetermined)


@pytest.mark.parametrize("seed", [3, 14])
def test_what_is_proved_holds_of_every_part_that_grows_the_file(seed):
    judging = pytest.importorskip("tests.judges.run_membership")
    tally = judging.judge(seed)
    assert tally.files > 0
    assert tally.misses == []
    assert tally.proved > 0

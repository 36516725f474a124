"""Who of a register was in the table: hand cases, and the judge on a few registers."""

import shutil
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from tests.kit.tiers import cases
from treewarden.audit.membership.candidates import Candidates, MembershipInference
from treewarden.audit.membership.inference import infer_members
from treewarden.audit.membership.learners import surely_apart
from treewarden.audit.membership.local_parts import fillings
from treewarden.audit.progress import FOREVER, Clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Stopping, Tree

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
    learner = Learner(Criterion.GINI, tool=tool, stopping=Stopping(max_depth=1), lists_columns=True)
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


def inferred(tree, candidates, until=FOREVER):
    found = infer_members((tree,), route(tree, candidates.columns)[None], candidates, until)
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


WITHHELD = register((40, 39, 44, 50, 54, 60), (1, 0, 1, 1, 0, 1))
"""The pairs 44 | 50 and 40 | 54 have the middle 47; of those left of it only 44 is yes."""
OF_THREE = replace(
    WITHHELD,
    class_of=np.array([0, 0, 1, 1, 1, 1]),
    members=np.array([[1, 0], [0, 0], [0, 1], [0, 1], [0, 0], [0, 1]]),
)


def test_counts_that_the_file_gives_make_a_further_pair_impossible():
    found = inferred(stump(counts=((1.0, 1.0), (0.0, 2.0))), OF_THREE)
    assert found.proved_in.tolist() == [0, 0, 1, 1, 0, 0]


def bare(tree, bands=None):
    """Return a tree that says no class counts beside its records, or between which ends those of its left leaf lie."""
    root, left, right = (replace(node, class_counts=None) for node in tree.nodes)
    return replace(tree, nodes=(root, replace(left, bands=bands), right))


def test_counts_that_the_file_withholds_make_no_pair_impossible():
    # 39 and 40 left, 54 and 60 right have the same middle, and two people on each side.
    found = inferred(bare(stump(counts=((1.0, 1.0), (0.0, 2.0)))), OF_THREE)
    assert found.proved_in.sum() == 0
    assert "missing" in found.left[0]


def test_bands_of_counts_are_taken_as_bands():
    tree = stump(counts=((1.0, 1.0), (0.0, 2.0)))
    narrow = inferred(bare(tree, bands=((1.0, 1.0), (1.0, 1.0))), OF_THREE)
    assert narrow.proved_in.tolist() == [0, 0, 1, 0, 0, 0]  # the one yes of the left leaf
    wide = inferred(bare(tree, bands=((0.0, 2.0), (0.0, 2.0))), OF_THREE)
    assert wide.proved_in.sum() == 0


def test_a_count_that_no_candidate_can_be_is_of_another_table():
    tree = stump(counts=((2.0, 1.0), (0.0, 2.0)))
    found = infer_members((tree,), route(tree, WITHHELD.columns)[None], WITHHELD, FOREVER)
    assert isinstance(found, Undetermined)


@pytest.mark.parametrize(
    "stopping",
    [
        None,
        Stopping(max_depth=1, pruning_alpha=0.01),
        Stopping(max_depth=1, min_impurity_decrease=0.01),
        Stopping(max_depth=1, max_leaves=2),
    ],
)
def test_no_table_is_shown_where_the_learner_stops_by_more_than_counts(stopping):
    tree = stump()
    tree = replace(tree, learner=replace(tree.learner, stopping=stopping))
    found = inferred(tree, register(members=(0, 1, 1, 1, 0, 1)))
    assert not found.open_groups.any()
    assert found.may_be_in.sum() == 4


@pytest.mark.parametrize("change", ["columns", "seed", "printed"])
def test_no_table_is_shown_where_more_of_the_file_would_have_to_be_the_same(change):
    tree = stump()
    if change == "printed":
        tree = replace(tree, unused=("gains",))
    elif change == "seed":
        tree = replace(tree, learner=replace(tree.learner, unmodelled=("random_state",)))
    else:
        tree = replace(tree, learner=replace(tree.learner, lists_columns=False))
    assert not inferred(tree, register(members=(0, 1, 1, 1, 0, 1))).open_groups.any()


def test_many_groups_of_one_leaf_are_filled_in():
    # Of 1,500 people of one leaf one is a member: as many parts as people, and none is like another.
    assert len(fillings(np.zeros(1500, int), np.ones(1500, int), 1)) == 1500
    low, high = np.array([0, 1, 0]), np.array([2, 2, 1])
    fits = [each for each in np.ndindex(3, 3, 2) if sum(each) == 3 and each[1] >= 1]
    assert fillings(low, high, 3).tolist() == [list(each) for each in fits]
    assert len(fillings(low, high, 9)) == 0


@pytest.mark.parametrize("step", [1, 2])
def test_values_a_last_digit_apart_may_not_be_told_apart(step):
    # Between 1 and its next numbers of 32 bits scikit-learn does not cut, so that a cut there is no rival.
    near = np.float32(1.0)
    for _ in range(step):
        near = np.nextafter(near, np.float32(2))
    assert not surely_apart(np.array([1.0]), np.array([float(near)]))[0]
    assert surely_apart(np.array([1.0, 0.0]), np.array([1.1, 0.1])).all()


def test_all_values_that_may_make_a_rounded_threshold_are_looked_at():
    # 12 values of 64 bits that all have the middle 47 in 32 bits: which of them is a member is not known.
    near = [50 + number * 2**-46 for number in range(12)]
    candidates = register((44, *near), (1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    tree = stump(counts=((1.0, 0.0), (0.0, 1.0)), tool=Tool.RPART)
    found = inferred(tree, candidates)
    assert found.proved_in.tolist() == [1] + 12 * [0]
    assert found.proved_out.sum() == 0


# Registers that once had a wrong proof: 6 and 15 by withheld counts, 1, 68 and 92 by values that are nearly alike.
@pytest.mark.parametrize("seed", cases((1, 3, 6, 15, 68, 92), quick=(3, 15, 68)))
def test_what_is_proved_holds_of_every_part_that_grows_the_file(seed):
    judging = pytest.importorskip("tests.judges.run_membership")
    tally = judging.judge(seed)
    assert tally.misses == []
    assert tally.files > 0


@pytest.mark.parametrize("seed", cases(range(6), quick=1))
def test_what_is_proved_of_rpart_holds_of_every_part_that_grows_the_file(seed):
    judging = pytest.importorskip("tests.judges.run_membership")
    if shutil.which("Rscript") is None:
        pytest.skip("grows trees with R")
    tally = judging.judge(seed, "rpart")
    assert tally.misses == []
    assert tally.files > 0


def test_the_search_for_other_tables_ends_early_once_somebody_is_proved_to_be_in():
    # A clock that is a second on at each look: 44 and 50 are proved to be in, 400 others are open.
    ages = (*np.linspace(10, 43, 200), 44.0, 50.0, *np.linspace(51.3, 86, 200))
    members = (*(100 * (0, 1)), 1, 1, *(100 * (0, 1)))
    looks = count()
    found = inferred(
        stump(counts=((101.0, 0.0), (0.0, 101.0))),
        register(ages, members),
        Clock(300.0, lambda: float(next(looks))),
    )
    assert found.proved_in.sum() == 2
    assert 0 < found.open_groups.sum() < 400
    assert next(looks) < 150

"""Records that every table has which fits a file: hand cases, and the judge on a few files."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from tests.judges.run_reconstruction import judge
from tests.kit.tiers import seeds
from treewarden.audit.population.file_only_population import said_of
from treewarden.audit.progress import FOREVER, clock
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction import cells
from treewarden.audit.reconstruction.cells import EQUAL_WEIGHTS, HALF_WAY, find_boxes, find_cells
from treewarden.audit.reconstruction.domain import (
    NO_COLUMNS,
    DeclaredColumn,
    DeclaredDomain,
    PublicDomainError,
    find_domain,
)
from treewarden.audit.reconstruction.of_model import (
    BOUNDED,
    SAME_RECORDS,
    SAMPLED,
    SEEN_WEIGHTS,
    WHOLE_WEIGHTS,
    reconstruct,
)
from treewarden.audit.reconstruction.problem import NOT_ALL, read_counts
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tree.column import Invalid, Treatment
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, TreeSampling
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Feature, Learner, Node, Quality, Tree

FEATURES = (Feature("a", numeric=True), Feature("b", numeric=True))
BITS = DeclaredColumn((0.0, 1.0))
BOTH = DeclaredDomain({"a": BITS, "b": BITS})


def stump(name, left, right, **changes):
    """Return a tree of one cut of a column between 0 and 1, with its counts of no and yes."""
    whole = tuple(np.add(left, right).astype(float))
    parts = ((NumericTest(name, high=0.5, high_closed=True), left), (NumericTest(name, 0.5), right))
    nodes = [Node(0, "0", None, (1, 2), records=sum(whole), class_counts=whole)]
    for place, (test, counts) in enumerate(parts, start=1):
        told = tuple(map(float, counts))
        nodes.append(Node(place, str(place), 0, (), test, records=sum(told), class_counts=told))
    said = {"classes": ("no", "yes"), "format": "sklearn", "quality": Quality.EXACT}
    return Tree(tuple(nodes), FEATURES, "ill", **(said | changes))


def forest(*trees, resampled=False):
    return Ensemble(
        members=tuple(map(Member, trees)),
        combination=Combination.AVERAGE,
        features=FEATURES,
        target="ill",
        classes=("no", "yes"),
        sampling=TreeSampling(resampled),
    )


HAND = forest(stump("a", (2, 0), (1, 1)), stump("b", (1, 1), (2, 0)))


def test_the_hand_case_of_two_stumps_proves_two_of_four_records():
    found = reconstruct(HAND, FOREVER, BOTH)
    proved = {
        (*(f"{w}" for w in words), code): int(found.counts.low[cell, code])
        for cell in range(len(found.counts.low))
        for words in [[str(o) for o in found.cells.options_of(cell)]]
        for code in (0, 1)
        if found.counts.low[cell, code]
    }
    assert proved == {("[0]", "[1]", 0): 1, ("[1]", "[0]", 1): 1}
    assert (found.records_proved, found.whole_records, found.records) == (2, 2, 4)
    assert (found.counts.tables, found.tables) == (2, 2)
    assert found.columns_proved == {"a": 2, "b": 2, "ill": 2}
    assert found.is_decided


def test_without_a_domain_a_record_is_proved_up_to_a_box():
    one = replace(HAND, members=HAND.members[:1])
    found = reconstruct(one, FOREVER)
    assert (found.records_proved, found.whole_records) == (4, 0)
    assert found.tables == float("inf")
    assert found.columns_proved == {"a": 0, "b": 0, "ill": 4}
    assert found.example() == "a: at most 0.5, ill: no"


def test_a_file_that_is_its_table_says_so():
    found = reconstruct(
        forest(stump("a", (2, 0), (0, 1)), stump("b", (2, 0), (0, 1))), FOREVER, BOTH
    )
    assert (found.tables, found.whole_records) == (1, 3)


def test_counts_that_may_be_weights_prove_one_record_and_no_number_of_them():
    trees = [replace(member.model, format="pmml") for member in HAND.members]
    found = reconstruct(forest(*trees), FOREVER, BOTH)
    assert (found.may_weigh, found.tables, found.records_proved) == (True, None, 2)
    more = [stump("a", (5, 0), (0, 3)), stump("b", (5, 0), (0, 3))]
    found = reconstruct(forest(*(replace(tree, format="pmml") for tree in more)), FOREVER, BOTH)
    assert found.records_proved == 2


def test_sizes_alone_prove_records_without_their_class():
    nodes = [
        tuple(replace(node, class_counts=None) for node in member.model.nodes)
        for member in HAND.members
    ]
    trees = [replace(m.model, nodes=n) for m, n in zip(HAND.members, nodes, strict=True)]
    found = reconstruct(forest(*trees), FOREVER, BOTH)
    assert (found.classes, found.records_proved, found.whole_records) == ((), 0, 0)


@pytest.mark.parametrize("resampled", [True, None])
def test_counts_of_draws_prove_nothing(resampled):
    assert reconstruct(replace(HAND, sampling=TreeSampling(resampled)), FOREVER, BOTH) == SAMPLED


def test_trees_of_different_tables_are_told_apart():
    found = reconstruct(forest(stump("a", (2, 0), (1, 1)), stump("b", (9, 1), (2, 0))), FOREVER)
    assert found == NOT_ALL


def test_weights_and_shares_are_no_records():
    tree = stump("a", (2, 0), (1, 1), quality=Quality.WEIGHTED)
    assert isinstance(reconstruct(tree, FOREVER), Undetermined)
    assert isinstance(reconstruct(stump("a", (2.5, 0), (1, 1)), FOREVER), Undetermined)


def test_records_that_stop_above_the_leaves_are_not_passed_over():
    tree = stump("a", (2, 0), (1, 1))
    root = replace(tree.nodes[0], class_counts=(4.0, 1.0), records=5.0)
    assert isinstance(
        reconstruct(replace(tree, nodes=(root, *tree.nodes[1:])), FOREVER), Undetermined
    )


def test_an_undeclared_category_is_any_other():
    nodes = (
        Node(0, "0", None, (1, 2), records=3.0, class_counts=(2.0, 1.0)),
        Node(1, "1", 0, (), CategoryTest("c", ("x",)), records=2.0, class_counts=(2.0, 0.0)),
        Node(
            2,
            "2",
            0,
            (),
            CategoryTest("c", ("x",), negated=True),
            records=1.0,
            class_counts=(0.0, 1.0),
        ),
    )
    tree = Tree(nodes, (Feature("c", False),), "ill", ("no", "yes"), format="sklearn")
    found = reconstruct(tree, FOREVER)
    assert (found.records_proved, found.whole_records) == (3, 2)
    declared = DeclaredDomain({"c": DeclaredColumn(("x", "y"))})
    assert reconstruct(tree, FOREVER, declared).whole_records == 3
    assert reconstruct(tree, FOREVER, declared).tables == 1


def test_one_of_several_indicators_is_one():
    trees = (stump("a", (2, 0), (0, 1)),)
    found = reconstruct(forest(*trees), FOREVER, DeclaredDomain(one_of=(("a", "b"),)))
    assert (found.whole_records, found.tables) == (3, 1)


def test_a_model_without_columns_has_no_records_to_rebuild():
    root = Node(0, "root", None, (), score="no", records=5.0, class_counts=(4.0, 1.0))
    said = reconstruct(Tree((root,), (), "flu", ("no", "yes")), FOREVER)
    assert said == Undetermined(NO_COLUMNS)


def test_a_domain_that_does_not_fit_is_an_error():
    with pytest.raises(PublicDomainError):
        reconstruct(HAND, FOREVER, DeclaredDomain({"age": BITS}))
    with pytest.raises(PublicDomainError):
        reconstruct(HAND, FOREVER, DeclaredDomain({"a": DeclaredColumn(("x",))}))
    with pytest.raises(PublicDomainError):
        DeclaredDomain({"a": BITS}, one_of=(("a", "b"),))


def test_a_domain_without_the_records_is_said_to_fit_no_table():
    found = reconstruct(HAND, FOREVER, DeclaredDomain({"a": DeclaredColumn((0.0,)), "b": BITS}))
    assert isinstance(found, Undetermined)


def test_without_time_nothing_is_claimed_but_what_is_proved():
    found = reconstruct(HAND, clock(0.0), BOTH)
    assert isinstance(found, Undetermined) or found.records_proved <= 2


@pytest.mark.parametrize("seed", seeds(300, quick=range(25), second=60))
def test_every_table_that_fits_has_what_is_proved(seed):
    tally = judge(seed, most=5_000)
    assert not tally.misses


def test_a_declared_value_that_a_rounded_threshold_may_part_is_not_decided():
    trees = [replace(member.model, format="sklearn_text") for member in HAND.members]
    near = DeclaredDomain({"a": DeclaredColumn((0.0, 0.46, 1.0)), "b": BITS})
    found = reconstruct(forest(*trees), FOREVER, near)
    assert isinstance(found, Undetermined)
    assert "too near" in found.reason
    assert not isinstance(reconstruct(forest(*trees), FOREVER, BOTH), Undetermined)
    assert not isinstance(reconstruct(HAND, FOREVER, near), Undetermined)


def test_boxes_that_are_not_listed_soon_are_too_many(monkeypatch):
    monkeypatch.setattr(cells, "MOST_POINTS", 1)
    assert reconstruct(HAND, FOREVER, BOTH).records_proved == 2
    monkeypatch.setattr(cells, "BOX_SECONDS", 0.0)
    assert reconstruct(HAND, clock(0.0), BOTH) == cells.TOO_MANY


def cut_at(threshold, left, right, tool=Tool.SCIKIT_LEARN):
    """Return a tree of one cut of the column a, as a learner of a name makes it."""
    tree = stump("a", left, right, learner=Learner(tool=tool))
    low, high = NumericTest("a", high=threshold, high_closed=True), NumericTest("a", threshold)
    root, first, second = tree.nodes
    return replace(tree, nodes=(root, replace(first, test=low), replace(second, test=high)))


def found_of(*trees, values=(0.0, 1.0, 2.0, 3.0)):
    return reconstruct(forest(*trees), FOREVER, DeclaredDomain({"a": DeclaredColumn(values)}))


def test_a_threshold_half_way_between_two_values_only_is_two_records():
    found = found_of(cut_at(2.5, (1, 0), (0, 1)))
    assert (found.records_proved, found.whole_records, found.assumed) == (
        2,
        2,
        (HALF_WAY, SEEN_WEIGHTS),
    )
    several = found_of(cut_at(2.5, (1, 0), (0, 1)), values=(0.0, 1.0, 2.0, 3.0, 5.0))
    assert several.whole_records == 0


def test_nobody_has_a_value_between_the_two_nearest_that_make_a_threshold():
    found = found_of(cut_at(1.0, (2, 0), (0, 2)), values=(0.0, 1.0, 2.0))
    assert (found.whole_records, found.columns_proved["a"]) == (4, 4)
    assert (
        found_of(cut_at(1.0, (2, 0), (0, 2), Tool.UNKNOWN), values=(0.0, 1.0, 2.0)).columns_proved[
            "a"
        ]
        == 2
    )


@pytest.mark.parametrize(
    "trees",
    [
        (cut_at(2.5, (1, 0), (0, 1), Tool.UNKNOWN),),
        (cut_at(2.25, (1, 0), (0, 1)),),
        (cut_at(1.0, (2, 0), (0, 2)), cut_at(0.5, (1, 0), (1, 2))),
        (cut_at(1.0, (2, 0), (0, 2)), cut_at(0.5, (1, 0), (1, 2), Tool.UNKNOWN)),
    ],
)
def test_thresholds_that_were_made_otherwise_prove_nothing(trees):
    found = found_of(*trees)
    assert HALF_WAY not in found.assumed
    counted = reconstruct(
        forest(*trees),
        FOREVER,
        DeclaredDomain({"a": DeclaredColumn((0.0, 1.0, 2.0, 3.0))}),
        uses_thresholds=False,
    )
    assert (found.counts.low == counted.counts.low).all()
    assert found.whole_records == counted.whole_records


def test_somebody_who_is_on_a_side_of_a_cut_has_a_value_that_makes_it():
    trees = (cut_at(2.0, (2, 0), (0, 1)), cut_at(0.5, (1, 0), (1, 1), Tool.UNKNOWN))
    found = found_of(*trees, values=(0.0, 1.0, 2.0, 3.0))
    assert found.assumed == (HALF_WAY, SEEN_WEIGHTS, SAME_RECORDS)
    assert found.columns_proved["a"] == 3


def test_a_finite_threshold_has_a_value_on_each_side_where_values_may_be_missing():
    assert judge(40093).misses == []


def listed_stump(
    values, invalid=Invalid.RETURN_INVALID, chosen=("p", "q"), counts=((1, 2), (3, 1))
):
    """Return a tree on a category whose values a file lists, as PMML does."""
    treatment = Treatment(values=values, when_invalid=invalid)
    feature = Feature("a", numeric=False, values=values, treatments=(treatment,))
    tests = (CategoryTest("a", chosen), CategoryTest("a", chosen, negated=True))
    tree = stump("a", *counts)
    nodes = (
        tree.nodes[0],
        *(replace(n, test=t) for n, t in zip(tree.nodes[1:], tests, strict=True)),
    )
    return replace(tree, nodes=nodes, features=(feature,))


@pytest.mark.parametrize("invalid", list(Invalid))
def test_boxes_of_values_that_a_file_lists_are_those_of_its_points(invalid):
    trees = [
        listed_stump(("p", "q", "r", "s"), invalid, chosen=chosen)
        for chosen in (("p", "q"), ("q", "r"), ("p", "odd"))
    ]
    leaves = read_counts(trees)
    public = DeclaredDomain({"a": DeclaredColumn(("p", "q", "r", "s", "odd", "even"), True)})
    for declared in (DeclaredDomain({}), public):
        domain = find_domain(trees, declared)
        listed = find_cells(trees, leaves, domain, FOREVER)
        boxes = find_boxes(trees, leaves, domain, FOREVER)
        described = [
            {
                (*c.stops[:, i].tolist(), *c.options[i].tolist(), size)
                for i, size in enumerate(c.sizes.tolist())
            }
            for c in (listed, boxes)
        ]
        assert described[0] == described[1]
        assert described[0]


def test_values_that_a_file_lists_and_no_test_parts_are_one_option():
    domain = find_domain([listed_stump(tuple("pqrstuvw"))], DeclaredDomain({}))
    assert domain.points == 3  # p or q, any other, missing


def test_sums_that_weights_of_classes_may_have_made_are_counts_by_supposition():
    # Balanced by sample_weight: 3 and 7 records weigh 5 each, and each leaf holds as much of both.
    said = "no record has a weight of its own"
    one = forest(stump("a", (2, 2), (3, 3)))
    assert said in reconstruct(one, FOREVER, BOTH).assumed
    assert reconstruct(HAND, FOREVER, BOTH).assumed == (SEEN_WEIGHTS, SAME_RECORDS)


def test_weights_that_add_up_to_the_rows_of_each_leaf_are_supposed_not_to_be():
    # Two records of each class in each leaf, weighed so that each leaf has its four rows, but 1 and 3 by class.
    weights = [0.5, 0.5, 1.5, 1.5, 1.5, 1.5, 0.5, 0.5]
    fitted = DecisionTreeClassifier().fit(
        [[0.0]] * 4 + [[1.0]] * 4, [0, 0, 1, 1] * 2, sample_weight=weights
    )
    found = reconstruct(open_fitted(fitted, names=("a",)).model, FOREVER)
    assert sorted(found.counts.low.tolist()) == [[1, 3], [3, 1]]
    assert EQUAL_WEIGHTS in found.assumed


def test_counts_that_may_be_weights_suppose_that_these_are_whole():
    trees = [replace(member.model, format="pmml") for member in HAND.members]
    assert WHOLE_WEIGHTS in reconstruct(forest(*trees), FOREVER, BOTH).assumed


def test_shares_that_a_learner_kept_in_order_count_no_records():
    rows = [(0, 0, 0)] * 2 + [(2, 0, 1)] * 5 + [(2, 0, 0)] + [(1, 1, 1)] * 3 + [(1, 0, 0)] * 3
    table = np.array(rows)
    learner = DecisionTreeClassifier(monotonic_cst=[1, 0], max_features=1, random_state=2)
    fitted = learner.fit(table[:, :2], table[:, 2])
    tree = open_fitted(fitted, names=("a", "b")).model
    counts = [leaf.class_counts for leaf in tree.leaves]
    # All of (1, 1) have class 1, and all of (1, 0) class 0: whole numbers that add up, and are none of records.
    assert counts == [(2, 0), (2, 1), (1, 2), (1, 5)]
    declared = {"a": DeclaredColumn((0.0, 1.0, 2.0)), "b": DeclaredColumn((0.0, 1.0))}
    assert reconstruct(tree, FOREVER, DeclaredDomain(declared)) is BOUNDED
    told = said_of(tree)
    assert isinstance(told.with_classes, Undetermined)
    assert isinstance(told.population.truth, Undetermined)
    assert "monotonic_cst" in told.doubt
    assert reconstruct(replace(tree, learner=Learner()), FOREVER).records == 14


def test_thresholds_that_a_learner_drew_are_not_half_way():
    values = np.array([1_000_000.0, 1_000_005.0, 1_000_012.0, 1_000_021.0])
    public = DeclaredDomain({"a": DeclaredColumn(tuple(values.tolist()))})
    rows, classes = values[[0] * 5 + [3], None], [0] * 5 + [1]
    for seed in range(3_000):
        learner = DecisionTreeClassifier(splitter="random", random_state=seed).fit(rows, classes)
        if abs(learner.tree_.threshold[0] - 1_000_006) < 0.1:
            break
    # Half way between the first value and the third, as 32 bits have it, though nobody has the third.
    tree = open_fitted(learner, names=("a",)).model
    found = reconstruct(tree, FOREVER, public)
    assert (found.records_proved, found.whole_records, found.assumed) == (6, 0, (SEEN_WEIGHTS,))
    best = replace(tree, learner=replace(tree.learner, draws_cuts=False))
    assert reconstruct(best, FOREVER, public).whole_records == 6
    for form in ("pmml", "treewarden_json"):
        assert load_model(converted(tree, form), form).learner.draws_cuts


def test_weights_that_vanish_are_supposed_not_to_be_there():
    # One of the records at 0 has class 1, and a weight that no count of 64 bits shows.
    fitted = DecisionTreeClassifier(max_depth=1).fit(
        [[0.0]] * 3 + [[2.0]] * 3, [0, 0, 1, 1, 1, 1], sample_weight=[1.5, 1.5, 5e-324, 1, 1, 1]
    )
    found = reconstruct(open_fitted(fitted, names=("a",)).model, FOREVER)
    assert sorted(found.counts.low.tolist()) == [[0, 3], [3, 0]]
    assert found.assumed == (SEEN_WEIGHTS,)


def test_trees_that_a_warm_start_gave_other_tables_are_supposed_to_share_one():
    columns = np.array([(a, b) for a in (0.0, 1.0) for b in (0.0, 1.0)])
    learner = RandomForestClassifier(1, bootstrap=False, warm_start=True, max_features=None)
    learner.fit(columns, [0, 0, 1, 1])
    learner.set_params(n_estimators=2).fit(columns, [0, 1, 0, 1])
    found = reconstruct(open_fitted(learner, names=("a", "b")).model, FOREVER, BOTH)
    assert SAME_RECORDS in found.assumed

"""What constraints yield of cases small enough to be worked out by hand."""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from tests.audit.constraints.test_inner_counts import case as counted_case
from tests.kit.forests import FEATURES
from tests.kit.small_audits import flat_tree, people_of
from treewarden.audit.constraints import inner_mixed
from treewarden.audit.constraints.accuracy import CONSTRAINT as ACCURACY
from treewarden.audit.constraints.classes_occur import CONSTRAINT as CLASSES_OCCUR
from treewarden.audit.constraints.incomplete_leaf import CONSTRAINT as INCOMPLETE_LEAF
from treewarden.audit.constraints.inner_counts import CONSTRAINT as INNER_COUNTS
from treewarden.audit.constraints.inner_mixed import CONSTRAINT as INNER_MIXED
from treewarden.audit.constraints.inner_mixed import _is_label_sure
from treewarden.audit.constraints.leaf_label import CONSTRAINT as LEAF_LABEL
from treewarden.audit.constraints.leaf_label import _drawn_labels
from treewarden.audit.constraints.leaf_rate import CONSTRAINT as LEAF_RATE
from treewarden.audit.constraints.marginal import _published_totals
from treewarden.audit.constraints.node_impurity import CONSTRAINT as IMPURITY
from treewarden.audit.constraints.policy_growth import CONSTRAINT as POLICY_GROWTH
from treewarden.audit.constraints.published_beside import CONSTRAINT as BESIDE
from treewarden.audit.constraints.published_beside import as_linear
from treewarden.audit.constraints.split_choice import CONSTRAINT as SPLIT_CHOICE
from treewarden.audit.facts.class_facts import leaf_facts, true_masses
from treewarden.audit.facts.grower import incomplete_records
from treewarden.audit.facts.rows import Case, LeftOut, Plurality, WholeRecords
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.outputs.beside_rows import BesideRows
from treewarden.audit.outputs.whole_row import WholeRow
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.nodes import Impurity
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import CLASS_WEIGHT, Criterion, Learner, Node, Quality, Tree

LABELS = Knowledge(leaf="labels", split="none")


def labelled_case(flu, young="yes", age=(1, 9, 1, 9), sex="FFMM", **learner):
    """A tree of labels alone, by an unknown learner: women are split by age, of the four people two are women."""
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, (3, 4), CategoryTest("sex", ("F",)), "yes"),
        Node(2, "2", 0, (), CategoryTest("sex", ("M",)), "yes"),
        Node(3, "3", 1, (), NumericTest("age", high=5.0), young),
        Node(4, "4", 1, (), NumericTest("age", 5.0, low_closed=True), "yes"),
    )
    said = {"quality": Quality.ABSENT, "source": "t.json", "learner": Learner(**learner)}
    tree = Tree(nodes, FEATURES, "flu", ("no", "yes"), **said)
    table = table_of({"age": list(age), "sex": list(sex), "flu": flu})
    people = build_population(tree, table, sensitive="flu")
    knowledge = Knowledge(leaf="labels", split="none")
    return Case(tree, people, members(tree, people.leaf), knowledge)


def test_a_known_accuracy_of_labels_is_the_number_of_people_they_are_right_for():
    knowledge = Knowledge(leaf="labels", split="none", accuracy=True)
    case = counted_case(lambda node: True, knowledge=knowledge)
    (row,) = ACCURACY.rows(case)
    labels = [case.tree.classes.index(case.tree.nodes[leaf].score) for leaf in case.population.leaf]
    right = case.population.truth[np.arange(len(labels)), labels].sum()
    assert row.low == row.high == right > 0


def test_a_known_accuracy_says_nothing_more_where_leaves_count_their_classes():
    knowledge = Knowledge(split="none", accuracy=True)
    assert list(ACCURACY.rows(counted_case(lambda node: False, knowledge=knowledge))) == []


def test_of_the_counts_of_an_inner_node_the_last_is_implied_by_its_records():
    case = counted_case(lambda node: node.is_leaf)
    yielded = Counter(row.origin.node for row in INNER_COUNTS.rows(case))
    assert set(yielded.values()) == {len(case.tree.classes) - 1}


@pytest.mark.parametrize(
    ("flu", "doubted"), [(["no", "yes", "yes", "yes"], [0, 1]), (["yes", "yes", "no", "yes"], [])]
)
def test_a_learner_that_may_stop_at_pure_nodes_is_doubted_unless_it_split_one(flu, doubted):
    found = list(INNER_MIXED.rows(labelled_case(flu)))
    assert all(isinstance(each, LeftOut) for each in found)
    assert sorted(line.origin.node for each in found for line in each.lines[:1]) == doubted


def test_where_leaves_surely_hold_two_classes_nothing_is_doubted_above_them():
    flu = ["no", "yes", "yes", "yes"]
    assert list(INNER_MIXED.rows(labelled_case(flu, young="no"))) == []
    weighed = labelled_case(flu, young="no", unmodelled=(CLASS_WEIGHT,))
    assert {left_out.node for left_out in INNER_MIXED.rows(weighed)} == {0, 1}


def test_a_label_of_a_tie_is_surely_that_of_some_record():
    flu = ["no", "yes", "no", "yes", "yes"]
    case = labelled_case(flu, young="no", age=(1, 9, 9, 1, 9), sex="FFFMM")
    assert list(INNER_MIXED.rows(case)) == []


def test_the_label_of_an_inner_node_is_of_all_who_pass_it_and_surely_of_nobody_who_stops_there():
    flu, people = ["no", "yes", "yes", "yes", "no"], {"age": (1, 9, 8, 1, 9), "sex": "FFFMM"}
    case = labelled_case(flu, **people)
    leaf = np.where(case.population.columns["age"].numbers == 8, 1, case.population.leaf)
    sizes = (5.0, 3.0, 2.0, 1.0, 1.0)
    nodes = [replace(n, records=size) for n, size in zip(case.tree.nodes, sizes, strict=True)]
    tree = replace(case.tree, nodes=tuple(nodes), quality=Quality.EXACT)
    counted = Case(tree, replace(case.population, leaf=leaf), members(tree, leaf), LABELS)
    held, facts = true_masses(counted), leaf_facts(counted)
    sure = {each.node.index: _is_label_sure(counted, each, held[each.node.index]) for each in facts}
    assert sure == {1: False, 2: True, 3: False, 4: True}


def test_who_may_be_left_out_is_asked_once_for_all_labels_of_a_tree(monkeypatch):
    asked = []

    def counted(case):
        asked.append(case)
        return incomplete_records(case)

    monkeypatch.setattr(inner_mixed, "incomplete_records", counted)
    case = labelled_case(["no", "yes", "yes", "yes"], young="no")
    list(INNER_MIXED.rows(case))
    assert len(asked) == 1


def test_a_label_says_nothing_beside_counts_and_less_of_records_that_may_be_left_out():
    assert list(LEAF_LABEL.rows(counted_case(lambda node: False, knowledge=LABELS))) != []
    assert list(LEAF_LABEL.rows(counted_case(lambda node: False))) == []
    case = replace(labelled_case(["no", "yes", "yes", "yes"], young="no"), may_be_weighed=False)
    leads = [row.margin for row in LEAF_LABEL.rows(case) if isinstance(row, Plurality)]
    assert leads == [0, 0, 0]
    lacking = replace(case, incomplete=np.array([1.0, 0, 0, 0]))
    leads = {row.node: row.margin for row in LEAF_LABEL.rows(lacking) if isinstance(row, Plurality)}
    assert leads == {2: 0, 3: -1, 4: 0}


def test_drawn_labels_may_hold_where_people_are_and_the_table_bears_them_out():
    case = labelled_case(["no", "no", "yes", "yes"], age=(1, 1, 1, 9))
    (left_out,) = _drawn_labels(case)
    assert left_out.node == 2
    assert [(line.low, line.high) for line in left_out.lines] == [(0, np.inf)]
    tie = labelled_case(["no", "yes", "yes", "yes"], age=(1, 1, 1, 9))
    assert [left_out.node for left_out in _drawn_labels(tie)] == [2, 3]


def case_of_leaves(counts, *hidden, **changes):
    """A tree of one split whose leaves have these counts; of those that are ``hidden`` nothing is published."""
    tree = flat_tree(counts)
    shown = [
        tuple(None if klass in hidden else count for klass, count in enumerate(node.class_counts))
        for node in tree.nodes
    ]
    nodes = [replace(n, class_counts=c) for n, c in zip(tree.nodes, shown, strict=True)]
    people = people_of(tree)
    tree = replace(tree, nodes=tuple(nodes), **changes)
    return Case(tree, people, members(tree, people.leaf), Knowledge(split="none"))


def test_an_error_rate_is_said_only_where_the_label_alone_is_counted():
    leaves = [[5, 2, 1, 1], [4, 1, 1, 1]]
    assert [row.low for row in LEAF_RATE.rows(case_of_leaves(leaves, 1, 2, 3))] == [5, 4]
    assert list(LEAF_RATE.rows(case_of_leaves(leaves, 2, 3))) == []


def test_class_totals_are_those_of_leaves_that_count_people():
    leaves = [[5, 2], [4, 1]]
    assert _published_totals(case_of_leaves(leaves)) == (9, 3)
    assert _published_totals(case_of_leaves(leaves, quality=Quality.WEIGHTED)) is None
    assert _published_totals(case_of_leaves(leaves, 0, 1)) is None


def test_a_label_adds_a_row_to_an_impurity_only_where_it_says_more():
    # Of 5 records with a Gini impurity of 0.48, 2 or 3 have each class: that the label has 3 is what any label says.
    case = impure_case([[3, 2], [2, 0]], 0.48)
    assert [(row.low, row.high) for row in IMPURITY.rows(case)] == [(2, 3)]
    # Of 4 records with 0.5, 2 have each class: no class leads, whatever the label is.
    case = impure_case([[2, 2], [2, 0]], 0.5, strict_labels=True)
    assert [(row.low, row.high) for row in IMPURITY.rows(case)] == [(2, 2)]


def test_a_pure_leaf_is_said_to_have_all_its_records_of_its_label():
    (row,) = IMPURITY.rows(impure_case([[5, 0], [2, 2]], 0.0))
    assert (row.low, row.high) == (5, 5)
    assert "let 5 to 5 of 5 records have class 'c0'" in row.origin.where


def impure_case(leaves, impurity, **knowledge):
    """A tree whose first leaf publishes its impurity alone."""
    case = case_of_leaves(leaves)
    first = replace(
        case.tree.nodes[1],
        class_counts=None,
        impurity=Impurity(Criterion.GINI, impurity, impurity),
    )
    root = replace(case.tree.nodes[0], class_counts=None)
    tree = replace(case.tree, nodes=(root, first, *case.tree.nodes[2:]))
    known = Knowledge(split="none", **knowledge)
    return Case(tree, case.population, members(tree, case.population.leaf), known)


def test_what_a_policy_allowed_is_left_out_where_counts_do_not_tell_it():
    flu, grown = ["no", "yes", "yes", "yes"], {"tool": Tool.POLICY_TREE}
    assert list(POLICY_GROWTH.rows(labelled_case(flu))) == []
    found = list(POLICY_GROWTH.rows(labelled_case(flu, **grown)))
    assert [left_out.node for left_out in found] == [2, 3, 4]
    assert [line.low for line in found[0].lines] == [0, 2]
    (seeded,) = POLICY_GROWTH.rows(labelled_case(flu, **grown, unmodelled=("seed",)))
    assert (seeded.node, seeded.is_open) == (0, True)
    counted = case_of_leaves([[5, 2], [4, 1]], learner=Learner(**grown))
    assert list(POLICY_GROWTH.rows(counted)) == []
    weighed = replace(counted, population=replace(counted.population, weight=np.array([1.0, 2.0])))
    assert [left_out.node for left_out in POLICY_GROWTH.rows(weighed)] == [1, 2]


def test_a_learner_that_drew_its_columns_may_have_compared_other_cuts():
    flu, people = ["no", "yes", "yes", "yes", "no"], {"age": (1, 3, 9, 1, 9), "sex": "FFFMM"}
    for criterion, all_features, is_left_out in (
        (Criterion.GINI, False, True),
        (Criterion.GINI, True, False),
        (None, False, False),
    ):
        said = {"criterion": criterion, "all_features": all_features}
        found = list(SPLIT_CHOICE.rows(labelled_case(flu, **people, **said)))
        assert any(left_out.node == 1 for left_out in found) == is_left_out
        assert bool(found) == is_left_out


def beside(stronger=(), open_entries=()):
    entry = SimpleNamespace(where="t1.csv:2", words="how many")
    return BesideRows((), (entry,), np.zeros(1, dtype=np.intp), (), stronger, open_entries)


def test_a_row_of_a_published_number_is_scaled_to_weights_below_ten():
    whole = WholeRow(0, 1, np.array([0, 250, -30]), None, 500)
    row = as_linear(whole, beside())
    assert (row.profiles.tolist(), row.weights.tolist()) == ([1, 2], [2.5, -0.3])
    assert (row.low, row.high, row.origin.is_published) == (-np.inf, 5, True)
    assert row.slack == pytest.approx(5e-13)
    assert as_linear(replace(whole, low=-40, high=None), beside()).low == -0.4


def test_what_rows_beside_do_not_say_is_left_out():
    case, row = case_of_leaves([[5, 2], [4, 1]]), WholeRow(0, 1, np.array([1, 0]), None, 5)
    assert list(BESIDE.rows(replace(case, beside=beside()))) == []
    (stronger,) = BESIDE.rows(replace(case, beside=beside(stronger=(row,))))
    assert (stronger.node, stronger.is_open, len(stronger.lines)) == (0, False, 1)
    (unsaid,) = BESIDE.rows(replace(case, beside=beside(open_entries=(0,))))
    assert (unsaid.node, unsaid.is_open, unsaid.lines) == (0, True, ())
    (unused,) = BESIDE.rows(replace(case, beside=replace(beside(), unused=("t1.csv:2: a word",))))
    assert (unused.node, unused.is_open, unused.why) == (0, True, "t1.csv:2: a word")


def test_a_class_occurs_where_the_program_names_those_of_its_records_alone():
    # Two leaves of 3 records. The first counts nobody of class 0 and 3 of class 1, the second neither.
    case = case_of_leaves([[0, 3, 0], [1, 1, 1]])
    root, first, second = case.tree.nodes
    nodes = (root, first, replace(second, class_counts=(None, None, 1.0)))

    def found(tool, **said):
        tree = replace(case.tree, nodes=nodes, learner=Learner(tool=tool, **said))
        return list(CLASSES_OCCUR.rows(replace(case, tree=tree)))

    for tool in (Tool.SCIKIT_LEARN, Tool.POLICY_TREE):
        (whole,) = found(tool)
        assert isinstance(whole, WholeRecords)
        assert set(whole.row.classes.tolist()) == {0}
        assert (whole.row.low, whole.row.high) == (1, 6)
    (left_out,) = found(Tool.UNKNOWN, unmodelled=(CLASS_WEIGHT,))
    assert isinstance(left_out, LeftOut)
    assert [set(line.classes.tolist()) for line in left_out.lines] == [{0}]
    assert found(Tool.WEKA) == found(Tool.RPART) == []


def test_of_labels_some_record_has_each_class_but_the_label_of_an_unknown_program_says_its_own():
    flu = ["no", "yes", "yes", "yes"]
    (left_out,) = CLASSES_OCCUR.rows(labelled_case(flu))
    assert [set(line.classes.tolist()) for line in left_out.lines] == [{0}]
    (weighed,) = CLASSES_OCCUR.rows(labelled_case(flu, unmodelled=(CLASS_WEIGHT,)))
    assert [set(line.classes.tolist()) for line in weighed.lines] == [{0}, {1}]
    whole = CLASSES_OCCUR.rows(labelled_case(flu, tool=Tool.SCIKIT_LEARN))
    assert [set(each.row.classes.tolist()) for each in whole] == [{0}, {1}]


def test_a_class_that_nobody_has_shows_that_an_unknown_program_names_others_too():
    case = labelled_case(["no", "yes", "yes", "yes"])
    truth = case.population.truth.sum(axis=1)[:, None] * (0.0, 1.0)
    people = replace(case.population, truth=truth)
    assert list(CLASSES_OCCUR.rows(replace(case, population=people))) == []


def test_numbers_of_a_leaf_are_doubted_where_its_own_records_lack_values():
    # Of each leaf the number of one class is known, and not how many records it counts.
    case = case_of_leaves([[5, 1, 1], [4, 1, 1]], 1, 2)
    tree = replace(case.tree, nodes=tuple(replace(n, records=None) for n in case.tree.nodes))
    complete = replace(case, tree=tree)
    lacking = (case.population.leaf == 1).astype(float)
    assert list(INCOMPLETE_LEAF.rows(complete)) == []
    (left_out,) = INCOMPLETE_LEAF.rows(replace(complete, incomplete=lacking))
    assert (left_out.node, left_out.is_open) == (1, True)
    nodes = tuple(replace(n, class_counts=None) for n in tree.nodes)
    untold = replace(complete, tree=replace(tree, nodes=nodes), incomplete=lacking)
    assert list(INCOMPLETE_LEAF.rows(untold)) == []

"""Candidates: those that the learner really compared, in its own arithmetic, with missing values as it takes them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tests.kit.tiers import examples
from treewarden.audit.constraints.split_choice import CONSTRAINT
from treewarden.audit.facts.rows import Case, LeftOut, SplitFamily, branch_of_bins
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Learner,
    Missing,
    Node,
    Quality,
    Tree,
)

HOSTILE = (
    0.0,
    -0.0,
    1e-7,
    1.5e-7,
    2e-7,
    1e-45,
    -1e-7,
    1.0,
    1.0 + 1.2e-7,
    1.0 + 2.4e-7,
    1.0 + 1e-12,
)
HOSTILE += (
    2.0**24,
    2.0**24 + 1,
    2.0**24 + 2,
    3e38,
    -3e38,
    0.1,
    0.1 + 1e-9,
    5e-8,
    9e-8,
    1.8e-7,
    2.7e-7,
)
ANSWER = {"yes": "1", "no": "0"}


def stump(column: list[float], *, tool: Tool, missing: Missing = Missing.DEFAULT_CHILD) -> Case:
    """Return the case of a tree that splits on ``chosen``, over a table with one more column."""
    nodes = (
        Node(0, "root", None, (1, 2), default_child=2, class_counts=None),
        Node(1, "a", 0, (), NumericTest("chosen", high=0.5, high_closed=True), "no"),
        Node(2, "b", 0, (), NumericTest("chosen", low=0.5), "yes"),
    )
    size = len(column)
    half = [float(number % 2) for number in range(size)]
    here = [sum(value == side for value in half) for side in (0.0, 1.0)]
    leaves = (replace(node, records=float(n)) for node, n in zip(nodes[1:], here, strict=True))
    nodes = (nodes[0], *leaves)
    features = (
        Feature("chosen", numeric=True),
        Feature("other", numeric=True, single=tool is Tool.SCIKIT_LEARN),
    )
    learner = Learner(Criterion.GINI, multiway=False, tool=tool)
    tree = Tree(nodes, features, "y", ("no", "yes"), learner=learner, missing=missing)
    table = table_of(
        {"chosen": half, "other": column, "y": ["no" if h == 0 else "yes" for h in half]}
    )
    population = build_population(tree, table, sensitive="y")
    return Case(tree, population, members(tree, population.leaf), Knowledge(split="gini"))


def sides(case: Case, column: list[float], facts: list[object]) -> set[frozenset[int]]:
    """Return the partitions of the records that the candidates on ``other`` make, by the records on the left."""
    found = set()
    keys = [(case.population.columns["chosen"].numbers, case.population.columns["other"].numbers)]
    chosen, other = keys[0]
    records = [
        int(np.flatnonzero((chosen == number % 2) & same(other, column[number]))[0])
        for number in range(len(column))
    ]
    for family in facts:
        if isinstance(family, SplitFamily) and family.attribute == "other":
            for code in family.admissible.tolist():
                branch = branch_of_bins(family.grouping, code, len(family.bin_names))[family.bins]
                by_profile = dict(zip(family.profiles.tolist(), branch.tolist(), strict=True))
                left = frozenset(
                    number for number, profile in enumerate(records) if by_profile[profile] == 0
                )
                found.add(min(left, frozenset(range(len(column))) - left, key=sorted))
    return found


def same(values: np.ndarray, value: float) -> np.ndarray:
    return np.isnan(values) if np.isnan(value) else values == value


def made_by_scikit_learn(column: list[float]) -> set[frozenset[int]]:
    """Return the partitions that scikit-learn makes of a column where each is the best: those that it compares."""
    size, found = len(column), set()
    data = np.array(column, dtype=np.float64)[:, None]
    order = np.unique(data[~np.isnan(data)].astype(np.float32))
    lacks = np.isnan(data[:, 0])
    wanted = [data[:, 0].astype(np.float32) <= value for value in order]
    wanted += [left | lacks for left in wanted]
    for left in wanted:
        if left.all() or not left.any():
            continue
        grown = DecisionTreeClassifier(max_depth=1, random_state=0).fit(data, left)
        if grown.tree_.node_count == 3 and (grown.predict(data) == left).all():
            one = frozenset(np.flatnonzero(left).tolist())
            found.add(min(one, frozenset(range(size)) - one, key=sorted))
    return found


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=7))
def test_thresholds_are_those_that_scikit_learn_compares_in_its_own_arithmetic(column):
    case = stump(column, tool=Tool.SCIKIT_LEARN)
    chosen = frozenset(range(0, len(column), 2))
    made = made_by_scikit_learn(column)
    assert sides(case, column, list(CONSTRAINT.rows(case))) == made - {chosen}


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from((np.nan, *HOSTILE[:9])), min_size=3, max_size=7))
def test_missing_values_go_to_either_side_as_scikit_learn_tries_them(column):
    if not np.isnan(column).any():
        column = [*column, float("nan")]
    case = stump(column, tool=Tool.SCIKIT_LEARN)
    facts = list(CONSTRAINT.rows(case))
    chosen = frozenset(range(0, len(column), 2))
    made = made_by_scikit_learn(column) - {chosen}
    used = sides(case, column, facts)
    may = sides(
        case, column, [f for one in facts if isinstance(one, LeftOut) for f in one.possible]
    )
    assert used <= made
    assert made <= used | may


def test_two_neighbours_in_single_precision_are_no_candidate():
    for column in ([1.0, 1.0 + 1.2e-7], [0.0, 1e-7]):
        case = stump(column * 2, tool=Tool.SCIKIT_LEARN)
        assert not sides(case, column * 2, list(CONSTRAINT.rows(case)))


def test_an_unknown_learner_is_not_taken_to_tell_near_values_apart():
    column = [1.0, 1.000001, 5.0, 5.0]
    case = stump(column, tool=Tool.UNKNOWN)
    facts = list(CONSTRAINT.rows(case))
    assert sides(case, column, facts) == {frozenset({0, 1})}
    (left_out,) = [fact for fact in facts if isinstance(fact, LeftOut)]
    assert "too near to each other" in left_out.why
    assert sides(case, column, list(left_out.possible)) == {frozenset({0})}


@pytest.mark.parametrize("tool", [Tool.RPART, Tool.TREEWARDEN])
def test_learners_that_try_every_cut_have_every_cut(tool):
    column = [float(number) / 1e9 for number in range(30)]
    assert (
        len(sides(*[case := stump(column, tool=tool), column], list(CONSTRAINT.rows(case)))) == 29
    )


@pytest.mark.parametrize(("bins", "used"), [(None, 0), (20, 0), (29, 0), (30, 29)])
def test_spark_cuts_everywhere_only_where_it_has_a_bin_for_every_value(bins, used):
    column = [float(number) for number in range(30)]
    case = stump(column, tool=Tool.SPARK)
    learner = replace(case.tree.learner, max_bins=bins)
    case = replace(case, tree=replace(case.tree, learner=learner))
    facts = list(CONSTRAINT.rows(case))
    assert len(sides(case, column, facts)) == used
    assert any("bins" in fact.why for fact in facts if isinstance(fact, LeftOut)) is (used == 0)


def test_spark_is_known_to_compare_the_cuts_that_its_tree_shows():
    column = [float(number) for number in range(30)]
    case = stump(column, tool=Tool.SPARK)
    family = [fact for fact in CONSTRAINT.rows(case) if isinstance(fact, SplitFamily)]
    assert not family
    shown = replace(case.tree.nodes[2], children=(3, 4))
    below = (
        Node(3, "c", 2, (), NumericTest("other", high=7.5, high_closed=True), "no", 4.0),
        Node(4, "d", 2, (), NumericTest("other", low=7.5), "yes", 11.0),
    )
    tree = replace(case.tree, nodes=(*case.tree.nodes[:2], shown, *below))
    table = table_of(
        {"chosen": [n % 2 for n in range(30)], "other": column, "y": ["no", "yes"] * 15}
    )
    people = build_population(tree, table, sensitive="y")
    case = replace(case, tree=tree, population=people, members=members(tree, people.leaf))
    (found,) = [fact for fact in CONSTRAINT.rows(case) if isinstance(fact, SplitFamily)]
    assert (found.node, found.bin_names[found.admissible[0]]) == (0, "7")


def test_weka_proves_nothing_by_the_choice_of_its_splits_and_that_is_said():
    case = stump([1.0, 2.0, 3.0], tool=Tool.WEKA)
    (fact,) = CONSTRAINT.rows(case)
    assert isinstance(fact, LeftOut)
    assert fact.is_open
    assert "raised" in fact.why


def test_a_file_that_does_not_say_how_small_a_leaf_could_be_shows_it_by_its_leaves():
    column = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    case = stump(column, tool=Tool.UNKNOWN)
    untold = replace(case.tree, learner=Learner(multiway=False))
    facts = list(CONSTRAINT.rows(replace(case, tree=untold)))
    assert sides(case, column, facts) == {frozenset({0, 1, 2})}
    assert [fact.why for fact in facts if isinstance(fact, LeftOut)] == [
        "splits on {} with fewer than 3 records, as the smallest leaf is not known (--min-leaf)"
    ]


def test_every_reason_for_doubt_counts_where_there_are_several():
    column = [float(number) for number in range(30)]
    case = stump(column, tool=Tool.UNKNOWN)
    untold = replace(case.tree, learner=Learner(multiway=False))
    facts = list(CONSTRAINT.rows(replace(case, tree=untold)))
    assert sides(case, column, facts) == set()
    doubts = [fact for fact in facts if isinstance(fact, LeftOut)]
    assert [fact.why.split(" as ")[1] for fact in doubts] == [
        "the smallest leaf is not known (--min-leaf)",
        "its learner may have sorted numbers into bins",
    ]
    assert sum(len(family.admissible) for fact in doubts for family in fact.possible) == 29


def test_an_unknown_learner_may_have_done_anything_with_missing_values():
    column = [1.0, 2.0, 3.0, float("nan")]
    case = stump(column, tool=Tool.UNKNOWN)
    (fact,) = CONSTRAINT.rows(case)
    assert isinstance(fact, LeftOut)
    assert "1 record lacks a value" in fact.why
    left_or_right = {frozenset(left) for left in ({0}, {0, 1}, {0, 3}, {0, 1, 3}, {0, 1, 2})}
    assert sides(case, column, list(fact.possible)) == left_or_right
    assert [family.bin_names for family in fact.implying] == [
        ("branch 1", "branch 2", "(missing)")
    ] * 2


def test_where_the_chosen_attribute_itself_lacks_values_no_other_can_be_compared_with_it():
    case = stump([1.0, 2.0, 3.0, 4.0], tool=Tool.RPART)
    gone = case.population.columns["chosen"].numbers.copy()
    gone[-1] = np.nan
    columns = {
        **case.population.columns,
        "chosen": replace(case.population.columns["chosen"], numbers=gone),
    }
    (fact,) = CONSTRAINT.rows(replace(case, population=replace(case.population, columns=columns)))
    assert isinstance(fact, LeftOut)
    assert fact.is_open


def people_of(columns: dict[str, list[object]], **settings: object) -> tuple[Tree, object]:
    data = np.array([columns[name] for name in columns if name != "class"], dtype=np.float64).T
    grown = DecisionTreeClassifier(random_state=0, **settings).fit(data, columns["class"])
    tree = from_sklearn(grown, [name for name in columns if name != "class"])
    return tree, build_population(tree, table_of(columns), sensitive="class")


def certain(tree: Tree, people: object, knowledge: Knowledge | None = None) -> object:
    call = MeasureCall("certain_disclosure")
    audit = run(tree, people, knowledge or Knowledge(), [call], AuditOptions(jobs=1))
    return audit.full.readings[call].reading, audit.warnings


def test_a_blank_cell_in_a_column_that_no_split_uses_does_not_switch_off_what_its_other_cells_prove():
    columns = {
        "age": [1, 1, 2, 2, 3, 3, 4, 4],
        "pay": [1, 2, 1, 2, 1, 2, 1, 2],
        "class": ["no", "no", "no", "yes", "yes", "yes", "yes", "yes"],
    }
    tree, people = people_of(columns, max_depth=1)
    before, _ = certain(tree, people)
    assert before.low > 2, "more than those in the pure leaf"
    blanked = {**columns, "pay": [float("nan"), *columns["pay"][1:]]}
    tree, people = people_of(blanked, max_depth=1)
    after, warnings = certain(tree, people)
    assert after.low > 0
    assert "1 record lacks 'pay'" in " ".join(warnings)


def test_what_an_unknown_learner_may_have_compared_leaves_certainty_undetermined_never_lower():
    columns = {
        "age": [1, 1, 2, 2, 3, 3, 4, 4],
        "pay": [1, 2, 1, 2, 1, 2, 1, float("nan")],
        "class": ["no", "no", "no", "yes", "yes", "yes", "yes", "yes"],
    }
    tree, people = people_of(columns, max_depth=1)
    known, _ = certain(tree, people)
    plain = tuple(replace(feature, single=False) for feature in tree.features)
    unknown = replace(tree, features=plain, learner=replace(tree.learner, tool=Tool.UNKNOWN))
    reading, warnings = certain(unknown, people)
    assert reading.low <= known.low <= reading.high
    assert any("not used, though it may prove more: splits on 'pay'" in said for said in warnings)
    said, _ = certain(unknown, people, Knowledge(learner=Tool.SCIKIT_LEARN))
    assert said == known


def test_records_that_an_uncounted_tree_may_not_have_seen_leave_everything_open():
    nodes = (
        Node(0, "root", None, (1, 2), default_child=1),
        Node(1, "a", 0, (), CategoryTest("town", ("x",)), "no"),
        Node(2, "b", 0, (), CategoryTest("town", ("y",)), "yes"),
    )
    features = (Feature("town", False, ("x", "y")), Feature("sex", False, ("f", "m")))
    tree = Tree(
        nodes,
        features,
        "class",
        ("no", "yes"),
        learner=Learner(Criterion.GINI),
        quality=Quality.ABSENT,
    )
    columns = {
        "town": list("xxyy"),
        "sex": ["f", "m", "f", None],
        "class": ["no", "no", "yes", "yes"],
    }
    people = build_population(tree, table_of(columns), sensitive="class")
    reading, warnings = certain(tree, people)
    assert (reading.low, reading.high) == (0.0, 4.0)
    assert any("may have dropped incomplete ones" in said for said in warnings)
    system = build_system(Case(tree, people, members(tree, people.leaf), Knowledge(split="gini")))
    margins = {row.node: row.margin for row in system.rows if hasattr(row, "margin")}
    assert margins == {1: 0.0, 2: -1.0}


def test_a_label_that_may_not_count_somebody_leaves_their_certainty_open():
    nodes = (
        Node(0, "root", None, (1, 2)),
        Node(1, "a", 0, (), CategoryTest("town", ("x",)), "no"),
        Node(2, "b", 0, (), CategoryTest("town", ("y",)), "yes"),
    )
    # Nothing asks about sex, but the learner may have left the one out whose sex is not known.
    features = (Feature("town", False, ("x", "y")), Feature("sex", False, ("f", "m")))
    tree = Tree(nodes, features, "class", ("no", "yes"), quality=Quality.ABSENT)
    columns = {"town": ["x"] + ["y"] * 30, "class": ["no"] + ["yes"] * 20 + ["no"] * 10}
    found = []
    for sex in ("f", None):
        table = table_of({**columns, "sex": [sex] + ["f"] * 30})
        found.append(certain(tree, build_population(table=table, tree=tree, sensitive="class")))
    (complete, _), (lacking, warnings) = found
    assert (complete.low, complete.high) == (1.0, 1.0)
    assert (lacking.low, lacking.high) == (0.0, 1.0)
    assert any("labels, as records there lack values" in said for said in warnings)


def test_tables_that_a_label_may_forbid_show_nothing_where_records_lack_values():
    nodes = (
        Node(0, "root", None, (1, 2)),
        Node(1, "a", 0, (), CategoryTest("town", ("x",)), "no"),
        Node(2, "b", 0, (), CategoryTest("town", ("y",)), "yes"),
    )
    features = (Feature("town", False, ("x", "y")), Feature("sex", False, ("f", "m")))
    learner = Learner(Criterion.GINI)  # and no weights
    tree = Tree(nodes, features, "class", ("no", "yes"), learner=learner, quality=Quality.ABSENT)
    columns = {
        "town": ["x"] * 9 + ["y"] * 3,
        "sex": ["f"] * 8 + [None] + ["f"] * 3,
        "class": ["no"] * 8 + ["yes"] + ["yes"] * 3,
    }
    people = build_population(tree, table_of(columns), sensitive="class")
    worlds = run(tree, people, Knowledge(split="none")).full.evidence.worlds
    at = int(np.flatnonzero((people.leaf == 1) & (people.counts == 8))[0])
    # Of the eight complete ones four may have the other class whoever was left out, and by what is known five.
    assert worlds.high[at].tolist() == [8, 5]
    assert worlds.reached_high[at].tolist() == [8, 4]


def test_shares_that_may_be_of_complete_records_alone_show_no_other_table():
    nodes = (
        Node(0, "root", None, (1, 2)),
        Node(1, "a", 0, (), CategoryTest("town", ("x",)), "no", class_shares=(0.5, 0.5)),
        Node(2, "b", 0, (), CategoryTest("town", ("y",)), "no", class_shares=(0.5, 0.5)),
    )
    features = (Feature("town", False, ("x", "y")), Feature("sex", False, ("f", "m")))
    tree = Tree(nodes, features, "class", ("no", "yes"), quality=Quality.NORMALISED)
    columns = {
        "town": ["x"] * 4 + ["y"] * 10,
        "sex": ["f", "f", None, None] + ["f"] * 5 + ["m"] * 5,
        "class": ["no", "yes", "no", "yes"] + ["no"] * 5 + ["yes"] * 5,
    }
    people = build_population(tree, table_of(columns), sensitive="class")
    worlds = run(tree, people, Knowledge()).full.evidence.worlds
    here = people.leaf == 1
    # Where the incomplete ones were left out, one of the two complete ones has each class.
    assert worlds.reached_low[here].tolist() == worlds.reached_high[here].tolist() == [[1, 1]] * 2
    assert (worlds.reached_low[~here] == 0).all()

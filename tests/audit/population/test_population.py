"""From a table to profiles, and every way in which a table is not the tree's."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import audit_model
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.audited_columns import NO_SENSITIVE, uncheckable
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Task,
    Tree,
)

AGE = Feature("age", numeric=True)
SEX = Feature("sex", numeric=False, values=("F", "M"))


def small_tree(**changes: object) -> Tree:
    nodes = (
        Node(0, "root", None, (1, 2)),
        Node(1, "young", 0, (), NumericTest("age", high=30, high_closed=True), "no", 3),
        Node(2, "old", 0, (), NumericTest("age", low=30), "yes", 2),
    )
    return Tree(
        **{
            "nodes": nodes,
            "features": (AGE, SEX),
            "target": "ill",
            "classes": ("no", "yes"),
            **changes,
        }
    )


def rows(**changes: object) -> dict[str, list[object]]:
    return {
        "age": ["20", "20", "30", "40", "50"],
        "sex": ["F", "F", "M", "M", "F"],
        "ill": ["no", "yes", "no", "yes", "yes"],
        **changes,
    }


def labelled_tree() -> Tree:
    """Return a printed tree whose threshold may be anything from 29.5 to 30.5, and that counts nobody."""
    nodes = [replace(node, records=None) for node in small_tree().nodes]
    return small_tree(nodes=tuple(nodes), quality=Quality.ABSENT, rounding=0.5)


@pytest.mark.parametrize("age", ["30", "29.5", "30.5"])
def test_a_record_is_refused_that_a_rounded_threshold_may_send_either_way(age):
    table = table_of(rows(age=["20", "20", age, "40", "50"]))
    with pytest.raises(TableError, match=f"'age' is {age} .* rounded .*; print the tree with more"):
        build_population(labelled_tree(), table, sensitive="ill")


def test_a_rounded_threshold_is_no_matter_away_from_it_or_if_leaves_are_counted():
    table = table_of(rows(age=["20", "29", "29", "31", "50"]))
    assert build_population(labelled_tree(), table, sensitive="ill").leaf.tolist() == [
        1,
        1,
        1,
        2,
        2,
    ]
    counted = small_tree(rounding=0.5)
    assert build_population(counted, table_of(rows()), sensitive="ill").records == 5


def test_equal_records_become_one_profile_with_a_count():
    population = build_population(small_tree(), table_of(rows()), sensitive="ill")
    assert population.counts.tolist() == [2, 1, 1, 1]
    assert population.truth.tolist() == [[1, 1], [1, 0], [0, 1], [0, 1]]
    assert population.describe(0) == "age = 20, sex = F"
    assert population.leaf.tolist() == [1, 1, 2, 2]


def test_the_order_of_the_records_does_not_matter():
    backwards = {name: values[::-1] for name, values in rows().items()}
    one = build_population(small_tree(), table_of(rows()), sensitive="ill")
    other = build_population(small_tree(), table_of(backwards), sensitive="ill")
    assert one.truth.tobytes() == other.truth.tobytes()
    assert [one.describe(q) for q in range(4)] == [other.describe(q) for q in range(4)]


def test_weights_count_and_a_weight_of_nothing_is_nobody():
    table = table_of(rows(w=["3", "0", "0", "1", "1"]))
    population = build_population(small_tree(), table, sensitive="ill", weights="w")
    assert population.records == 5
    assert population.counts.tolist() == [3, 1, 1]


def test_a_missing_value_is_a_value_of_its_own():
    table = table_of(rows(sex=["F", "", "M", "?", "F"]))
    population = build_population(small_tree(), table, sensitive="ill")
    assert len(population.counts) == 5
    assert "sex = (missing)" in population.describe(
        int(np.flatnonzero(population.columns["sex"].missing)[0])
    )


def test_without_the_sensitive_column_the_truth_is_not_known_and_says_why():
    table = table_of({name: values for name, values in rows().items() if name != "ill"})
    population = build_population(small_tree(), table, sensitive="ill")
    assert population.truth == Undetermined("the table has no column 'ill'")


def test_a_regression_tree_has_no_truth_to_compare():
    tree = small_tree(task=Task.REGRESSION, classes=())
    population = build_population(tree, table_of(rows()), sensitive="ill")
    assert isinstance(population.truth, Undetermined)


@pytest.mark.parametrize(
    ("change", "sensitive", "message"),
    [
        (
            {"age": ["20", "20", "x", "40", "50"]},
            "ill",
            "column 'age', record 3: the value is not a number",
        ),
        (
            {"age": ["20", "20", "inf", "40", "50"]},
            "ill",
            "column 'age', record 3: the number is infinite",
        ),
        ({"ill": ["no"] * 5}, "ill", "'ill' has only one value in this table,"),
        (
            {"ill": ["no", "yes", "no", "maybe", "yes"]},
            "ill",
            "the model has no such class",
        ),
        ({"ill": ["no", "yes", "no", "", "yes"]}, "ill", "record 4: the value is missing"),
        ({}, "sex", "does not predict 'sex'; use --sensitive ill, or add --secret sex"),
        (
            {"other": ["a", "b", "a", "b", "a"]},
            "other",
            "does not predict .*; use --sensitive ill",
        ),
        (
            {"age": ["", "20", "30", "40", "50"]},
            "ill",
            "record 1 has no value of 'age', and .* train it without",
        ),
        (
            {"age": ["20", "31", "30", "40", "50"]},
            "ill",
            "node 'young' has 3 records in the file, 2 in the table",
        ),
    ],
)
def test_a_table_that_does_not_fit_is_refused(change, sensitive, message):
    with pytest.raises(TableError, match=message):
        build_population(small_tree(), table_of(rows(**change)), sensitive=sensitive)


def test_a_column_that_the_tree_tests_cannot_be_left_out_of_the_quasi_identifiers():
    with pytest.raises(TableError, match="uses 'age', which --qi does not name; add: --qi age"):
        build_population(small_tree(), table_of(rows()), sensitive="ill", qi=["sex"])


def test_a_column_that_predicts_is_not_the_one_that_is_predicted():
    tree = replace(small_tree(), target="")
    with pytest.raises(TableError, match="uses 'age' to predict.* add --secret age to protect"):
        build_population(tree, table_of(rows()), sensitive="age")


@pytest.mark.parametrize("qi", [["ill"], ["age", "ill"], ["age", "sex", "ill"]])
def test_a_target_among_the_quasi_identifiers_is_told_first_with_the_way_out(qi):
    with pytest.raises(TableError, match="--qi names 'ill', .* predicts; remove it from --qi"):
        build_population(small_tree(), table_of(rows()), sensitive="ill", qi=qi)
    build_population(small_tree(), table_of(rows()), sensitive="ill")  # the advice, followed


def test_a_missing_feature_names_the_columns_there_are():
    with pytest.raises(
        TableError, match="no column 'age', which tree uses; columns of the table: 'sex', 'ill'"
    ):
        build_population(
            small_tree(), table_of({k: v for k, v in rows().items() if k != "age"}), sensitive="ill"
        )


@pytest.mark.parametrize(
    ("published", "cause"),
    [
        ((3, 3), "give the full training table, or"),
        ((1, 1), "give the training table without other records, or"),
        (
            (2, 3),
            "Possible causes: changed or empty cells, rounded thresholds, another table",
        ),
    ],
)
def test_a_disagreement_names_the_leaf_both_counts_and_the_likely_cause(published, cause):
    tree = small_tree()
    young, old = (
        replace(node, records=count) for node, count in zip(tree.nodes[1:], published, strict=True)
    )
    nodes = (tree.nodes[0], young, old)
    with pytest.raises(TableError, match=cause) as caught:
        build_population(small_tree(nodes=nodes), table_of(rows()), sensitive="ill")
    assert "leaves differ" in str(caught.value)


def test_counts_that_are_not_people_are_not_compared():
    nodes = tuple(
        Node(n.index, n.name, n.parent, n.children, n.test, n.score, 1.0)
        for n in small_tree().nodes
    )
    population = build_population(
        small_tree(nodes=nodes, quality=Quality.WEIGHTED), table_of(rows()), sensitive="ill"
    )
    assert population.records == 5


def test_a_column_that_is_unique_per_record_is_warned_about():
    table = table_of(
        {"age": [str(v) for v in range(40)], "sex": ["F"] * 40, "ill": ["no", "yes"] * 20}
    )
    nodes = tuple(
        Node(n.index, n.name, n.parent, n.children, n.test, n.score) for n in small_tree().nodes
    )
    population = build_population(small_tree(nodes=nodes), table, sensitive="ill")
    assert any(
        said.startswith("nearly unique per record: quasi-identifier 'age'")
        for said in population.warnings
    )


def test_many_columns_that_are_unique_per_record_are_one_warning():
    names = [f"m{number}" for number in range(10)]
    columns = {name: [str(v) for v in range(40)] for name in names}
    table = table_of({"age": ["1"] * 40, **columns, "sex": ["F"] * 40, "ill": ["no", "yes"] * 20})
    nodes = tuple(
        Node(n.index, n.name, n.parent, n.children, n.test, n.score) for n in small_tree().nodes
    )
    qi = ["age", "sex", *names]
    population = build_population(small_tree(nodes=nodes), table, sensitive="ill", qi=qi)
    (said,) = (each for each in population.warnings if "unique" in each)
    assert "'m5' and 4 more" in said


def test_categories_match_through_padding_and_numbers_written_otherwise():
    tree = small_tree(features=(AGE, Feature("sex", numeric=False, values=("0", "1"))))
    nodes = (
        tree.nodes[0],
        Node(1, "a", 0, (), CategoryTest("sex", ("0",)), "no"),
        Node(2, "b", 0, (), CategoryTest("sex", ("1",)), "yes"),
    )
    table = table_of(rows(sex=["0.0", " 0", "1", "1.0", "0"]))
    population = build_population(
        small_tree(nodes=nodes, features=tree.features), table, sensitive="ill"
    )
    assert population.columns["sex"].categories == ("0", "1")


def test_the_sensitive_column_is_the_target_of_a_tree_that_names_none():
    tree = small_tree(target="")
    people = build_population(tree, table_of(rows()), sensitive="ill")
    assert (people.sensitive, people.truth.tolist()[0]) == ("ill", [1, 1])


def nameless(counts=None):
    """A stump on age whose file names no target; with counts where they are given."""
    numbers = counts or [None, None, None]
    quality = Quality.EXACT if counts else Quality.ABSENT
    nodes = (
        Node(0, "1", None, (1, 2), score="no", class_counts=numbers[0]),
        Node(1, "2", 0, (), NumericTest("age", high=40.0), "no", class_counts=numbers[1]),
        Node(
            2,
            "3",
            0,
            (),
            NumericTest("age", low=40.0, low_closed=True),
            "yes",
            class_counts=numbers[2],
        ),
    )
    return Tree(nodes, (Feature("age", True),), "", ("no", "yes"), quality=quality)


TWINS = {"age": [20, 30, 50, 60], "y": ["no", "no", "yes", "no"], "z": ["no", "yes", "yes", "yes"]}


def test_where_two_columns_fit_labels_alike_a_tree_without_a_target_is_not_cleared():
    table = table_of(TWINS)
    assert build_population(nameless(), table, sensitive="z").rival == "y"
    assert build_population(nameless(), table, sensitive="y").rival == "z"
    pack = load_pack("standard")
    audit = audit_model(nameless(), table, "z", calls(pack), AuditOptions(worlds=False), leaks=())
    decision = judge(audit, pack)
    assert "target-named" in [finding.clause for finding in decision.failing]
    assert decision.verdict is not PolicyVerdict.PASS
    assert any("--sensitive" in said for said in audit.warnings)


def test_a_column_that_fits_worse_and_one_of_other_values_are_no_rivals():
    table = table_of({**TWINS, "y": ["yes", "no", "no", "no"], "other": ["a", "b", "a", "b"]})
    assert build_population(nameless(), table, sensitive="z").rival == ""


@pytest.mark.parametrize("spoilt", [None, "maybe"])
def test_a_missing_cell_or_another_value_does_not_hide_the_column_that_fits(spoilt):
    ages = {"age": [20, 30, 50, 60, 70], "z": ["no", "yes", "yes", "no", "no"]}
    table = table_of({**ages, "y": ["no", "no", "yes", "yes", spoilt]})
    assert build_population(nameless(), table, sensitive="z").rival == "y"


def test_published_counts_tell_which_column_a_tree_was_trained_on():
    tree = nameless([(1.0, 3.0), (1.0, 1.0), (0.0, 2.0)])
    assert build_population(tree, table_of(TWINS), sensitive="z").rival == ""


def test_a_column_that_is_not_there_cannot_be_the_target_of_a_file_that_names_none():
    with pytest.raises(TableError, match="no column 'nope', and .* does not name its target"):
        build_population(nameless(), table_of(TWINS), sensitive="nope")


def test_columns_that_a_tool_respelt_are_taken_under_the_models_names_and_the_report_says_so():
    plain = build_population(small_tree(), table_of(rows()), sensitive="ill")
    respelt = {"AGE": rows()["age"], "Sex ": rows()["sex"], "Ill": rows()["ill"]}
    population = build_population(
        small_tree(), table_of(respelt), sensitive="Ill", qi=["AGE", "sex"]
    )
    assert population.qi == plain.qi
    assert population.describe(0) == plain.describe(0)
    assert population.truth.tolist() == plain.truth.tolist()
    assert population.sensitive == "ill"
    assert "'AGE' for 'age', 'Sex ' for 'sex'" in population.warnings[0]


def test_a_target_that_is_a_tools_default_is_the_column_that_was_named_unless_another_fits_as_well():
    tree = small_tree(target="y", quality=Quality.ABSENT)
    population = build_population(tree, table_of(rows()), sensitive="ill")
    assert population.sensitive == "ill"
    assert population.truth.tolist() == [[1, 1], [1, 0], [0, 1], [0, 1]]
    assert any("names its target 'y'" in warning for warning in population.warnings)
    other = ["no", "no", "yes", "yes", "yes"]
    assert build_population(tree, table_of(rows(dead=other)), sensitive="ill").rival == "dead"
    with pytest.raises(TableError, match="does not predict 'ill'; use --sensitive y"):
        build_population(tree, table_of(rows(y=other)), sensitive="ill")


def test_a_target_that_the_table_lacks_says_what_is_near():
    population = build_population(small_tree(target="il"), table_of(rows()), sensitive="il")
    assert population.truth == Undetermined("the table has no column 'il' (did you mean 'ill'?)")
    with pytest.raises(
        TableError,
        match=r"no column 'il' \(did you mean 'ill'\?\), and .* predicts 'ill'; use --sensitive ill",
    ):
        build_population(small_tree(), table_of(rows()), sensitive="il")


def test_a_tree_whose_leaves_name_no_class_is_measured_by_its_leaves_alone():
    nodes = tuple(replace(node, score=None) for node in small_tree().nodes)
    tree = small_tree(nodes=nodes, classes=(), target="", quality=Quality.EXACT)
    population = build_population(tree, table_of(rows()), sensitive="ill")
    assert population.truth == Undetermined(
        "the file names no class, so only its leaves were measured"
    )
    pack = load_pack("baseline")
    decision = judge(run(tree, population, Knowledge(), calls(pack), leaks=()), pack)
    assert decision.verdict is not PolicyVerdict.PASS
    assert decision.findings


def test_a_quasi_identifier_that_the_table_lacks_is_told_before_one_that_is_missing():
    with pytest.raises(TableError, match="no column 'nosuch'"):
        build_population(small_tree(), table_of(rows()), sensitive="ill", qi=["nosuch"])


def test_an_output_without_true_values_says_how_to_name_their_column():
    assert uncheckable("classes", NO_SENSITIVE) == (
        "to check it, name the column that the model predicts: --sensitive COLUMN (the model does not name it)"
    )
    assert "because the true numbers are not known: lost" in uncheckable("numbers", "lost")

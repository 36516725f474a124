"""Labels of files that do not say whether classes or records were weighed prove no more than holds if they were."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from treewarden.audit.constraints.inner_label import CONSTRAINT as INNER_LABEL
from treewarden.audit.constraints.leaf_label import CONSTRAINT as LEAF_LABEL
from treewarden.audit.facts.grower import sure_labels
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.partial.tree_context import leaf_table
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.progress import FOREVER
from treewarden.audit.system.system import build_system, doubled
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Quality, Tree

POLICY = {
    "name": "proofs",
    "version": "1",
    "title": "proofs",
    "check": [{"id": "certain", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}],
}
X = [0, 0, 0, 1, 1]


def printed(classes, x=X, **settings):
    """What export_text prints of a tree of one split on these people's classes."""
    trees = pytest.importorskip("sklearn.tree")
    model = trees.DecisionTreeClassifier(max_depth=1, random_state=0, **settings)
    model.fit(pd.DataFrame({"x": x}), classes)
    return trees.export_text(model, feature_names=["x"])


def audited(tmp_path, text, classes, x=X, **more):
    file = tmp_path / "tree.txt"
    file.write_text(text)
    table = pd.DataFrame({"x": x, "ill": classes})
    return tw.audit(file, table, sensitive="ill", policy=POLICY, **more).to_dict()


def test_who_is_proved_only_without_class_weights_is_not_decided(tmp_path):
    plain, weighed = ["no", "no", "no", "yes", "yes"], ["no", "no", "no", "yes", "no"]
    text = printed(plain)
    # The same text of a table in which one of the two has the other class, with a weight for "yes".
    assert printed(weighed, class_weight={"no": 1, "yes": 2}) == text
    found = audited(tmp_path, text, plain)
    assert found["worlds"]["records_certain"] == 0
    assert found["worlds"]["records_not_decided"] == 2
    assert found["verdict"] != "PASS"
    assert any(
        "may have been weighted" in each and "--split" in each.replace("split=", "--split")
        for each in found["warnings"]
    )
    # Whoever knows the criterion knows that each record counted once.
    told = audited(tmp_path, text, plain, split="gini")
    assert told["worlds"]["records_certain"] == 2
    assert told["verdict"] == "FAIL"


def test_one_person_alone_in_a_leaf_is_proved_by_its_label_all_the_same(tmp_path):
    trees = pytest.importorskip("sklearn.tree")
    table = pd.DataFrame({"x": [0, 0, 0, 1], "ill": ["no", "no", "yes", "yes"]})
    model = trees.DecisionTreeClassifier(max_depth=1, class_weight="balanced", random_state=0)
    model.fit(table[["x"]], table.ill)
    file = tmp_path / "tree.txt"
    file.write_text(trees.export_text(model, feature_names=["x"]))
    found = tw.audit(file, table, sensitive="ill", policy=POLICY).to_dict()
    assert found["worlds"]["records_certain"] == 1
    assert found["verdict"] == "FAIL"


def test_a_label_that_the_table_contradicts_names_files_that_state_weights(tmp_path):
    weighed = ["no", "no", "no", "yes", "no"]
    classes = ["no", "no", "no", "yes", "no"]
    text = printed(weighed, class_weight={"no": 1, "yes": 2})
    found = audited(tmp_path, text, classes)
    assert found["worlds"]["records_certain"] == 0
    wrong = audited(tmp_path, text, ["no", "no", "yes", "no", "no"])
    assert wrong["verdict"] != "PASS"
    assert "scikit-learn's .skops" in str(wrong)


def labelled(labels, tests=("x", "y"), **changes):
    """A case of a tree that splits twice on its left side, with these labels of its three leaves."""
    nodes = (
        Node(0, "0", None, (1, 4), score="no"),
        Node(1, "1", 0, (2, 3), NumericTest(tests[0], high=1, high_closed=True), "no"),
        Node(2, "2", 1, (), NumericTest(tests[1], high=1, high_closed=True), labels[0]),
        Node(3, "3", 1, (), NumericTest(tests[1], low=1), labels[1]),
        Node(4, "4", 0, (), NumericTest(tests[0], low=1), labels[2]),
    )
    features = tuple(Feature(name, numeric=True, single=True) for name in dict.fromkeys(tests))
    said = {"learner": Learner(tool=Tool.SCIKIT_LEARN), "quality": Quality.ABSENT, **changes}
    tree = Tree(nodes, features, "ill", ("no", "yes"), source="t", **said)
    rows = {name: [0.0, 0.0, 0.0, 2.0] if name == "x" else [0, 0, 2, 0] for name in ("x", "y")}
    table = table_of({**rows, "ill": ["no", "no", "yes", "yes"]})
    people = build_population(tree, table, sensitive="ill", qi=("x", "y"))
    return Case(tree, people, members(tree, people.leaf), Knowledge(split="none"))


def kinds(case, constraint=LEAF_LABEL):
    return sorted({type(fact).__name__ for fact in constraint.rows(case)})


LEFT_OUT = ["LeftOut", "WholeRecords"]


def test_labels_lead_for_sure_only_where_weights_are_known_to_be_none():
    case = labelled(["no", "yes", "yes"])
    assert kinds(case) == LEFT_OUT
    assert kinds(case, INNER_LABEL) == ["LeftOut"]
    told = replace(case, knowledge=Knowledge(split="gini"))
    assert kinds(told) == ["Plurality"]
    assert kinds(replace(case, knowledge=Knowledge(split="none", strict_labels=True))) == [
        "Plurality"
    ]
    assert kinds(labelled(["no", "yes", "yes"], learner=Learner(Criterion.GINI))) == ["Plurality"]
    assert kinds(labelled(["no", "yes", "yes"], learner=Learner(tool=Tool.TREEWARDEN))) == [
        "Plurality"
    ]
    # Known priors, and shares that were moved, whatever is known of the criterion.
    moved = Learner(Criterion.GINI, unmodelled=("monotonic_cst",))
    assert kinds(labelled(["no", "yes", "yes"], learner=moved)) == LEFT_OUT
    prior = labelled(["no", "yes", "yes"], label_reason="priors")
    assert kinds(replace(prior, knowledge=Knowledge(split="gini"))) == LEFT_OUT


def test_the_estimate_supposes_that_labels_lead_and_tables_that_are_shown_obey_it():
    system = build_system(labelled(["no", "yes", "yes"]))
    assert not system.leads
    assert set(system.estimated.leads) == {2, 3, 4}
    narrow, open_nodes = doubled(system, FOREVER)
    assert (set(narrow.leads), open_nodes) == ({2, 3, 4}, ())


def test_where_the_table_shows_that_weights_decided_a_label_no_other_table_is_shown():
    system = build_system(labelled(["yes", "yes", "yes"]))  # both people there have the other class
    assert doubled(system, FOREVER)[1] == (0,)


def test_a_label_is_that_of_some_record_unless_costs_or_moved_shares_chose_it():
    def sure(labels, tests=("x", "y"), **changes):
        return np.flatnonzero(sure_labels(labelled(labels, tests, **changes))).tolist()

    assert sure(["no", "yes", "yes"]) == [2, 3, 4]
    # All leaves below the root's left side have one label, and "y" was tested below "x", along which shares may be kept
    # in order: scikit-learn 1.4 labels leaves so in which nobody has the class.
    assert sure(["no", "no", "yes"]) == [4]
    assert sure(["no", "no", "yes"], tests=("x", "x")) == [2, 3, 4]
    assert sure(["no", "no", "yes"], learner=Learner(tool=Tool.SPARK)) == [2, 3, 4]
    assert sure(["no", "no", "yes"], learner=Learner()) == [4]
    three = labelled(["no", "yes", "yes"], learner=Learner())
    three = replace(three, tree=replace(three.tree, classes=("no", "yes", "perhaps")))
    assert not sure_labels(three).any()


def test_moved_shares_can_label_a_leaf_with_a_class_that_nobody_there_has():
    trees = pytest.importorskip("sklearn.tree")
    absent = 0
    for seed in range(40):
        draw = np.random.default_rng(seed)
        matrix = np.exp2(draw.integers(0, 4, (16, 2))) - 1
        classes = (draw.random(16) < 0.3 + 0.15 * matrix[:, 0]).astype(int)
        classes[:2] = 0, 1
        model = trees.DecisionTreeClassifier(max_depth=4, monotonic_cst=[1, 0], random_state=0)
        model.fit(matrix, classes)
        text = trees.export_text(model, feature_names=["x", "y"], decimals=6)
        tree = load_tree(text.encode(), "tree.txt")
        if len(tree.classes) < 2:
            continue
        table = table_of(
            {
                "x": matrix[:, 0].tolist(),
                "y": matrix[:, 1].tolist(),
                "ill": [str(k) for k in classes],
            }
        )
        people = build_population(tree, table, sensitive="ill")
        case = Case(tree, people, members(tree, people.leaf), Knowledge())
        sure = sure_labels(case)
        for leaf in tree.leaves:
            counts = people.truth[people.leaf == leaf.index].sum(axis=0)
            if not counts[tree.classes.index(leaf.score)]:
                absent += 1
                assert not sure[leaf.index]
    assert absent > 0


def test_an_adversary_with_some_columns_knows_as_little_of_weights():
    case = labelled(["no", "yes", "yes"])

    def leads(**known):
        system = leaf_table(case.tree, case.population, Knowledge(**known)).system
        return len(system.leads), len(system.estimated.leads)

    assert leads() == (0, 3)
    assert leads(split="gini") == (3, 3)


def test_tables_with_ties_are_not_shown_where_a_text_does_not_say_which_class_is_the_first(
    tmp_path,
):
    # "yes" is listed first, but scikit-learn names "no" where both are as frequent, so that both people are proved.
    x, classes = [0, 0, 1, 1, 1], ["yes", "yes", "no", "no", "no"]
    text = printed(classes, x=x)
    assert printed(["yes", "no", "no", "no", "no"], x=x) != text
    told = audited(tmp_path, text, classes, x=x, split="gini")["worlds"]
    assert (told["records_certain"], told["records_not_decided"]) == (0, 2)

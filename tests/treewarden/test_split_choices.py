"""What the choice of splits and the shape of a tree say, from the file and the table to the verdict."""

import io
import re
from pathlib import Path

import pandas as pd
import pytest

import treewarden as tw
from tests.kit.releases import a_table, a_tree
from treewarden.ppdm_models.files.load import read_model, writers

tree = pytest.importorskip("sklearn.tree")
FOLDER = Path(__file__).parents[1] / "data/choices"
CLAUSE = {"id": "c", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}
NOBODY = {"name": "nobody", "version": "1", "title": "Nobody is certain", "clause": [CLAUSE]}
SHAPES = ("counted_inner_nodes.pmml", "labels_only.pmml", "labelled_leaves_only.pmml")


def audited(model, table, **options):
    """Return the audit of a file in the folder, or of a model, by all that whole records prove."""
    model = str(FOLDER / model) if isinstance(model, str) else model  # an absolute path stays
    table = pd.read_csv(FOLDER / table) if isinstance(table, str) else table
    settings = {"sensitive": "y", "policy": NOBODY, "levels": False, "jobs": 1}
    return tw.audit(model, table, worlds_all=True, **{**settings, **options})


def certain(result):
    return tuple(result.readings.loc["certain_disclosure", ["low", "high"]])


@pytest.mark.parametrize("model", SHAPES)
def test_inner_nodes_are_mixed_whatever_the_level_of_the_leaves(model):
    result = audited(model, "two_columns.csv", accuracy=True, leaf="labels", split="gini")
    assert (str(result.verdict), certain(result)) == ("FAIL", (3, 3))


@pytest.mark.parametrize("model", SHAPES)
@pytest.mark.parametrize("split", ["none", "as-published"])
def test_the_shape_alone_is_left_open_where_the_learner_is_not_known(model, split):
    result = audited(model, "two_columns.csv", accuracy=True, leaf="labels", split=split)
    assert (str(result.verdict), certain(result)) == ("UNDETERMINED", (0, 3))
    assert any("stops at pure ones" in said for said in result.warnings)


@pytest.mark.parametrize("learner", ["rpart", "scikit-learn", "spark", "weka", "treewarden"])
@pytest.mark.parametrize("split", ["none", "as-published"])
def test_the_shape_alone_is_a_fact_where_the_learner_stops_at_pure_nodes(learner, split, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text(
        f'learner = "{learner}"\naccuracy = true\nsplit = "{split}"\nleaf = "labels"\n'
    )
    result = audited("labelled_leaves_only.pmml", "two_columns.csv", knowledge=str(known))
    assert (str(result.verdict), certain(result)[0]) == ("FAIL", 3)


def test_a_policy_may_assume_less_than_the_shape_says_and_does_not_pass():
    clause = {**CLAUSE, "under": {"leaf": "labels", "split": "none", "accuracy": True}}
    policy = {**NOBODY, "clause": [clause]}
    result = audited("counted_inner_nodes.pmml", "two_columns.csv", policy=policy)
    assert str(result.verdict) == "UNDETERMINED"


def test_a_learner_that_split_a_pure_node_says_nothing_by_its_shape():
    table = pd.read_csv(FOLDER / "two_columns.csv")
    table.loc[table["f0"] == 0, "y"] = "a"
    result = audited("labelled_leaves_only.pmml", table)
    assert (str(result.verdict), certain(result)) == ("PASS", (0, 0))


def test_a_criterion_that_a_drawing_prints_is_that_of_its_learner():
    table = pd.read_csv(FOLDER / "names_gini.csv")
    fitted = tree.DecisionTreeClassifier(max_depth=2, min_samples_leaf=3, random_state=0)
    estimator = audited(fitted.fit(table[["a", "b"]], table["y"]), table)
    drawing = audited("names_gini.dot", table)
    assert str(estimator.verdict) == str(drawing.verdict) == "FAIL"
    assert certain(estimator) == certain(drawing) == (1, 1)
    assert not any("split criterion" in said for said in drawing.warnings)


def test_a_quasi_identifier_that_a_drawing_does_not_list_is_left_open():
    alone = audited("does_not_list_a.dot", "does_not_list_a.csv")
    assert (str(alone.verdict), certain(alone)) == ("PASS", (0, 0))
    both = audited("does_not_list_a.dot", "does_not_list_a.csv", qi=["a", "b"])
    assert str(both.verdict) == "UNDETERMINED"
    assert certain(both)[0] == 0
    assert certain(both)[1] >= 2
    assert any("splits on 'a', which the file does not list" in said for said in both.warnings)


def test_a_fitted_estimator_lists_every_column_that_it_saw():
    table = pd.read_csv(FOLDER / "does_not_list_a.csv")
    fitted = tree.DecisionTreeClassifier(max_depth=2, min_samples_leaf=3, random_state=0)
    result = audited(fitted.fit(table[["b"]], table["y"]), table, qi=["a", "b"])
    assert (str(result.verdict), certain(result)) == ("PASS", (0, 0))


def test_a_drawing_of_a_tree_that_compared_part_of_its_columns_is_left_open(tmp_path):
    table = pd.read_csv(FOLDER / "names_gini.csv")
    settings = {"max_depth": 2, "min_samples_leaf": 3, "max_features": 1, "random_state": 2}
    fitted = tree.DecisionTreeClassifier(**settings).fit(table[["a", "b"]], table["y"])
    assert fitted.tree_.feature[0] == 0  # though a split on b is better
    drawing = tmp_path / "tree.dot"
    drawing.write_text(tree.export_graphviz(fitted, feature_names=["a", "b"]))
    result = audited(str(drawing), table)
    assert (str(result.verdict), certain(result)[0]) == ("UNDETERMINED", 0)
    assert any("are better in the true table" in said for said in result.warnings)


@pytest.mark.parametrize("leaf", ["as-published", "counts", "rates"])
@pytest.mark.parametrize("split", ["as-published", "none"])
def test_a_decrease_that_a_split_had_to_reach_proves_people_where_leaves_are_counted(leaf, split):
    model, table = "min_impurity_decrease.skops", "min_impurity_decrease.csv"
    result = audited(model, table, leaf=leaf, split=split)
    assert (str(result.verdict), certain(result)) == ("FAIL", (2, 2))


def test_a_decrease_that_a_split_had_to_reach_is_left_open_where_leaves_are_not_counted():
    result = audited("min_impurity_decrease.skops", "min_impurity_decrease.csv", leaf="labels")
    assert (str(result.verdict), certain(result)[0]) == ("UNDETERMINED", 0)
    assert any("min_impurity_decrease = 0.02" in said for said in result.warnings)


def test_a_leaf_that_could_be_split_is_pure():
    table = pd.DataFrame({"a": [0, 0, 1, 1, 2, 2, 3], "y": ["n", "n", "y", "n", "y", "y", "y"]})
    grown = tree.DecisionTreeClassifier(random_state=0).fit(table[["a"]], table["y"])
    result = audited(grown, table, leaf="labels")
    # The leaves of a = 0 and of a = 1 hold records that agree in everything, so that neither could be split.
    assert (str(result.verdict), certain(result)) == ("FAIL", (3, 3))


@pytest.mark.parametrize(
    "settings",
    [{"max_depth": 1}, {"min_samples_split": 5}, {"min_samples_leaf": 3}],
)
def test_a_leaf_that_could_not_be_split_need_not_be_pure(settings):
    table = pd.DataFrame({"a": range(8), "y": ["n", "n", "n", "y", "y", "y", "n", "y"]})
    grown = tree.DecisionTreeClassifier(random_state=0, **settings).fit(table[["a"]], table["y"])
    result = audited(grown, table, leaf="labels")
    assert certain(result)[0] < 8


MIXED = pd.DataFrame(
    {
        "a": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5],
        "b": [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3],
        "y": ["n", "n", "n", "y", "n", "n", "y", "y", "n", "y", "y", "y"],
    }
)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"ccp_alpha": 0.1}, "ccp_alpha = 0.1"),
        ({"max_leaf_nodes": 3, "ccp_alpha": 0.01}, "max_leaf_nodes = 3, ccp_alpha = 0.01"),
    ],
)
def test_pruning_leaves_open_who_is_certain_and_is_named(settings, named):
    fitted = tree.DecisionTreeClassifier(random_state=0, **settings)
    result = audited(fitted.fit(MIXED[["a", "b"]], MIXED["y"]), MIXED)
    assert certain(result)[0] < certain(result)[1]
    assert any(named in said for said in result.warnings)


@pytest.mark.parametrize("settings", [{}, {"max_depth": 2}, {"max_leaf_nodes": 99}])
def test_settings_that_stopped_no_leaf_leave_nothing_open(settings):
    fitted = tree.DecisionTreeClassifier(random_state=0, **settings)
    result = audited(fitted.fit(MIXED[["a", "b"]], MIXED["y"]), MIXED)
    low, high = certain(result)
    assert low == high
    assert not any("not split" in said for said in result.warnings)


def test_a_limit_of_leaves_bounds_what_the_waiting_leaves_gain():
    fitted = tree.DecisionTreeClassifier(random_state=0, max_leaf_nodes=3)
    result = audited(fitted.fit(MIXED[["a", "b"]], MIXED["y"]), MIXED)
    by_depth = tree.DecisionTreeClassifier(random_state=0, max_depth=2)
    plain = audited(by_depth.fit(MIXED[["a", "b"]], MIXED["y"]), MIXED)
    assert certain(result)[1] >= certain(plain)[0]
    low, high = certain(result)
    assert low <= high


def test_cuts_of_a_drawn_column_are_left_open():
    settings = {"max_features": 1, "min_samples_leaf": 2, "max_depth": 2, "random_state": 19}
    table = pd.DataFrame(
        {"a": [1, 2, 0, 2, 0, 1, 0], "b": [0, 2, 2, 0, 1, 2, 0], "y": [0, 0, 1, 0, 1, 0, 1]}
    )
    fitted = tree.DecisionTreeClassifier(criterion="entropy", **settings)
    result = audited(fitted.fit(table[["a", "b"]], table["y"]), table)
    assert str(result.verdict) == "UNDETERMINED"
    assert any("other cuts of a tested column" in said for said in result.warnings)


# Files that do not name the criterion: whoever knows the program knows its default.

UNNAMED = pd.DataFrame(
    {
        "b": [2, 1, 2, 2, 0, 0, 0, 2],
        "y": ["y", "y", "y", "y", "y", "n", "n", "n"],
    }
)
DECIDED = {**CLAUSE, "id": "d", "measure": "confidence", "limit": 0.9}
UNSURE = {**NOBODY, "clause": [DECIDED]}


def printed(folder, table=UNNAMED, columns=("b",), **settings):
    """Return what scikit-learn prints of a tree that it grows: counts of classes, and no criterion."""
    settings = {"max_depth": 1, "min_samples_leaf": 2, "random_state": 0, **settings}
    fitted = tree.DecisionTreeClassifier(**settings).fit(table[list(columns)], table["y"])
    names = {"feature_names": list(columns), "class_names": list(fitted.classes_)}
    text = tree.export_text(fitted, show_weights=True, decimals=6, **names)
    path = folder / "printed.txt"
    path.write_text(text)
    return str(path)


def without_program(folder, path):
    """Return the same tree as PMML that names neither its program nor its criterion."""
    text = PROGRAM.sub("", writers()["pmml"].write(read_model(Path(path))).decode())
    (folder / "unknown.pmml").write_text(text)
    return str(folder / "unknown.pmml")


PROGRAM = re.compile(r'\s*<Extension name="treewarden:(?!quality)[^>]*/>')


@pytest.mark.parametrize("policy", [NOBODY, UNSURE])
@pytest.mark.parametrize("form", ["text", "pmml", "unknown", "told"])
def test_no_check_passes_that_a_criterion_which_the_file_does_not_name_would_fail(
    form, policy, tmp_path
):
    path, learner = printed(tmp_path), {}
    if form == "pmml":  # what was not named stays so
        (tmp_path / "own.pmml").write_bytes(writers()["pmml"].write(read_model(Path(path))))
        path = str(tmp_path / "own.pmml")
    elif form != "text":
        path = without_program(tmp_path, path)
        learner = {"learner": "scikit-learn"} if form == "told" else {}
    about = {"policy": policy, **learner}
    assert str(audited(path, UNNAMED, split="none", **about).verdict) == "PASS"
    for criterion in ("gini", "entropy"):
        assert str(audited(path, UNNAMED, split=criterion, **about).verdict) == "FAIL"
    unnamed = audited(path, UNNAMED, **about)
    assert str(unnamed.verdict) == "UNDETERMINED"
    assert certain(unnamed) == (0, 1)
    assert any("each of gini" in said for said in unnamed.warnings)


def test_who_knows_some_columns_supposes_a_criterion_too(tmp_path):
    table = UNNAMED.assign(c=[0, 1, 0, 1, 0, 1, 0, 1])
    path = printed(tmp_path, table)
    about = {"policy": NOBODY, "qi": ["b", "c"], "knows": ["b"]}
    verdicts = {
        split: str(audited(path, table, split=split, **about).verdict)
        for split in ("none", "gini", "as-published")
    }
    assert verdicts == {"none": "PASS", "gini": "FAIL", "as-published": "UNDETERMINED"}


def test_a_tree_that_tells_nothing_by_either_criterion_passes(tmp_path):
    table = pd.DataFrame(
        {"b": [0, 1] * 8, "y": ["n", "n", "y", "y"] * 2 + ["n", "y", "n", "y"] * 2}
    )
    path = printed(tmp_path, table)
    for split in ("as-published", "gini", "entropy"):
        result = audited(path, table, split=split)
        assert (str(result.verdict), certain(result)) == ("PASS", (0, 0))


def test_a_print_of_a_tree_that_no_criterion_explains_is_left_open(tmp_path):
    people = {(0, 0): "nn", (0, 1): "ny", (0, 2): "yyn", (1, 0): "nny", (1, 2): "yyyn"}
    rows = [{"a": a, "b": b, "y": y} for (a, b), labels in people.items() for y in labels]
    table = pd.DataFrame(rows)
    settings = {"max_depth": 2, "min_samples_leaf": 3, "max_features": 1}
    drawn = (
        printed(tmp_path, table, ("a", "b"), random_state=seed, **settings) for seed in range(50)
    )
    path = next(path for path in drawn if re.match(r"\|--- a[^#]*--- b", Path(path).read_text()))
    result = audited(path, table)  # though a split on b is better
    assert (str(result.verdict), certain(result)[0]) == ("UNDETERMINED", 0)
    assert any("are better in the true table" in said for said in result.warnings)
    # A program that is not known may choose by another rule, so that the usual ones are guesses.
    unknown = audited(without_program(tmp_path, path), table)
    assert str(unknown.verdict) == "PASS"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("split", ["as-published", "gain-ratio"])
def test_a_split_that_parts_nobody_has_no_gain_ratio(split, tmp_path):
    model = tmp_path / "one.pmml"
    model.write_bytes(a_tree(ILL, leaf_of=lambda place: "all"))
    table = pd.read_csv(io.StringIO(ILL))
    result = audited(str(model), table, split=split, sensitive="illness")
    assert str(result.verdict) == ("PASS" if split == "as-published" else "UNDETERMINED")


ILL = a_table("1 a yes", "2 a no", "3 b no", "4 b no")

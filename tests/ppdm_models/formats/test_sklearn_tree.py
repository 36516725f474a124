"""Fitted scikit-learn trees: routed, counted and labelled as scikit-learn does."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.plain_splits import on_32_bits
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Learner, Quality, Stopping, Task, rebuilt

sklearn_tree = pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")

RANDOM = np.random.default_rng(7)
X = np.round(RANDOM.normal(size=(300, 4)), 2)
Y = RANDOM.integers(0, 3, size=300)
WITH_GAPS = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)


def fitted(kind="DecisionTreeClassifier", x=X, y=Y, weight=None, **settings):
    return getattr(sklearn_tree, kind)(random_state=0, **settings).fit(x, y, sample_weight=weight)


def stops(tree, x):
    columns = {feature.name: NumericColumn(x[:, i]) for i, feature in enumerate(tree.features)}
    return [int(tree.nodes[stop].name) for stop in route(tree, columns)]


def near_thresholds(model):
    """Records at each threshold, and at the next 32- and 64-bit numbers on either side."""
    ends = model.tree_.threshold[np.isfinite(model.tree_.threshold) & (model.tree_.feature >= 0)]
    steps = [ends, np.nextafter(ends, 9), np.nextafter(ends, -9)]
    steps += [
        np.nextafter(ends.astype(np.float32), np.float32(side)).astype(float) for side in (9, -9)
    ]
    values = np.concatenate(steps)
    return RANDOM.choice(values, size=(500, 4))


@pytest.mark.parametrize(
    "kind", ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier"]
)
@pytest.mark.parametrize("settings", [{}, {"max_depth": 4}, {"max_leaf_nodes": 20}])
def test_records_stop_where_scikit_learn_sends_them(kind, settings):
    model = fitted(kind, **settings)
    tree = from_sklearn(model)
    for x in (X, RANDOM.normal(size=(500, 4)), near_thresholds(model)):
        assert stops(tree, x) == model.apply(x).tolist()


@pytest.mark.parametrize("settings", [{}, {"max_depth": 3}, {"max_leaf_nodes": 20}])
@pytest.mark.parametrize("train", [X, WITH_GAPS])
def test_missing_values_go_where_scikit_learn_sends_them(train, settings):
    model = fitted(x=train, **settings)
    assert stops(from_sklearn(model), WITH_GAPS) == model.apply(WITH_GAPS).tolist()


def test_a_split_into_missing_and_present_is_followed():
    x = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan], [np.nan]])
    model = fitted(x=x, y=[0, 0, 0, 1, 1, 1])
    assert np.isinf(model.tree_.threshold[0])
    assert stops(from_sklearn(model), x) == model.apply(x).tolist()


def test_counts_are_those_of_the_training_records():
    model = fitted(max_depth=3)
    tree = from_sklearn(model)
    where = model.apply(X)
    assert tree.quality is Quality.EXACT
    for leaf in tree.leaves:
        here = Y[where == int(leaf.name)]
        assert leaf.class_counts == tuple(np.bincount(here, minlength=3))
        assert leaf.records == len(here)


def test_labels_are_those_that_scikit_learn_predicts():
    model = fitted(max_depth=3)
    tree = from_sklearn(model)
    scores = {int(leaf.name): leaf.score for leaf in tree.leaves}
    assert [scores[stop] for stop in model.apply(X)] == [str(label) for label in model.predict(X)]


def test_a_regression_tree_predicts_what_scikit_learn_predicts():
    model = fitted("DecisionTreeRegressor", max_depth=3)
    tree = from_sklearn(model)
    scores = {int(leaf.name): leaf.score for leaf in tree.leaves}
    assert (tree.task, tree.classes, tree.quality) == (Task.REGRESSION, (), Quality.EXACT)
    assert [scores[stop] for stop in model.apply(X)] == model.predict(X).tolist()


@pytest.mark.parametrize(
    "model",
    [
        lambda: fitted(max_depth=3, weight=RANDOM.random(300)),
        lambda: fitted(max_depth=3, class_weight="balanced"),
        lambda: fitted(max_depth=3, weight=np.full(300, 2.0)),
    ],
)
def test_weights_are_no_people(model):
    assert from_sklearn(model()).quality is Quality.WEIGHTED


def test_one_tree_of_a_forest_counts_bootstrap_records():
    forest = (
        pytest.importorskip("sklearn.ensemble")
        .RandomForestClassifier(n_estimators=1, random_state=0)
        .fit(X, Y)
    )
    tree = from_sklearn(forest.estimators_[0], class_names=["a", "b", "c"])
    assert (tree.quality, tree.learner.all_features) == (Quality.WEIGHTED, False)


@pytest.mark.parametrize(
    ("settings", "learner"),
    [
        ({}, Learner(Criterion.GINI, multiway=False)),
        ({"criterion": "entropy"}, Learner(Criterion.ENTROPY, multiway=False)),
        ({"criterion": "log_loss"}, Learner(Criterion.ENTROPY, multiway=False)),
        ({"min_samples_leaf": 7}, Learner(Criterion.GINI, 7, multiway=False)),
        ({"min_samples_leaf": 0.011}, Learner(Criterion.GINI, 4, multiway=False)),
        ({"min_weight_fraction_leaf": 0.05}, Learner(Criterion.GINI, 15, multiway=False)),
        ({"max_features": 2}, Learner(Criterion.GINI, 1, False, multiway=False)),
        ({"max_features": 4}, Learner(Criterion.GINI, multiway=False)),
        (
            {"splitter": "random"},
            Learner(Criterion.GINI, 1, False, multiway=False, draws_cuts=True),
        ),
        (
            {"class_weight": "balanced"},
            Learner(Criterion.GINI, multiway=False, unmodelled=("class_weight",)),
        ),
    ],
)
def test_how_the_tree_was_grown_is_kept(settings, learner):
    expected = replace(learner, tool=Tool.SCIKIT_LEARN, lists_columns=True)
    assert from_sklearn(fitted(**settings)).learner == expected


@pytest.mark.parametrize(
    ("settings", "stopping"),
    [
        ({}, Stopping()),
        ({"max_depth": 3, "min_samples_split": 9}, Stopping(3, 9)),
        ({"min_samples_split": 0.1}, Stopping(min_split_records=30)),
        ({"max_leaf_nodes": 4}, Stopping(max_leaves=4)),
        (
            {"min_impurity_decrease": 0.02, "ccp_alpha": 0.01},
            Stopping(min_impurity_decrease=0.02, pruning_alpha=0.01),
        ),
    ],
)
def test_why_the_tree_stopped_is_read_and_not_written(settings, stopping):
    tree = from_sklearn(fitted(**settings))
    assert tree.learner.stopping == stopping
    for name in ("pmml", "treewarden_json"):
        again = load_tree(writers()[name].write(tree), "x")
        assert again.learner == tree.learner
        assert again.learner.stopping is None


def test_a_pruned_tree_does_not_say_why_it_stopped():
    tree = from_sklearn(fitted())
    root = replace(tree.root, children=())
    assert rebuilt(tree, [root]).learner.stopping is None


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.where(Y == 0, "no", "yes"), ("no", "yes")),
        (Y == 0, ("false", "true")),
        (Y.astype(float), ("0", "1", "2")),
        (Y + 0.5, None),
    ],
)
def test_classes_are_written_as_a_table_writes_them(y, classes):
    if classes is None:
        assert from_sklearn(fitted("DecisionTreeRegressor", y=y)).classes == ()
    else:
        assert from_sklearn(fitted(y=y)).classes == classes


def test_names_are_those_given():
    tree = from_sklearn(
        fitted(), feature_names=["a", "b", "c", "d"], class_names=["x", "y", "z"], target="t"
    )
    assert ([feature.name for feature in tree.features], tree.classes, tree.target) == (
        ["a", "b", "c", "d"],
        ("x", "y", "z"),
        "t",
    )


@pytest.mark.parametrize("names", [{"feature_names": ["a"]}, {"class_names": ["x"]}])
def test_too_few_names_are_refused(names):
    with pytest.raises(ValueError, match="1 (feature|class) names were given for"):
        from_sklearn(fitted(), **names)


def test_several_outputs_are_refused():
    with pytest.raises(TreeFormatError, match="predicts 2 outputs"):
        from_sklearn(fitted(y=np.stack([Y, Y], axis=1)))


def test_what_is_not_fitted_is_refused():
    with pytest.raises(TypeError, match="contains no fitted tree"):
        from_sklearn(sklearn_tree.DecisionTreeClassifier())


@pytest.mark.parametrize("name", writers())
@pytest.mark.parametrize("settings", [{}, {"max_leaf_nodes": 30}])
def test_the_tree_survives_being_written(name, settings):
    tree = from_sklearn(fitted(**settings))
    # PMML rounds what a 32-bit field is compared with, so that it gets 32-bit numbers.
    wanted = on_32_bits(tree) if name == "pmml" else tree
    assert load_tree(writers()[name].write(tree), "x") == wanted


def test_the_formats_do_not_import_scikit_learn():
    code = (
        "import sys\nfrom treewarden.ppdm_models.files.load import formats\n"
        "formats()\nprint('sklearn' in sys.modules)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout.strip() == "False"


@pytest.mark.parametrize(
    ("signs", "unmodelled"), [([1, 0, 0, -1], ("monotonic_cst",)), ([0] * 4, ()), (None, ())]
)
def test_constraints_that_decide_splits_too_are_named(signs, unmodelled):
    model = fitted(y=Y > 0, max_depth=3, monotonic_cst=signs)
    assert from_sklearn(model).learner.unmodelled == unmodelled

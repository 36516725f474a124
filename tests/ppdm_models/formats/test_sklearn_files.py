"""Files of scikit-learn: what is read from them predicts what the estimator predicts."""

from __future__ import annotations

import io
import json
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.rare.graphviz_dot import FORMAT as DOT
from treewarden.ppdm_models.formats.sklearn.sklearn_json import FORMAT as JSON
from treewarden.ppdm_models.formats.sklearn.sklearn_text import FORMAT as TEXT
from treewarden.ppdm_models.formats.skops.skops_file import FORMAT as SKOPS
from treewarden.ppdm_models.formats.skops.skops_file import _named
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, trees_of
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Criterion, Quality

skops_io = pytest.importorskip("skops.io", reason="skops is not installed")
sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn import ensemble, impute, preprocessing, tree  # noqa: E402  # only where scikit-learn is there
from sklearn.decomposition import PCA  # noqa: E402  # as above
from sklearn.pipeline import make_pipeline  # noqa: E402  # as above
from sklearn.preprocessing import MinMaxScaler, StandardScaler  # noqa: E402  # as above

RANDOM = np.random.default_rng(11)
NAMES = ["age", "pay", 'a "b" <= c', "d"]
X = np.round(RANDOM.normal(size=(400, 4)) * [10, 1000, 1, 0.01], 3)
Y = np.array(["no", "yes", "ma\\ybe"])[(X[:, 0] > 3).astype(int) + (X[:, 1] > 500)]
Y[RANDOM.random(400) < 0.15] = "yes"
BINARY = np.where(Y == "yes", 1, 0)
NUMBER = X[:, 0] + RANDOM.normal(size=400)
GRID = (
    np.round(RANDOM.normal(size=(400, 4)) * [40, 4000, 9, 5]) / 4
)  # its thresholds have few digits
GAPS = np.where(RANDOM.random(X.shape) < 0.15, np.nan, X)


def thresholds(model, column):
    tests = [node.test for part in trees_of(model) for node in part.nodes]
    found = {
        end
        for test in tests
        if isinstance(test, NumericTest) and test.feature == column
        for end in (test.low, test.high)
        if np.isfinite(end)
    }
    return np.array(sorted(found) or [0.0])


def records(model, train, missing):
    """12,000 records: training values, thresholds, and the next 32- and 64-bit numbers beside them."""
    columns = []
    for place, feature in enumerate(model.features):
        ends = thresholds(model, feature.name)
        with np.errstate(over="ignore"):
            near = [np.nextafter(ends.astype(np.float32), np.float32(side)) for side in (9e9, -9e9)]
        choice = [ends, np.nextafter(ends, 9e9), np.nextafter(ends, -9e9), *near]
        values = np.concatenate([*map(np.float64, choice), train[:, place]])
        column = RANDOM.choice(values[np.isfinite(values)], size=12_000)
        columns.append(np.where(RANDOM.random(12_000) < 0.1, np.nan, column) if missing else column)
    return np.column_stack(columns)


def predicted(model, x):
    return predict(
        model, {feature.name: NumericColumn(x[:, i]) for i, feature in enumerate(model.features)}
    )


def assert_same(model, estimator, x):
    said = predicted(model, x)
    if model.classes:
        np.testing.assert_allclose(said, estimator.predict_proba(x), rtol=1e-9, atol=1e-12)
        assert labels(model, said) == [str(label) for label in estimator.predict(x)]
    else:
        np.testing.assert_allclose(said[:, 0], estimator.predict(x), rtol=1e-9, atol=1e-12)


def read_skops(estimator):
    return SKOPS.open(skops_io.dumps(estimator), "model.skops").model


MODELS = {
    "tree": tree.DecisionTreeClassifier(max_depth=6, random_state=0),
    "best-first": tree.DecisionTreeClassifier(max_leaf_nodes=12, random_state=0),
    "extra": tree.ExtraTreeClassifier(max_depth=6, random_state=0),
    "forest": ensemble.RandomForestClassifier(7, max_depth=5, random_state=0),
    "extra-trees": ensemble.ExtraTreesClassifier(5, max_depth=5, random_state=0),
    "scaled": make_pipeline(
        StandardScaler(), tree.DecisionTreeClassifier(max_depth=6, random_state=0)
    ),
    "min-max": make_pipeline(
        MinMaxScaler((-1, 3)),
        StandardScaler(),
        ensemble.RandomForestClassifier(3, max_depth=4, random_state=0),
    ),
}
NUMBERS = {
    "tree": tree.DecisionTreeRegressor(max_depth=6, random_state=0),
    "forest": ensemble.RandomForestRegressor(5, max_depth=4, random_state=0),
}
BOOSTED = [
    (ensemble.GradientBoostingClassifier(n_estimators=6, random_state=0), Y),
    (ensemble.GradientBoostingClassifier(n_estimators=6, random_state=0), BINARY),
    (
        ensemble.GradientBoostingClassifier(n_estimators=6, loss="exponential", random_state=0),
        BINARY,
    ),
    (ensemble.GradientBoostingClassifier(n_estimators=4, init="zero", random_state=0), BINARY),
    (ensemble.GradientBoostingRegressor(n_estimators=6, subsample=0.5, random_state=0), NUMBER),
    (ensemble.GradientBoostingRegressor(n_estimators=6, loss="huber", random_state=0), NUMBER),
]


@pytest.mark.parametrize("train", [X, GAPS], ids=["complete", "gaps"])
@pytest.mark.parametrize("name", MODELS)
def test_a_skops_classifier_predicts_what_scikit_learn_predicts(name, train):
    estimator = sklearn.base.clone(MODELS[name]).fit(train, Y)
    model = read_skops(estimator)
    assert_same(model, estimator, records(model, X, missing=True))


@pytest.mark.parametrize("name", NUMBERS)
def test_a_skops_regressor_predicts_what_scikit_learn_predicts(name):
    estimator = sklearn.base.clone(NUMBERS[name]).fit(X, NUMBER)
    model = read_skops(estimator)
    assert_same(model, estimator, records(model, X, missing=True))


@pytest.mark.parametrize("place", range(len(BOOSTED)))
def test_a_boosted_model_predicts_what_scikit_learn_predicts(place):
    estimator, target = BOOSTED[place]
    model = read_skops(estimator.fit(X, target))
    assert_same(model, estimator, records(model, X, missing=False))
    assert model.sampling.resampled is (estimator.subsample < 1)


def test_counts_labels_and_settings_of_a_skops_tree_are_those_of_training():
    estimator = tree.DecisionTreeClassifier(
        min_samples_leaf=5, criterion="entropy", random_state=3
    ).fit(X, Y)
    read = read_skops(estimator)
    where = estimator.apply(X)
    assert read.quality is Quality.EXACT
    assert (read.learner.criterion, read.learner.min_leaf_records) == (Criterion.ENTROPY, 5)
    for leaf in read.leaves:
        here = Y[where == int(leaf.name)]
        assert leaf.class_counts == tuple(float((here == label).sum()) for label in read.classes)
    data = skops_io.dumps(estimator)
    assert LeakKind.REPLAY in {leak.kind for leak in SKOPS.open(data, "model.skops").leaks}


@pytest.mark.parametrize(
    ("bootstrap", "quality"), [(True, Quality.WEIGHTED), (False, Quality.EXACT)]
)
def test_a_forest_says_whether_its_counts_are_of_people(bootstrap, quality):
    estimator = ensemble.RandomForestClassifier(3, bootstrap=bootstrap, random_state=0).fit(X, Y)
    model = read_skops(estimator)
    assert isinstance(model, Ensemble)
    assert model.sampling.resampled is bootstrap
    assert {part.quality for part in model.trees} == {quality}


def test_a_step_that_cannot_be_undone_is_named():
    estimator = make_pipeline(PCA(2), tree.DecisionTreeClassifier(random_state=0)).fit(X, Y)
    model = read_skops(estimator)
    assert "'pca' (PCA)" in model.notes[0]
    assert "do not refer to the columns of the table" in model.notes[0]


FOLLOWED = ("StandardScaler", "MaxAbsScaler", "RobustScaler", "SimpleImputer")
"""Steps before an estimator of which everything in a file is accounted for."""


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (preprocessing.StandardScaler(), LeakKind.AVERAGES),
        (preprocessing.MaxAbsScaler(), LeakKind.EXTREMES),
        (preprocessing.RobustScaler(), LeakKind.MEDIANS),
        (preprocessing.QuantileTransformer(n_quantiles=5), LeakKind.MEDIANS),
        (impute.SimpleImputer(strategy="median"), LeakKind.MEDIANS),
        (impute.KNNImputer(), LeakKind.RAW_RECORDS),
        (PCA(2), LeakKind.UNKNOWN),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_a_fitted_step_keeps_of_the_training_records_is_found(step, kind):
    estimator = make_pipeline(step, tree.DecisionTreeClassifier()).fit(X, Y)
    first, *rest = SKOPS.open(skops_io.dumps(estimator), "m").leaks
    assert first.kind == kind
    is_followed = type(step).__name__ in FOLLOWED
    assert any(leak.is_possible for leak in rest) is not is_followed


def test_a_table_in_the_archive_is_found():
    data = io.BytesIO(skops_io.dumps(tree.DecisionTreeClassifier().fit(X, Y)))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("people.csv", "age,flu\n30,yes\n")
    leaks = [(leak.kind, leak.where) for leak in SKOPS.open(data.getvalue(), "m").leaks]
    assert (LeakKind.UNKNOWN, "people.csv") in leaks


def test_estimates_for_each_record_that_was_not_drawn_are_found():
    estimator = ensemble.RandomForestClassifier(9, oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few trees: somebody was drawn for all of them
        data = skops_io.dumps(estimator.fit(X, Y))
    records = {leak.kind: leak.records for leak in SKOPS.open(data, "m").leaks}
    assert records[LeakKind.PER_RECORD] == len(X)


def test_a_scaler_publishes_the_extremes():
    estimator = make_pipeline(MinMaxScaler(), tree.DecisionTreeClassifier(random_state=0)).fit(X, Y)
    kinds = [leak.kind for leak in SKOPS.open(skops_io.dumps(estimator), "m").leaks]
    assert LeakKind.EXTREMES in kinds


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (ensemble.IsolationForest(n_estimators=2), "IsolationForest is not supported here; "),
        (tree.DecisionTreeClassifier(), "is not fitted"),
    ],
)
def test_what_is_no_fitted_tree_is_refused_by_its_name(estimator, said):
    if said != "is not fitted":
        estimator.fit(X, Y)
    with pytest.raises(TreeFormatError, match=said):
        read_skops(estimator)


def test_several_outputs_are_refused():
    estimator = tree.DecisionTreeRegressor().fit(X, np.column_stack([NUMBER, NUMBER]))
    with pytest.raises(TreeFormatError, match="2 outputs"):
        read_skops(estimator)


def test_an_array_of_objects_is_never_unpickled():
    archive = zipfile.ZipFile(io.BytesIO(skops_io.dumps(tree.DecisionTreeClassifier().fit(X, Y))))
    hostile, out = io.BytesIO(), io.BytesIO()
    np.save(hostile, np.array([print], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(out, "w") as copy:
        for name in archive.namelist():
            copy.writestr(name, hostile.getvalue() if name.endswith(".npy") else archive.read(name))
    with pytest.raises(TreeFormatError, match="not supported"):
        SKOPS.open(out.getvalue(), "model.skops")


def state(estimator):
    inner = estimator.tree_.__getstate__()
    kinds = inner["nodes"].dtype
    return {
        "estimator": type(estimator).__name__,
        "params": estimator.get_params(),
        "classes_": getattr(estimator, "classes_", np.array([])).tolist() or None,
        "n_features": int(estimator.n_features_in_),
        "nodes_dtype": [[name, str(kinds[name])] for name in kinds.names],
        "nodes": [[value.item() for value in row] for row in inner["nodes"]],
        "values": inner["values"].tolist(),
    }


@pytest.mark.parametrize("target", [Y, NUMBER], ids=["classes", "numbers"])
def test_the_state_as_json_predicts_what_scikit_learn_predicts(target):
    kind = tree.DecisionTreeRegressor if target is NUMBER else tree.DecisionTreeClassifier
    estimator = kind(max_depth=5, random_state=0).fit(GAPS, target)
    model = JSON.open(json.dumps(state(estimator)).encode(), "tree.json").model
    assert_same(model, estimator, records(model, X, missing=True))
    assert model.quality is Quality.EXACT


def test_without_labels_the_classes_are_numbered_and_it_is_said():
    whole = state(tree.DecisionTreeClassifier(max_depth=2).fit(X, Y)) | {"classes_": None}
    model = JSON.open(json.dumps(whole).encode(), "tree.json").model
    assert model.classes == ("0", "1", "2")
    assert "class labels are not in the file" in model.notes[0]


def printed_trees():
    for target in (Y, NUMBER):
        kind = tree.DecisionTreeRegressor if target is NUMBER else tree.DecisionTreeClassifier
        estimator = kind(max_depth=5, random_state=0).fit(GRID, target)
        text = tree.export_text(
            estimator, feature_names=NAMES, decimals=6, max_depth=20, show_weights=True
        )
        yield pytest.param(TEXT, text, estimator, id=f"text-{target.dtype.kind}")
        for special in (False, True):
            names = ["age", "pay", "b", "d"] if special else NAMES
            drawing = tree.export_graphviz(
                estimator,
                feature_names=names,
                class_names=True if target is NUMBER else list(estimator.classes_),
                precision=15,
                special_characters=special,
                filled=special,
                rounded=special,
                node_ids=not special,
            )
            yield pytest.param(DOT, drawing, estimator, id=f"dot-{target.dtype.kind}-{special}")


@pytest.mark.parametrize(("reader", "text", "estimator"), list(printed_trees()))
def test_a_tree_printed_with_all_digits_predicts_what_scikit_learn_predicts(
    reader, text, estimator
):
    assert reader.sniff(text.encode())
    model = reader.open(text.encode(), "tree.txt").model
    x = records(model, GRID, missing=False)
    used = {feature.name: i for i, feature in enumerate(model.features)}
    order = NAMES if 'a "b" <= c' in used or len(used) < 4 else ["age", "pay", "b", "d"]
    known = [used.get(name) for name in order]
    full = np.column_stack([np.zeros(len(x)) if i is None else x[:, i] for i in known])
    said = predict(model, {name: NumericColumn(x[:, i]) for name, i in used.items()})
    if not model.classes:
        np.testing.assert_allclose(said[:, 0], estimator.predict(full), atol=1e-6)
        return
    assert labels(model, said) == estimator.predict(full).tolist()
    shares = estimator.predict_proba(full)[
        :, [list(estimator.classes_).index(c) for c in model.classes]
    ]
    np.testing.assert_allclose(said, shares, rtol=1e-9, atol=1e-12)
    assert model.quality is Quality.EXACT


@pytest.mark.parametrize(("decimals", "rounding"), [(2, 0.005), (0, 0.5), (5, 5e-6)])
def test_how_far_printed_thresholds_may_be_off_is_read(decimals, rounding):
    model = tree.DecisionTreeClassifier(max_depth=3).fit(X, Y)
    text = tree.export_text(model, decimals=decimals)
    assert TEXT.open(text.encode(), "t.txt").model.rounding == pytest.approx(rounding)
    drawing = tree.export_graphviz(model, precision=decimals)
    assert DOT.open(drawing.encode(), "t.dot").model.rounding == pytest.approx(rounding)


@pytest.mark.parametrize("spacing", [1, 3])
@pytest.mark.parametrize("has_weights", [False, True])
def test_a_printed_tree_of_one_leaf_is_read(spacing, has_weights):
    model = tree.DecisionTreeClassifier(max_leaf_nodes=2, min_samples_split=500).fit(X, Y)
    text = tree.export_text(model, spacing=spacing, show_weights=has_weights).encode()
    assert TEXT.sniff(text)
    one = TEXT.open(text, "t.txt").model
    assert [node.score for node in one.nodes] == ["yes"]


def test_a_truncated_branch_is_a_leaf_without_a_label():
    estimator = tree.DecisionTreeClassifier(random_state=0).fit(X, Y)
    text = tree.export_text(estimator, max_depth=1)
    model = TEXT.open(text.encode(), "tree.txt").model
    hidden = [leaf for leaf in model.leaves if leaf.score is None]
    assert len(hidden) == text.count("truncated branch of depth")
    assert any("truncated" in note for note in model.notes)


def test_a_printed_tree_of_classes_and_of_numbers_is_refused():
    text = "|--- age <= 5.00\n|   |--- class: yes\n|--- age >  5.00\n|   |--- value: [1.00]\n"
    with pytest.raises(TreeFormatError, match="leaves with classes and leaves with values"):
        TEXT.open(text.encode(), "tree.txt")


def test_a_drawing_that_is_cut_off_has_leaves_without_a_label():
    estimator = tree.DecisionTreeClassifier(random_state=0).fit(X, Y)
    drawing = tree.export_graphviz(estimator, max_depth=1, class_names=list(estimator.classes_))
    model = DOT.open(drawing.encode(), "tree.dot").model
    assert sum(leaf.score is None for leaf in model.leaves) == drawing.count("(...)")


@pytest.mark.parametrize(
    ("settings", "weights", "quality"),
    [
        ({}, None, Quality.EXACT),
        ({"proportion": True}, None, Quality.NORMALISED),
        ({}, "balanced", Quality.WEIGHTED),
    ],
)
def test_the_numbers_of_a_drawing_are_understood(settings, weights, quality):
    estimator = tree.DecisionTreeClassifier(max_depth=3, class_weight=weights, random_state=0).fit(
        X, Y
    )
    drawing = tree.export_graphviz(estimator, class_names=list(estimator.classes_), **settings)
    assert DOT.open(drawing.encode(), "tree.dot").model.quality is quality


QUOTED = st.text(alphabet='ab"\\:, é', max_size=3)


@given(st.lists(QUOTED, max_size=6), st.text(alphabet='ab"\\:, é', max_size=30))
def test_a_file_is_named_where_its_name_stands_between_quotes(files, schema):
    data = schema.encode("utf-8")
    found = {name for name in files if '"' not in name and f'"{name}"'.encode() in data}
    assert set(_named(files, data)) == found

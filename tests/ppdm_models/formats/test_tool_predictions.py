"""A model that was read predicts as the tool that made it, also at the thresholds and for missing values."""

import numpy as np
import pytest

from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Link, trees_of
from treewarden.ppdm_models.tree.predicate import NumericTest, atoms

ROWS = 12_000


def training(seed=0, *, missing=True, categories=0):
    """Return 400 records of four numbers (the first ones category codes) and three classes."""
    draw = np.random.default_rng(seed)
    records = draw.normal(size=(400, 4)).round(2)
    records[:, :categories] = draw.integers(0, 5, size=(400, categories))
    classes = (records[:, 0] > 0).astype(int) + (records[:, 2] > 0.4)
    if missing:
        records[draw.random(records.shape) < 0.05] = np.nan
    return records, classes


def at_the_thresholds(model, kind, *, missing=True, categories=()):
    """Return records whose values are the model's thresholds, or the next numbers to them, or missing."""
    draw = np.random.default_rng(1)
    ends = {
        end
        for tree in trees_of(model)
        for node in tree.nodes
        for atom in atoms(node.test)
        if isinstance(atom, NumericTest)
        for end in (atom.low, atom.high)
        if np.isfinite(end)
    }
    exact = np.array(sorted(ends), dtype=kind)
    with np.errstate(over="ignore"):  # CatBoost splits off missing values at the largest number
        pool = [exact, np.nextafter(exact, kind(np.inf)), np.nextafter(exact, kind(-np.inf))]
    values = np.concatenate([*pool, [np.nan] if missing else []]).astype(kind)
    records = draw.choice(values, size=(ROWS, 4))
    for place in categories:
        records[:, place] = draw.choice([0, 1, 2, 3, 4, 9, *([np.nan] if missing else [])], ROWS)
    return records


def columns(model, names, records):
    """Return records as the columns that a model reads."""
    kinds = {feature.name: feature.numeric for feature in model.features}
    found = {}
    for place, name in enumerate(names):
        values = records[:, place].astype(float)
        if kinds.get(name, True):
            found[name] = NumericColumn(values)
        else:
            codes = np.where(np.isnan(values), -1, np.nan_to_num(values)).astype(np.int64)
            found[name] = CategoricalColumn(codes=codes, categories=tuple(map(str, range(10))))
    return found


def read(name, data):
    assert formats()[name].sniff(data)
    return formats()[name].open(data, name).model


@pytest.mark.parametrize("policy", ["SymmetricTree", "Depthwise", "Lossguide"])
@pytest.mark.parametrize("loss", ["Logloss", "MultiClass", "MultiClassOneVsAll", "RMSE", "Poisson"])
@pytest.mark.parametrize("nan_mode", ["Min", "Max"])
def test_catboost(policy, loss, nan_mode, tmp_path):
    catboost = pytest.importorskip("catboost", reason="compares with CatBoost itself")
    records, classes = training()
    target = classes > 0 if loss == "Logloss" else classes
    settings = {"loss_function": loss, "grow_policy": policy, "nan_mode": nan_mode}
    theirs = catboost.CatBoost(
        {**settings, "iterations": 6, "depth": 3, "allow_writing_files": False, "verbose": False}
    ).fit(records, target)
    theirs.save_model(str(tmp_path / "model.json"), format="json")
    ours = read("catboost_json", (tmp_path / "model.json").read_bytes())
    rows = at_the_thresholds(ours, np.float32)
    kind = {"RMSE": "RawFormulaVal", "Poisson": "Exponent"}.get(loss, "Probability")
    expected = theirs.predict(rows, prediction_type=kind).reshape(ROWS, -1)
    scores = predict(ours, columns(ours, [f"feature {place}" for place in range(4)], rows))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


def test_catboost_with_categories(tmp_path):
    catboost = pytest.importorskip("catboost", reason="compares with CatBoost itself")
    draw = np.random.default_rng(0)
    words = draw.choice(["a", "b", "c", "d"], size=(400, 3))
    target = (words[:, 0] == "a") ^ (words[:, 1] == "c")
    theirs = catboost.CatBoostClassifier(
        iterations=8, depth=3, one_hot_max_size=9, allow_writing_files=False, verbose=False
    ).fit(words, target, cat_features=[0, 1, 2])
    pool = catboost.Pool(words, cat_features=[0, 1, 2])
    theirs.save_model(str(tmp_path / "model.json"), format="json", pool=pool)
    ours = read("catboost_json", (tmp_path / "model.json").read_bytes())
    rows = draw.choice(["a", "b", "c", "d", "new"], size=(ROWS, 3))
    known = ("a", "b", "c", "d", "new")
    table = {
        f"feature {place}": CategoricalColumn(
            codes=np.array([known.index(word) for word in rows[:, place]]), categories=known
        )
        for place in range(3)
    }
    np.testing.assert_allclose(predict(ours, table), theirs.predict_proba(rows), atol=1e-12)


def of_treelite(model, single, *, missing=True, categories=()):
    """Compare treelite's own predictions with ours; return the largest difference."""
    treelite = pytest.importorskip("treelite", reason="compares with treelite itself")
    ours = read("treelite_json", model.dump_as_json(pretty_print=False).encode())
    kind = np.float32 if single else np.float64
    rows = at_the_thresholds(ours, kind, missing=missing, categories=categories)
    theirs = treelite.gtil.predict(model, rows).reshape(ROWS, -1)
    scores = predict(ours, columns(ours, [f"f{place}" for place in range(4)], rows))
    if theirs.shape[1] == 1 and ours.classes:
        theirs = np.hstack([1 - theirs, theirs])
    return np.abs(theirs - scores).max()


@pytest.mark.parametrize(
    "kind", ["RandomForestClassifier", "ExtraTreesClassifier", "GradientBoostingClassifier"]
)
@pytest.mark.parametrize("several", [False, True])
def test_treelite_from_scikit_learn(kind, several):
    treelite = pytest.importorskip("treelite", reason="compares with treelite itself")
    ensemble = pytest.importorskip("sklearn.ensemble", reason="grows the trees")
    records, classes = training(missing=False)
    grown = getattr(ensemble, kind)(n_estimators=4, max_depth=4, random_state=0)
    grown.fit(records, classes if several else classes > 0)
    assert of_treelite(treelite.sklearn.import_model(grown), single=False) < 1e-6


@pytest.mark.parametrize(
    "objective", ["binary:logistic", "multi:softprob", "reg:squarederror", "count:poisson"]
)
def test_treelite_from_xgboost(objective):
    treelite = pytest.importorskip("treelite", reason="compares with treelite itself")
    xgboost = pytest.importorskip("xgboost", reason="grows the trees")
    records, classes = training()
    settings = {"objective": objective, "max_depth": 3}
    settings |= {"num_class": 3} if objective.startswith("multi") else {}
    target = classes > 0 if objective.startswith("binary") else classes
    booster = xgboost.train(settings, xgboost.DMatrix(records, target), 4)
    assert of_treelite(treelite.frontend.from_xgboost(booster), single=True) < 1e-6


def test_treelite_from_lightgbm_with_categories():
    treelite = pytest.importorskip("treelite", reason="compares with treelite itself")
    lightgbm = pytest.importorskip("lightgbm", reason="grows the trees")
    records, classes = training(missing=False, categories=2)
    settings = {"objective": "binary", "num_leaves": 8, "sigmoid": 0.7, "verbose": -1}
    settings |= {"max_cat_to_onehot": 1, "min_data_in_leaf": 5}
    data = lightgbm.Dataset(records, classes > 0, categorical_feature=[0, 1])
    model = treelite.frontend.from_lightgbm(lightgbm.train(settings, data, 4))
    assert of_treelite(model, single=False, categories=(0, 1)) < 1e-6


def onnx_outputs(model, rows):
    runtime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString())
    return session.run(None, {session.get_inputs()[0].name: rows})


@pytest.mark.parametrize(
    "kind",
    [
        "tree.DecisionTreeClassifier",
        "ensemble.RandomForestClassifier",
        "ensemble.GradientBoostingClassifier",
    ],
)
@pytest.mark.parametrize("names", [("no", "yes"), (3, 5, 8)])
def test_onnx_classifiers(kind, names):
    converter = pytest.importorskip("skl2onnx", reason="makes the model")
    module, _, name = kind.partition(".")
    grower = getattr(pytest.importorskip(f"sklearn.{module}", reason="grows the trees"), name)
    records, classes = training(missing=False)
    records = records.astype(np.float32)
    target = np.array(names)[np.minimum(classes, len(names) - 1)]
    model = converter.to_onnx(
        grower(max_depth=4, random_state=0).fit(records, target),
        records[:1],
        options={"zipmap": False},
    )
    ours = read("onnx_ml", model.SerializeToString())
    rows = at_the_thresholds(ours, np.float32)
    said, shares = onnx_outputs(model, rows)
    scores = predict(ours, columns(ours, ["f0", "f1", "f2", "f3"], rows))
    np.testing.assert_allclose(scores, shares, rtol=0, atol=1e-6)
    clear = np.diff(np.sort(shares, axis=1)[:, -2:], axis=1)[:, 0] > 1e-6
    assert clear.mean() > 0.5
    differ = (
        np.array(labels(ours, scores))[clear] != np.array([str(label) for label in said])[clear]
    )
    assert differ.sum() == 0


@pytest.mark.parametrize("kind", ["DecisionTreeRegressor", "ExtraTreeRegressor"])
def test_onnx_regressors(kind):
    converter = pytest.importorskip("skl2onnx", reason="makes the model")
    grower = getattr(pytest.importorskip("sklearn.tree", reason="grows the tree"), kind)
    records, classes = training(missing=False)
    records = records.astype(np.float32)
    model = converter.to_onnx(grower(max_depth=5).fit(records, classes), records[:1])
    ours = read("onnx_ml", model.SerializeToString())
    rows = at_the_thresholds(ours, np.float32)
    scores = predict(ours, columns(ours, ["f0", "f1", "f2", "f3"], rows))
    assert (scores.astype(np.float32) != onnx_outputs(model, rows)[0]).sum() == 0


def stump(mode, tracks, aggregate="SUM", post="NONE"):
    """Return an ONNX model of two trees that ask one question each."""
    onnx = pytest.importorskip("onnx", reason="makes the model")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[0, 0, 0, 1, 1, 1],
        nodes_nodeids=[0, 1, 2, 0, 1, 2],
        nodes_featureids=[0, 0, 0, 1, 0, 0],
        nodes_modes=[mode, "LEAF", "LEAF"] * 2,
        nodes_values=[0.1, 0.0, 0.0, -2.5, 0.0, 0.0],
        nodes_truenodeids=[1, 0, 0, 1, 0, 0],
        nodes_falsenodeids=[2, 0, 0, 2, 0, 0],
        nodes_missing_value_tracks_true=[tracks, 0, 0, 1 - tracks, 0, 0],
        target_treeids=[0, 0, 1, 1],
        target_nodeids=[1, 2, 1, 2],
        target_ids=[0, 0, 0, 0],
        target_weights=[1.0, 2.0, 4.0, 8.0],
        base_values=[0.0 if aggregate == "MAX" else 0.5],
        aggregate_function=aggregate,
        post_transform=post,
    )
    graph = helper.make_graph(
        [node],
        "stump",
        [helper.make_tensor_value_info("X", floats, [None, 4])],
        [helper.make_tensor_value_info("Y", floats, [None, 1])],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


MODES = [f"BRANCH_{name}" for name in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tracks", [0, 1])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MAX"])
def test_each_way_that_onnx_compares_and_combines(mode, tracks, aggregate):
    model = stump(mode, tracks, aggregate)
    ours = read("onnx_ml", model.SerializeToString())
    rows = at_the_thresholds(ours, np.float32)
    scores = predict(ours, columns(ours, ["f0", "f1", "f2", "f3"], rows))
    assert (scores.astype(np.float32) != onnx_outputs(model, rows)[0]).sum() == 0


def test_an_unknown_transformation_of_onnx_is_not_predicted():
    ours = read("onnx_ml", stump("BRANCH_LT", 0, post="PROBIT").SerializeToString())
    assert ours.link is Link.UNKNOWN


def newer(tracks):
    """Return an ONNX model of the operator of version 5: two roots, a set, and leaves shared by no one."""
    onnx = pytest.importorskip("onnx", reason="makes the model")
    helper, floats = onnx.helper, onnx.TensorProto.FLOAT
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[0, 2],
        nodes_featureids=[0, 1, 2],
        nodes_modes=helper.make_tensor("modes", onnx.TensorProto.UINT8, (3,), [0, 3, 6]),
        nodes_splits=helper.make_tensor("splits", floats, (3,), [0.1, -2.5, 0.0]),
        nodes_truenodeids=[1, 0, 3],
        nodes_trueleafs=[0, 1, 1],
        nodes_falsenodeids=[2, 1, 4],
        nodes_falseleafs=[1, 1, 1],
        nodes_missing_value_tracks_true=[tracks, 1 - tracks, 0],
        leaf_targetids=[0] * 5,
        leaf_weights=helper.make_tensor("weights", floats, (5,), [1.0, 2.0, 4.0, 8.0, 16.0]),
        membership_values=helper.make_tensor("set", floats, (3,), [1.0, 3.0, np.nan]),
    )
    graph = helper.make_graph(
        [node],
        "newer",
        [helper.make_tensor_value_info("X", floats, [None, 4])],
        [helper.make_tensor_value_info("Y", floats, [None, 1])],
    )
    opsets = [helper.make_opsetid("ai.onnx.ml", 5), helper.make_opsetid("", 21)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("tracks", [0, 1])
def test_the_newer_operator_of_onnx(tracks):
    model = newer(tracks)
    ours = read("onnx_ml", model.SerializeToString())
    rows = at_the_thresholds(ours, np.float32)
    scores = predict(ours, columns(ours, ["f0", "f1", "f2", "f3"], rows))
    assert (scores.astype(np.float32) != onnx_outputs(model, rows)[0]).sum() == 0

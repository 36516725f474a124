"""LightGBM files say the same to us as to LightGBM: the same leaves, the same scores, the same people."""

import json

import numpy as np
import pyarrow as pa
import pytest

from tests.ppdm_models.formats.boosted import changed, columns_of, essence, leaf_numbers, records
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.lightgbm._model import ZERO, zero_is_missing
from treewarden.ppdm_models.formats.lightgbm.lightgbm_dump import FORMAT as DUMP
from treewarden.ppdm_models.formats.lightgbm.lightgbm_text import FORMAT as TEXT
from treewarden.ppdm_models.tables.arrow_column import ArrowColumn
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Link
from treewarden.ppdm_models.tree.predicate import answer
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality, Task

lightgbm = pytest.importorskip("lightgbm", reason="compares with LightGBM itself")

FOREST = {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
SETTINGS = {
    "regression": {"objective": "regression"},
    "zero_as_missing": {"objective": "regression", "zero_as_missing": True},
    "no_missing": {"objective": "regression", "use_missing": False},
    "binary": {"objective": "binary"},
    "steep_sigmoid": {"objective": "binary", "sigmoid": 2.0},
    "multiclass": {"objective": "multiclass", "num_class": 3},
    "one_versus_all": {"objective": "multiclassova", "num_class": 3, "zero_as_missing": True},
    "poisson": {"objective": "poisson"},
    "cross_entropy": {"objective": "cross_entropy"},
    "dart": {"objective": "regression", "boosting": "dart"},
    "forest": {"objective": "binary", **FOREST},
    "forest_of_three": {"objective": "multiclass", "num_class": 3, **FOREST},
}
EVERYTHING = frozenset(LeakKind)


def table_of(rows=900):
    draw = np.random.default_rng(3)
    table = draw.normal(size=(rows, 3))
    table[draw.random(table.shape) < 0.15] = np.nan
    table[draw.random(table.shape) < 0.15] = 0.0
    score = np.nan_to_num(table[:, 0]) + np.where(np.isnan(table[:, 1]), 1, table[:, 1] > 0)
    return table, score + (table[:, 2] == 0) + draw.normal(0, 0.3, rows)


def labels_of(score, objective):
    if objective.startswith("multi"):
        return np.digitize(score, [0, 1.5])
    if objective in ("binary", "cross_entropy"):
        return score > 1
    return np.abs(score).round() if objective == "poisson" else score


def trained(settings, table=None, label=None, rounds=4, **options):
    if table is None:
        table, score = table_of()
        label = np.asarray(labels_of(score, settings["objective"]), float)
    quiet = {"verbose": -1, "num_threads": 1, "num_leaves": 15, "min_data_in_leaf": 8}
    return lightgbm.train(
        {**quiet, **settings}, lightgbm.Dataset(table, label=label, **options), rounds
    )


def text_of(booster):
    return booster.model_to_string().encode()


def dump_of(booster):
    return json.dumps(booster.dump_model(), indent=1).encode()


def both(booster):
    return (TEXT, text_of(booster)), (DUMP, dump_of(booster))


def with_categories(settings=None):
    draw = np.random.default_rng(5)
    table = np.column_stack([draw.integers(0, 40, 900), draw.normal(size=900)])
    table[draw.random(table.shape) < 0.1] = np.nan
    label = np.isin(table[:, 0], [1, 4, 6, 33]) * 2 + np.nan_to_num(table[:, 1])
    settings = {"objective": "regression", "min_data_per_group": 5, "max_cat_to_onehot": 1}
    return trained(settings, table, label, categorical_feature=[0]), table


@pytest.mark.parametrize("name", SETTINGS)
def test_records_come_to_the_leaves_and_scores_of_lightgbm(name):
    booster = trained(SETTINGS[name])
    for form, raw in both(booster):
        model = form.open(raw, "m").model
        table = records(model, np.float64, np.random.default_rng(0))
        columns = columns_of(model, table)
        leaves = booster.predict(table, pred_leaf=True).reshape(len(table), -1)
        assert (leaf_numbers(model, columns) == leaves).all()
        theirs = booster.predict(table).reshape(len(table), -1)
        ours = predict(model, columns)[:, -theirs.shape[1] :]
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def test_sets_of_categories_are_followed_as_lightgbm_does():
    booster, table = with_categories()
    for form, raw in both(booster):
        model = form.open(raw, "m").model
        found = leaf_numbers(model, columns_of(model, table))
        assert (found == booster.predict(table, pred_leaf=True)).all()


def test_categories_without_names_are_whole_numbers_however_a_table_writes_them():
    booster, table = with_categories()
    texts = [
        "" if np.isnan(code) else f"{code:.1f}" for code in table[:, 0]
    ]  # 3.0, as pandas writes
    for form, raw in both(booster):
        model = form.open(raw, "m").model
        columns = columns_of(model, table)
        codes = ArrowColumn("m", "c", pa.array(texts)).categories(model.features[0].values)
        assert not any("." in name for name in codes.categories)
        columns[model.features[0].name] = codes
        assert (leaf_numbers(model, columns) == booster.predict(table, pred_leaf=True)).all()


def test_names_of_categories_go_by_code():
    pandas = pytest.importorskip("pandas", reason="the names are written for data frames")
    frame = pandas.DataFrame(
        {
            "age": np.arange(120.0),
            "town": pandas.Categorical(["Ulm", "Bonn", "Aue"] * 40),
            "zone": pandas.Categorical([7, 9] * 60),
        }
    )
    booster = trained({"objective": "regression"}, frame, np.arange(120.0) % 3)
    for form, raw in both(booster):
        values = {feature.name: feature.values for feature in form.open(raw, "m").model.features}
        assert values == {"age": (), "town": ("Aue", "Bonn", "Ulm"), "zone": ("7", "9")}
        kinds = [leak.kind for leak in form.open(raw, "m").leaks]
        codes = 2 if form is TEXT else 0
        assert kinds.count(LeakKind.CATEGORIES) == 2 + codes, "names, and the codes that were seen"


@pytest.mark.parametrize("default_left", [True, False])
@pytest.mark.parametrize("threshold", [-5.0, -ZERO, -1e-36, 0.0, 1e-36, ZERO, 5.0, np.inf])
def test_where_zero_is_missing_each_number_goes_one_way(threshold, default_left):
    near = [ZERO, np.nextafter(ZERO, 1), 5.0, np.nextafter(5.0, 9), 1.0, np.inf]
    numbers = np.array([0.0, *near, *(-number for number in near)])
    left, right, missing_left = zero_is_missing("x", threshold, default_left)
    columns = {"x": NumericColumn(numbers)}
    goes_left = answer(left, columns, len(numbers)).true
    is_zero = np.abs(numbers) <= ZERO
    assert missing_left is default_left
    assert (goes_left == np.where(is_zero, default_left, numbers <= threshold)).all()
    assert (answer(right, columns, len(numbers)).true == ~goes_left).all()


def test_counts_are_the_records_that_reached_each_leaf():
    table, _ = table_of()
    for form, raw in both(trained(SETTINGS["binary"])):
        model = form.open(raw, "m").model
        numbers = leaf_numbers(model, columns_of(model, table))
        for position, tree in enumerate(model.trees):
            assert tree.quality is Quality.EXACT
            found = np.unique(numbers[:, position], return_counts=True)
            counts = {int(leaf.name.split()[1]): leaf.records for leaf in tree.leaves}
            assert dict(zip(*(part.tolist() for part in found), strict=True)) == counts


@pytest.mark.parametrize(
    ("settings", "resampled"),
    [
        ({}, False),
        ({"bagging_freq": 1, "bagging_fraction": 0.5}, True),
        ({"bagging_freq": 1}, False),
        ({"data_sample_strategy": "goss"}, True),
        (FOREST, True),
    ],
)
def test_parameters_say_whether_trees_saw_samples(settings, resampled):
    booster = trained({"objective": "regression", **settings})
    assert TEXT.open(text_of(booster), "m").model.sampling.resampled is resampled


def test_a_dump_alone_does_not_say_whether_trees_saw_samples():
    assert DUMP.open(dump_of(trained(SETTINGS["binary"])), "m").model.sampling.resampled is None


def test_a_tree_of_one_leaf_is_read_and_predicts():
    booster = trained({"objective": "binary", "min_data_in_leaf": 800}, rounds=1)
    table, _ = table_of()
    for form, raw in both(booster):
        model = form.open(raw, "m").model
        ours = predict(model, columns_of(model, table))[:, 1]
        np.testing.assert_allclose(ours, booster.predict(table))
        assert (model.task, model.classes) == (Task.CLASSIFICATION, ("0", "1"))


def test_linear_trees_are_read_but_not_evaluated():
    table = np.random.default_rng(0).normal(size=(400, 2))
    settings = {"objective": "regression", "linear_tree": True}
    booster = trained(settings, table, table[:, 0] * (table[:, 1] > 0), rounds=3)
    for form, raw in both(booster):
        model = form.open(raw, "m").model
        assert (
            leaf_numbers(model, columns_of(model, table)) == booster.predict(table, pred_leaf=True)
        ).all()
        assert any("linear model in each leaf" in note for note in model.notes)
        with pytest.raises(ValueError, match="does not say how"):
            predict(model, columns_of(model, table))


def test_a_custom_objective_is_not_guessed_from_a_dump():
    dump = json.loads(dump_of(trained(SETTINGS["binary"])))
    for objective in ("binary sqrt_of_mine", "mine"):
        dump["objective"] = objective
        link = DUMP.open(json.dumps(dump).encode(), "m").model.link
        assert link is (Link.UNKNOWN if objective == "mine" else Link.LOGISTIC)
    assert noted_of(dump) == [
        "m: the objective is 'mine', so the step from scores to predictions is unknown"
    ]
    del dump["objective"]
    assert DUMP.open(json.dumps(dump).encode(), "m").model.link is Link.UNKNOWN
    assert noted_of(dump) == [
        "m: the objective is not in the file, so the step from scores to predictions is unknown"
    ]


def noted_of(dump):
    notes = DUMP.open(json.dumps(dump).encode(), "m").model.notes
    return [note for note in notes if "the objective is" in note]


def test_old_dumps_without_infos_on_features_are_read():
    dump = json.loads(dump_of(with_categories()[0]))
    new = DUMP.open(json.dumps(dump).encode(), "m").model
    for key in ("feature_infos", "pandas_categorical", "average_output", "objective"):
        del dump[key]
    assert essence(DUMP.open(json.dumps(dump).encode(), "m").model) == essence(new)


@pytest.mark.parametrize("name", ["regression", "zero_as_missing", "multiclass", "forest"])
def test_a_changed_model_loads_in_lightgbm_and_predicts_what_we_say(name):
    raw = text_of(trained(SETTINGS[name]))
    after = changed(TEXT.open(raw, "m").model)
    written = TEXT.open(raw, "m").rewrite(after)
    assert essence(TEXT.open(written, "m").model) == essence(after)
    table, _ = table_of()
    theirs = lightgbm.Booster(model_str=written.decode()).predict(table).reshape(len(table), -1)
    ours = predict(after, columns_of(after, table))
    np.testing.assert_allclose(ours[:, -theirs.shape[1] :], theirs, rtol=1e-9, atol=1e-9)


def test_pruning_keeps_the_categories_of_the_other_nodes():
    booster, table = with_categories()
    raw = text_of(booster)
    after = changed(TEXT.open(raw, "m").model)
    theirs = lightgbm.Booster(model_str=TEXT.open(raw, "m").rewrite(after).decode()).predict(table)
    np.testing.assert_allclose(predict(after, columns_of(after, table))[:, 0], theirs)


def test_a_changed_dump_says_what_was_changed_and_nothing_else():
    raw = dump_of(with_categories()[0])
    model = DUMP.open(raw, "m").model
    after = changed(model)
    assert essence(DUMP.open(DUMP.open(raw, "m").rewrite(after), "m").model) == essence(after)
    assert json.loads(DUMP.open(raw, "m").rewrite(model)) == json.loads(raw)


def test_an_unchanged_text_is_the_same_bytes():
    raw = text_of(with_categories()[0])
    assert TEXT.open(raw, "m").rewrite(TEXT.open(raw, "m").model) == raw


def test_a_withheld_count_takes_its_weight_along():
    raw = text_of(trained(SETTINGS["regression"]))
    written = TEXT.open(raw, "m").rewrite(changed(TEXT.open(raw, "m").model)).decode()
    hidden = {
        key: [
            [entry == "0" for entry in line.partition("=")[2].split(" ")]
            for line in written.split("\n")
            if line.startswith(f"{key}=")
        ]
        for key in ("leaf_count", "leaf_weight", "internal_count", "internal_weight")
    }
    assert hidden["leaf_count"] == hidden["leaf_weight"]
    assert hidden["internal_count"] == hidden["internal_weight"]
    assert [sum(tree) for tree in hidden["leaf_count"]] == [1, 0, 2, 2]


def test_what_can_go_goes_and_lightgbm_still_loads_the_rest():
    raw = text_of(trained({**SETTINGS["regression"], "machines": ""}))
    raw = raw.replace(b"[data: ]", b"[data: /home/jane/patients.csv]")
    kinds = {leak.kind for leak in TEXT.open(raw, "m").leaks}
    assert kinds == {LeakKind.EXTREMES, LeakKind.PATH, LeakKind.REPLAY}
    clean = TEXT.open(raw, "m").without(EVERYTHING)
    assert TEXT.open(clean, "m").leaks == ()
    assert b"jane" not in clean
    table, _ = table_of()
    before, after = (lightgbm.Booster(model_str=text.decode()) for text in (raw, clean))
    assert (before.predict(table) == after.predict(table)).all()
    assert essence(TEXT.open(clean, "m").model) == essence(TEXT.open(raw, "m").model)


def test_only_the_kinds_asked_for_go():
    raw = text_of(trained(SETTINGS["regression"]))
    clean = TEXT.open(raw, "m").without(frozenset({LeakKind.EXTREMES}))
    assert {leak.kind for leak in TEXT.open(clean, "m").leaks} == {LeakKind.REPLAY}


def test_extremes_go_from_a_dump_and_categories_stay():
    raw = dump_of(with_categories()[0])
    assert {leak.kind for leak in DUMP.open(raw, "m").leaks} == {LeakKind.EXTREMES}
    clean = DUMP.open(raw, "m").without(EVERYTHING)
    assert DUMP.open(clean, "m").leaks == ()
    assert DUMP.open(clean, "m").model == DUMP.open(raw, "m").model


def test_a_place_in_the_text_is_a_line():
    raw = text_of(trained(SETTINGS["regression"]))
    lines = raw.decode().split("\n")
    for leak in TEXT.open(raw, "m").leaks:
        line = lines[int(leak.where.removeprefix("line ")) - 1]
        assert line.startswith(("feature_infos=", "[seed"))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("num_leaves", "9" * 5000, "its num_leaves is"),
        ("left_child", "7 7 7 7", "entries, not"),
        ("split_feature", "9" * 5000, "not a number"),
        ("threshold", "nan", "entries, not|not finite"),
        ("cat_threshold", "4294967296", "32-bit words|cat_boundaries must rise"),
        ("cat_boundaries", "0 0 1", "cat_boundaries must rise"),
    ],
)
def test_hostile_numbers_are_refused(key, value, problem):
    lines = text_of(with_categories()[0]).decode().split("\n")
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{key}="))
    lines[at] = f"{key}={value}"
    with pytest.raises(TreeFormatError, match=problem):
        TEXT.open("\n".join(lines).encode(), "m")


@pytest.mark.parametrize(("objective", "is_told"), [("binary", True), ("quantile", False)])
def test_inner_nodes_have_no_number_where_leaves_get_theirs_anew(objective, is_told):
    table, score = table_of()
    raw = trained({"objective": objective}, table, score > 1 if is_told else score)
    model = TEXT.open(raw.model_to_string().encode(), "m.txt").model
    assert {tree.root.score is not None for tree in model.trees} == {is_told}

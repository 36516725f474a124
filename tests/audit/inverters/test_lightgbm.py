"""What a LightGBM model's leaves say of the labels in them is true, and exact where nothing was done to prevent it."""

import json
import re

import numpy as np
import pytest

from tests.audit.inverters.grown import check_exact, check_sound, found, reason, table_of
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.formats.lightgbm.lightgbm_dump import FORMAT as DUMP
from treewarden.ppdm_models.formats.lightgbm.lightgbm_text import FORMAT as TEXT

lightgbm = pytest.importorskip("lightgbm", reason="grows the models that are inverted")

SMALL = {"num_leaves": 6, "min_data_in_leaf": 3, "min_data_in_bin": 1, "num_threads": 1}
THREE = {"objective": "multiclass", "num_class": 3}
LATER_TREES = re.compile(r"\nparameters:.*?end of parameters\n", re.DOTALL)


def grown(table, labels, rounds=6, dataset=None, **settings):
    settings = {"objective": "binary", **SMALL, "verbose": -1, **settings}
    data = lightgbm.Dataset(table, label=labels, params={"verbose": -1}, **(dataset or {}))
    return lightgbm.train(settings, data, rounds)


def read(text):
    return TEXT.open(text.encode(), "m.txt").model


def model_of(*arguments, **settings):
    return read(grown(*arguments, **settings).model_to_string())


def test_four_records_by_hand():
    table, labels = np.array([[0.0], [0], [1], [1]]), np.array([1.0, 0, 1, 1])
    model = model_of(
        table, labels, 2, min_data_in_leaf=1, min_sum_hessian_in_leaf=0, min_data_in_bin=1
    )
    first, second = (tree.values[1:] for tree in model.growth.trees)
    assert first == pytest.approx([0.9652789553, 1.2319456220])
    assert second == pytest.approx([-0.1122321455, 0.1291724399])
    sums = check_exact(model, table, labels)
    assert sums.low.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_those_of_random_tables(seed):
    table, labels = table_of(seed, rows=30 + 17 * seed)
    eta, ridge = ((0.1, 0), (0.0873645123, 2.718281828), (1.0, 0.5))[seed % 3]
    check_exact(model_of(table, labels, learning_rate=eta, lambda_l2=ridge), table, labels)


@pytest.mark.parametrize(
    "settings",
    [
        {"boost_from_average": False},
        {"sigmoid": 2.5},
        {"extra_trees": True, "feature_fraction": 0.7},
        {"num_iterations": 1},
        {"lambda_l2": 10.0, "max_bin": 7},
    ],
    ids=str,
)
def test_settings_that_the_file_says_are_taken_into_account(settings):
    table, labels = table_of(1)
    check_exact(model_of(table, labels, **settings), table, labels)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("settings", [{"lambda_l1": 1.5}, {"max_delta_step": 0.6}], ids=str)
def test_what_leaves_do_not_say_is_left_open(settings, seed):
    table, labels = table_of(seed)
    sums = check_sound(model_of(table, labels, **settings), table, labels)
    assert (sums.low == sums.high).any()
    assert (sums.low < sums.high).any()


@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
@pytest.mark.parametrize("seed", range(4))
def test_several_classes_are_told_apart(objective, seed):
    table, labels = table_of(seed, classes=4)
    settings = {"objective": objective, "num_class": 4}
    sums = check_exact(model_of(table, labels, **settings), table, labels)
    assert set(sums.output.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("one_hot", [1, 4, 100])
def test_splits_on_categories_are_regularised_more(one_hot):
    draw = np.random.default_rng(4)
    table = np.column_stack([draw.integers(0, 8, 300), draw.integers(0, 3, 300)]).astype(float)
    labels = (draw.random(300) < 0.2 + 0.07 * (table[:, 0] * 5 % 8)).astype(float)
    settings = {"max_cat_to_onehot": one_hot, "min_data_per_group": 1, "cat_smooth": 1}
    model = model_of(table, labels, dataset={"categorical_feature": [0, 1]}, **settings)
    sums = check_sound(model, table, labels)
    assert (sums.low == sums.high).mean() > 0.9


def test_missing_values_change_nothing():
    table, labels = table_of(5, rows=120)
    table[np.random.default_rng(1).random(table.shape) < 0.2] = np.nan
    check_exact(model_of(table, labels), table, labels)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"boosting": "dart"}, "boosting"),
        ({"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1}, "boosting"),
        ({"data_sample_strategy": "goss", "top_rate": 0.2}, "goss"),
        ({"is_unbalance": True}, "is_unbalance"),
        ({"scale_pos_weight": 3.0}, "scale_pos_weight"),
        ({"use_quantized_grad": True}, "use_quantized_grad"),
        ({"path_smooth": 5.0}, "path_smooth"),
        ({"linear_tree": True}, "linear"),
        ({"monotone_constraints": [1, 0, 0]}, "rise or fall"),
        ({"objective": "cross_entropy"}, "cross_entropy"),
        ({"objective": "regression"}, "regression"),
    ],
    ids=str,
)
def test_what_changes_leaf_values_is_refused_by_name(settings, why):
    table, labels = table_of(2, rows=200)
    assert why in reason(model_of(table, labels, **settings), table)


def plain_loss(scores, data):
    shares = 1 / (1 + np.exp(-scores))
    return 2 * (shares - data.get_label()), 2 * shares * (1 - shares)


def test_a_loss_of_ones_own_is_refused():
    table, labels = table_of(2)
    assert "custom" in reason(model_of(table, labels, objective=plain_loss), table)


@pytest.mark.parametrize("settings", [{}, {"lambda_l2": 3.5}, THREE, {"sigmoid": 0.7}], ids=str)
def test_withheld_settings_follow_from_the_leaves(settings):
    table, labels = table_of(3, rows=150, classes=settings.get("num_class", 2))
    text = LATER_TREES.sub("\n", grown(table, labels, **settings).model_to_string())
    assert "lambda_l2" not in text
    sums = check_exact(read(text), table, labels)
    assert sums.facts["lambda_l2"].value == pytest.approx(settings.get("lambda_l2", 0), abs=1e-3)


@pytest.mark.parametrize(
    "settings",
    [
        {"boosting": "dart", "drop_rate": 0.5},
        {"boosting": "rf", "bagging_fraction": 0.5, "bagging_freq": 1},
        {"data_sample_strategy": "goss"},
        {"bagging_fraction": 0.6, "bagging_freq": 1},
        {"scale_pos_weight": 3.0},
        {"use_quantized_grad": True},
        {"path_smooth": 5.0},
        {"lambda_l1": 1.5},
        {"max_delta_step": 0.6},
        {"boost_from_average": False},
    ],
    ids=str,
)
def test_withheld_settings_that_matter_end_without_sums(settings):
    table, labels = table_of(2, rows=200)
    text = grown(table, labels, 20, **settings).model_to_string()
    assert reason(read(LATER_TREES.sub("\n", text)), table)


@pytest.mark.parametrize("leaves", [2, 3, 6])
@pytest.mark.parametrize("seed", range(4))
def test_a_penalty_that_leaves_sums_whole_is_not_overlooked(leaves, seed):
    table, labels = table_of(seed, rows=200)
    settings = {"lambda_l1": 1.0, "lambda_l2": 0.5, "num_leaves": leaves}
    text = grown(table, labels, 8, **settings).model_to_string()
    check_sound(read(text), table, labels)
    assert "does not contain" in reason(read(LATER_TREES.sub("\n", text)), table)


def test_a_dump_says_as_much_as_a_text():
    table, labels = table_of(6)
    booster = grown(table, labels)
    dump = DUMP.open(json.dumps(booster.dump_model()).encode(), "m.json").model
    sums = check_exact(dump, table, labels)
    assert (sums.low == found(read(booster.model_to_string()), table).low).all()


def test_order_and_names_of_labels_do_not_matter():
    table, labels = table_of(7)
    model = model_of(table, labels)
    turned = np.random.default_rng(1).permutation(len(table))
    check_exact(model, table[turned], labels[turned])
    check_exact(model_of(table, 1 - labels), table, 1 - labels)


@pytest.mark.parametrize("classes", [2, 3])
def test_another_table_is_noticed(classes):
    table, labels = table_of(8, classes=classes)
    model = model_of(table, labels, **(THREE if classes == 3 else {}))
    changed = table.copy()
    changed[0] = 8 - changed[0]
    others = (table[1:], np.vstack([table, table[:1]]), changed)
    assert all("another table" in reason(model, other) for other in others)


def withheld(text, *keys):
    for key in keys:
        text = re.sub(rf"\n{key}=.*", lambda found: re.sub(r"(?<=[= ])\S+", "0", found[0]), text)
    return text


def test_without_counts_and_weights_sums_are_still_right():
    table, labels = table_of(9)
    text = withheld(grown(table, labels).model_to_string(), "leaf_weight", "leaf_count")
    model = read(text)
    assert all(tree.hessians is None for tree in model.growth.trees)
    check_exact(model, table, labels)
    assert "another table" in reason(model, table[1:])
    text = withheld(grown(table, labels, lambda_l1=1.0).model_to_string(), "leaf_weight")
    assert "missing" in reason(read(text), table)


def test_a_changed_leaf_or_setting_is_noticed():
    table, labels = table_of(10)
    text = grown(table, labels, lambda_l2=1.0).model_to_string()
    value = re.findall(r"leaf_value=(\S+)", text)[2]
    assert "another table" in reason(read(text.replace(value, str(1.01 * float(value)))), table)
    other = text.replace("[lambda_l2: 1]", "[lambda_l2: 0.9]")
    assert "another table" in reason(read(other), table)
    other = text.replace("[learning_rate: 0.1]", "[learning_rate: 0.11]")
    assert "learning rate" in reason(read(other), table)


def test_weights_and_scores_of_ones_own_are_noticed():
    table, labels = table_of(11)
    draw = np.random.default_rng(0)
    for dataset in ({"weight": draw.integers(1, 3, 80)}, {"init_score": draw.normal(0, 1, 80)}):
        assert "another table" in reason(model_of(table, labels, dataset=dataset), table)


def test_a_model_that_was_grown_on_from_another_is_refused():
    table, labels = table_of(12)
    data = lightgbm.Dataset(table, label=labels, params={"verbose": -1})
    settings = {"objective": "binary", **SMALL, "verbose": -1}
    more = lightgbm.train(settings, data, 3, init_model=grown(table, labels, 3))
    text = more.model_to_string()
    assert "num_iterations" in reason(read(text), table)
    check_exact(read(LATER_TREES.sub("\n", text)), table, labels)
    data = lightgbm.Dataset(table, label=labels, params={"verbose": -1})
    more = lightgbm.train({**settings, "lambda_l2": 2.0}, data, 3, init_model=more)
    assert reason(read(LATER_TREES.sub("\n", more.model_to_string())), table)


def test_each_tree_says_what_it_was_shrunk_by():
    table, labels = table_of(13)
    trees = model_of(table, labels).growth.trees
    assert [tree.rate for tree in trees] == [1.0] + [0.1] * 5


def test_a_model_in_memory_says_as_much_as_its_file():
    table, labels = table_of(14)
    settings = {"n_estimators": 6, "verbose": -1, "min_child_samples": 3, "n_jobs": 1}
    estimator = lightgbm.LGBMClassifier(**settings).fit(table, labels)
    check_exact(open_fitted(estimator).model, table, labels)

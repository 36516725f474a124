"""What the leaves of a HistGradientBoostingClassifier say of the labels in them is exact, or nothing is said."""

import numpy as np
import pytest

from tests.audit.inverters.grown import check_exact, found, reason, table_of
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.formats.skops.skops_file import FORMAT

ensemble = pytest.importorskip("sklearn.ensemble", reason="grows the models that are inverted")
skops = pytest.importorskip("skops.io", reason="writes the models that are inverted")


def grown(table, labels, weights=None, **settings):
    settings = {"max_iter": 6, "min_samples_leaf": 3, "max_leaf_nodes": 6, **settings}
    estimator = ensemble.HistGradientBoostingClassifier(**settings)
    return estimator.fit(table, labels, sample_weight=weights)


def read(estimator):
    return FORMAT.open(skops.dumps(estimator), "m.skops").model


def model_of(*arguments, **settings):
    return read(grown(*arguments, **settings))


def test_four_records_by_hand():
    table, labels = np.array([[0.0], [0], [1], [1]]), np.array([1.0, 0, 1, 1])
    model = model_of(table, labels, max_iter=2, min_samples_leaf=1)
    first, second = (tree.values[1:] for tree in model.growth.trees)
    assert first == pytest.approx([-0.1333333, 0.1333333])
    assert second == pytest.approx([-0.1122321455, 0.1291724399])
    assert model.growth.start == pytest.approx([np.log(3)])
    assert check_exact(model, table, labels).low.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("seed", range(12))
def test_sums_are_those_of_random_tables(seed):
    table, labels = table_of(seed, rows=30 + 17 * seed)
    eta, ridge = ((0.1, 0), (0.0873645123, 2.718281828), (1.0, 0.5))[seed % 3]
    model = model_of(table, labels, learning_rate=eta, l2_regularization=ridge)
    check_exact(model, table, labels)


@pytest.mark.parametrize("seed", range(4))
def test_several_classes_are_told_apart(seed):
    table, labels = table_of(seed, classes=4)
    sums = check_exact(model_of(table, labels), table, labels)
    assert set(sums.output.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    "settings",
    [
        {"max_features": 0.5, "random_state": 1},
        {"categorical_features": [0, 2]},
        {"early_stopping": True, "validation_fraction": None, "scoring": "loss"},
        {"max_bins": 4},
        {"interaction_cst": [{0, 1}, {2}]},
    ],
    ids=str,
)
def test_what_changes_splits_alone_does_not_matter(settings):
    table, labels = table_of(1)
    check_exact(model_of(table, labels, **settings), table, labels)


def test_missing_values_change_nothing():
    table, labels = table_of(5, rows=120)
    table[np.random.default_rng(1).random(table.shape) < 0.2] = np.nan
    check_exact(model_of(table, labels), table, labels)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"early_stopping": True}, "validation_fraction"),
        ({"monotonic_cst": [1, 0, 0]}, "rise or fall"),
        ({"class_weight": {0: 1, 1: 3}}, "class_weight"),
        ({"class_weight": "balanced"}, "class_weight"),
    ],
    ids=str,
)
def test_what_changes_leaf_values_is_refused_by_name(settings, why):
    table, labels = table_of(2, rows=200)
    assert why in reason(model_of(table, labels, **settings), table)


@pytest.mark.parametrize("settings", [{}, {"loss": "quantile", "quantile": 0.3}], ids=str)
def test_regressions_are_not_turned_back(settings):
    table, labels = table_of(2)
    model = ensemble.HistGradientBoostingRegressor(max_iter=3, **settings).fit(table, labels)
    assert "inverted" in reason(read(model), table)


def test_order_and_names_of_labels_do_not_matter():
    table, labels = table_of(7)
    model = model_of(table, labels)
    turned = np.random.default_rng(1).permutation(len(table))
    check_exact(model, table[turned], labels[turned])
    check_exact(model_of(table, 1 - labels), table, 1 - labels)
    check_exact(model_of(table, np.where(labels == 1, "yes", "no")), table, labels)


@pytest.mark.parametrize("classes", [2, 3])
def test_another_table_is_noticed(classes):
    table, labels = table_of(8, classes=classes)
    model = model_of(table, labels)
    changed = table.copy()
    changed[0] = 8 - changed[0]
    others = (table[1:], np.vstack([table, table[:1]]), changed)
    assert all("another table" in reason(model, other) for other in others)


@pytest.mark.parametrize("classes", [2, 3])
def test_weights_are_noticed(classes):
    table, labels = table_of(9, classes=classes)
    weights = np.random.default_rng(1).integers(1, 4, len(table))
    assert "with weights" in reason(model_of(table, labels, weights), table)


def test_a_model_that_was_grown_on_is_inverted_or_refused():
    table, labels = table_of(10)
    estimator = grown(table, labels, max_iter=3, warm_start=True)
    check_exact(read(estimator.set_params(max_iter=6).fit(table, labels)), table, labels)
    settings = {"max_iter": 9, "learning_rate": 0.3}
    estimator.set_params(**settings).fit(table, labels)
    assert "settings" in reason(read(estimator), table)


def test_an_estimator_in_memory_says_as_much_as_its_file():
    table, labels = table_of(11)
    estimator = grown(table, labels)
    sums = check_exact(open_fitted(estimator).model, table, labels)
    assert (sums.low == found(read(estimator), table).low).all()

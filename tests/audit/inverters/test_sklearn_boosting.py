"""What the leaves of a GradientBoostingClassifier say of the labels in them is exact, or nothing is said."""

import numpy as np
import pytest

from tests.audit.inverters.grown import check_exact, check_sound, found, reason, table_of
from tests.kit.tiers import cases, seeds
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.formats.skops.skops_file import FORMAT

ensemble = pytest.importorskip("sklearn.ensemble", reason="grows the models that are inverted")
dummy = pytest.importorskip("sklearn.dummy", reason="grows the models that are inverted")
skops = pytest.importorskip("skops.io", reason="writes the models that are inverted")


def grown(table, labels, weights=None, **settings):
    settings = {"n_estimators": 6, "random_state": 0, **settings}
    estimator = ensemble.GradientBoostingClassifier(**settings)
    return estimator.fit(table, labels, sample_weight=weights)


def read(estimator):
    return FORMAT.open(skops.dumps(estimator), "m.skops").model


def model_of(*arguments, **settings):
    return read(grown(*arguments, **settings))


def test_four_records_by_hand():
    table, labels = np.array([[0.0], [0], [1], [1]]), np.array([1.0, 0, 1, 1])
    model = model_of(table, labels, n_estimators=2, max_depth=1)
    tree = model.growth.trees[0]
    assert tree.values[1:] == pytest.approx([-1.3333333, 1.3333333])
    assert tree.second[1:] == pytest.approx([0.25, 0])
    assert model.growth.start == pytest.approx([np.log(3)])
    assert check_exact(model, table, labels).low.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("seed", seeds(12, quick=4))
def test_sums_are_those_of_random_tables(seed):
    table, labels = table_of(seed, rows=30 + 17 * seed)
    settings = {"learning_rate": (0.1, 0.0873645123, 1.0)[seed % 3], "max_depth": 2 + seed % 3}
    check_exact(model_of(table, labels, **settings), table, labels)


@pytest.mark.parametrize("seed", seeds(4, quick=2))
def test_several_classes_are_told_apart(seed):
    table, labels = table_of(seed, classes=4)
    sums = check_exact(model_of(table, labels), table, labels)
    assert set(sums.output.tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("classes", cases([2, 3], quick=1))
def test_leaves_that_are_sure_of_their_labels_say_nothing_wrong(classes):
    table, labels = table_of(3, classes=classes)
    settings = {"n_estimators": 80, "learning_rate": 1.0, "max_depth": None}
    check_sound(model_of(table, labels, **settings), table, labels)
    check_sound(model_of(table, table[:, 0] // 3, **settings), table, table[:, 0] // 3)


@pytest.mark.parametrize(
    "settings",
    [{"init": "zero"}, {"max_features": 1}, {"ccp_alpha": 0.01}, {"max_leaf_nodes": 5}],
    ids=str,
)
def test_settings_that_the_file_says_are_taken_into_account(settings):
    table, labels = table_of(1)
    check_exact(model_of(table, labels, **settings), table, labels)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"n_iter_no_change": 3}, "validation_fraction"),
        ({"loss": "exponential"}, "'exponential'"),
    ],
    ids=str,
)
def test_what_changes_leaf_values_is_refused_by_name(settings, why):
    table, labels = table_of(2, rows=200)
    assert why in reason(model_of(table, labels, **settings), table)


def test_a_start_of_ones_own_is_refused():
    table, labels = table_of(2)
    with pytest.raises(TreeFormatError, match="not a constant"):
        model_of(table, labels, init=dummy.DummyClassifier(strategy="uniform", random_state=0))


def test_regressions_are_not_turned_back():
    table, labels = table_of(2)
    model = ensemble.GradientBoostingRegressor(n_estimators=3).fit(table, labels)
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


def test_weights_are_refused():
    table, labels = table_of(9)
    weights = np.random.default_rng(1).integers(1, 4, len(table))
    assert "weights" in reason(model_of(table, labels, weights), table)


def test_a_model_that_was_grown_on_is_inverted_or_refused():
    table, labels = table_of(10)
    estimator = grown(table, labels, n_estimators=3, warm_start=True)
    estimator.set_params(n_estimators=6).fit(table, labels)
    check_exact(read(estimator), table, labels)


def test_an_estimator_in_memory_says_as_much_as_its_file():
    table, labels = table_of(11)
    estimator = grown(table, labels)
    sums = check_exact(open_fitted(estimator).model, table, labels)
    assert (sums.low == found(read(estimator), table).low).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("seed", seeds(4, quick=2))
def test_variances_of_residuals_are_those_of_the_people(seed, classes):
    table, labels = table_of(seed, classes=classes)
    model = model_of(table, labels, n_estimators=5)
    sums = check_exact(model, table, labels)
    assert {each.tree for each in sums.added} == {
        number for number, tree in enumerate(model.trees) if len(tree.nodes) > 1
    }
    for each in sums.added:
        has = labels == each.output
        true = np.bincount(each.place, each.each * has, len(each.nodes))
        assert ((each.low <= true) & (true <= each.high)).all()
        assert (each.high - each.low).max() < 1e-6


def test_another_criterion_of_splits_is_refused():
    table, labels = table_of(0)
    estimator = grown(table, labels)
    estimator.criterion = "mae"
    assert "criterion" in reason(read(estimator), table)

"""What leaves say where each tree saw a sample: bounds that hold whoever was drawn, and sums once that is known."""

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.inverters.grown import case_of, check_sound, found, table_of, truth
from tests.kit import grown_models
from tests.kit.tiers import few
from treewarden.audit.inverters import LeafSums, inverters, leaf_sums
from treewarden.audit.inverters._bounds import NumberBounds
from treewarden.audit.inverters._draws import extremes, is_from_sample
from treewarden.audit.inverters._rounds import Leafs
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.formats.lightgbm.lightgbm_text import FORMAT as TEXT
from treewarden.ppdm_models.formats.skops.skops_file import FORMAT as SKOPS
from treewarden.ppdm_models.tree.ensemble import stated_fact

BAGGED = {"bagging_freq": 1, "bagging_seed": 3}


def lightgbm_model(table, labels, rounds=8, **settings):
    lightgbm = pytest.importorskip("lightgbm", reason="grows the models that are inverted")
    outputs = len(np.unique(labels))
    loss = {"objective": "binary"}
    if outputs > 2:
        loss = {"objective": "multiclass", "num_class": outputs}
    small = {"num_leaves": 6, "min_data_in_leaf": 5, "num_threads": 1, "verbose": -1}
    data = lightgbm.Dataset(table, label=labels, params={"verbose": -1})
    grown = lightgbm.train({**loss, **small, **BAGGED, **settings}, data, rounds)
    return TEXT.open(grown.model_to_string().encode(), "m.txt").model


def sklearn_model(table, labels, **settings):
    ensemble = pytest.importorskip("sklearn.ensemble", reason="grows the models")
    skops = pytest.importorskip("skops.io", reason="writes the models")
    estimator = ensemble.GradientBoostingClassifier(
        **{"n_estimators": 8, "random_state": 0, **settings}
    )
    return SKOPS.open(skops.dumps(estimator.fit(table, labels)), "m.skops").model


def drawn_by(model, table, seed):
    """Return the case of a model whose draws are repeated from a seed: the first way of drawing that there is."""
    case = case_of(model, table)
    draws = next(inverters()[model.growth.library].draws(case, seed))
    return replace(case, draws=draws.often)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "settings", [{}, {"lambda_l2": 3.0, "lambda_l1": 0.5}, {"boost_from_average": False}], ids=str
)
@pytest.mark.in_both
def test_bounds_of_a_lightgbm_sample_hold(share, classes, settings):
    for seed in few(range(3), 1):
        table, labels = table_of(seed, rows=120, classes=classes)
        model = lightgbm_model(table, labels, bagging_fraction=share, **settings)
        sums = check_sound(model, table, labels)
        assert not sums.is_complete
        people = np.bincount(labels.astype(int))
        assert all(low <= people[output] <= high for output, (low, high) in sums.totals.items())


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.in_both
def test_bounds_of_a_gradient_boosting_sample_hold(share, classes):
    for seed in few(range(3), 1):
        table, labels = table_of(seed, rows=120, classes=classes)
        model = sklearn_model(table, labels, subsample=share, min_samples_leaf=3)
        sums = check_sound(model, table, labels)
        assert not sums.is_complete
        assert {low for low, _ in sums.totals.values()} <= set(np.bincount(labels.astype(int)))


@pytest.mark.parametrize("name", ["sampled", "sampled_exact", "sampled_hist", "sampled_three"])
def test_bounds_of_an_xgboost_sample_hold(name):
    table = "three" if "three" in name else "two"
    folder = grown_models.FOLDER
    case, people = grown_models.case_of(folder / f"{name}.json", folder / f"{table}.csv")
    assert isinstance(leaf_sums(case), Undetermined)  # it is not said that there were samples
    facts = {**case.growth.facts, "subsample": stated_fact(0.7)}
    sums = leaf_sums(replace(case, growth=replace(case.growth, facts=facts)))
    assert isinstance(sums, LeafSums)
    assert not sums.is_complete
    true = grown_models.truth(case, people, sums)
    assert ((sums.low <= true) & (true <= sums.high)).all()


def test_with_everybody_drawn_the_bounds_of_the_first_round_are_exact_but_for_who_was_not():
    table, labels = table_of(1, rows=120)
    model = lightgbm_model(table, labels, rounds=1, bagging_fraction=0.8)
    sums = check_sound(model, table, labels)
    case = case_of(model, table)
    counts = model.growth.trees[0].counts[sums.nodes]
    members = np.array([(case.stops[0] == node).sum() for node in sums.nodes])
    assert (sums.high - sums.low == members - counts).all()


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (120, {"bagging_fraction": 0.7}),
        (300, {"bagging_fraction": 0.8, "bagging_freq": 3, "bagging_seed": 11}),
        (2500, {"bagging_fraction": 0.4, "bagging_freq": 2}),
    ],
)
def test_the_draws_of_lightgbm_are_repeated(rows, settings):
    table, labels = table_of(2, rows=rows)
    model = lightgbm_model(table, labels, **settings)
    case = drawn_by(model, table, settings.get("bagging_seed", 3))
    sums = leaf_sums(case)
    assert isinstance(sums, LeafSums), sums.reason
    assert sums.is_complete
    weights = labels[None, :] * case.draws
    true = [
        weights[tree][case.stops[tree] == node].sum()
        for tree, node in zip(sums.trees, sums.nodes, strict=True)
    ]
    assert sums.low.tolist() == sums.high.tolist() == true
    assert isinstance(leaf_sums(drawn_by(model, table, 4)), Undetermined)


def test_where_each_class_has_a_share_of_its_own_nothing_is_repeated():
    table, labels = table_of(2, rows=120)
    model = lightgbm_model(table, labels, pos_bagging_fraction=0.5)
    assert list(inverters()["lightgbm"].draws(case_of(model, table), 3)) == []
    check_sound(model, table, labels)


@pytest.mark.parametrize(
    ("name", "seed", "way"),
    [
        ("sampled", 0, 0),
        ("sampled_exact", 0, 1),
        ("sampled_hist", 7, 0),
        ("sampled_three", 0, 0),
        ("sampled_three_exact", 0, 1),
    ],
)
def test_the_draws_of_xgboost_are_repeated(name, seed, way):
    folder, table = grown_models.FOLDER, "three" if "three" in name else "two"
    model = grown_models.opened(folder / f"{name}.json").model
    lines = (folder / f"{table}.csv").read_text().splitlines()[1:]
    rows = np.array([[float(each) for each in line.split(",")] for line in lines])
    case, labels = case_of(model, rows[:, :3]), rows[:, 3]
    tried = [replace(case, draws=each.often) for each in inverters()["xgboost"].draws(case, seed)]
    fits = [(one, sums) for one in tried if isinstance(sums := leaf_sums(one), LeafSums)]
    assert fits
    drawn, sums = fits[0]
    true = [
        ((labels == output) & (drawn.stops[tree] == node)) @ drawn.draws[tree]
        for tree, node, output in zip(sums.trees, sums.nodes, sums.output, strict=True)
    ]
    assert sums.low.tolist() == sums.high.tolist() == true
    others = inverters()["xgboost"].draws(case, seed + 1)
    assert all(isinstance(leaf_sums(replace(case, draws=d.often)), Undetermined) for d in others)


def test_another_table_is_noticed_by_its_counts():
    table, labels = table_of(3, rows=120)
    model = lightgbm_model(table, labels, bagging_fraction=0.8)
    other = found(model, table[:60])
    assert isinstance(other, Undetermined)
    sums = found(model, table[::-1])  # bounds know no order
    assert (sums.low <= truth(model, table[::-1], labels[::-1], sums)).all()


def test_extremes_are_those_of_all_ways_to_draw():
    numbers = NumberBounds(np.array([0.1, 0.7, 0.4]), np.array([0.2, 0.8, 0.5]))
    place, people = np.array([0, 1, 0]), np.array([2.0, 1.0, 1.0])
    leaves = Leafs(0, 0, np.array([1, 2]), place, numbers, people, people)
    case = replace(case_of_three(), people=people)
    ends = extremes(case, leaves, numbers)
    assert ends.sums_of(0).low == pytest.approx([0, 0.1, 0.2, 0.6])
    assert ends.sums_of(0).high == pytest.approx([0, 0.5, 0.7, 0.9])
    assert ends.at(np.array([2.0, 1.0])).low == pytest.approx([0.2, 0.7])
    members = replace(leaves, members=np.array([3.0, 1.0]))
    assert is_from_sample(members, np.array([3.0, 1.0]))
    assert not is_from_sample(members, np.array([4.0, 1.0]))
    assert not is_from_sample(members, np.array([0.0, 1.0]))


def case_of_three():
    folder = grown_models.FOLDER
    return grown_models.case_of(folder / "plain.json", folder / "two.csv")[0]

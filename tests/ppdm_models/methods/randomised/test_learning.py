from functools import cache

import numpy as np
import pytest

from treewarden.ppdm_models.methods.randomised.generating import ATTRIBUTES, people
from treewarden.ppdm_models.methods.randomised.growing import LEAF, grow, leaf_costs, split_costs
from treewarden.ppdm_models.methods.randomised.learning import Method, Noisy, learn
from treewarden.ppdm_models.methods.randomised.noise import gaussian, noisy, uniform

NOISES = {"gaussian": gaussian, "uniform": uniform}


@cache
def accuracy(function, noise, method):
    random = np.random.default_rng(18)
    trained, tested = people(20_000, function, random), people(5_000, function, random)
    noises = {each.name: NOISES[noise](1, each.width) for each in ATTRIBUTES}
    columns = {
        name: noisy(values, noises[name], random) for name, values in trained.columns.items()
    }
    records = Noisy(ATTRIBUTES, columns, noises, trained.in_group_a.astype(np.int64), 2)
    if method is None:
        records = Noisy(ATTRIBUTES, columns, dict.fromkeys(noises), records.classes, 2)
    found = learn(records, method or Method.GLOBAL)
    predicted = found.predicted([tested.columns[each.name] for each in ATTRIBUTES])
    return 100 * (predicted == tested.in_group_a).mean()


def test_by_class_undoes_what_noise_does_to_the_first_function():
    assert accuracy(1, "gaussian", None) < 80
    assert accuracy(1, "gaussian", Method.BYCLASS) > 88
    assert accuracy(1, "uniform", Method.BYCLASS) > 94


@pytest.mark.parametrize("function", [2, 3])
def test_by_class_and_local_are_well_above_noisy_values_taken_as_they_are(function):
    plain = accuracy(function, "uniform", None)
    assert accuracy(function, "uniform", Method.BYCLASS) > plain + 12
    assert accuracy(function, "uniform", Method.LOCAL) > plain + 15


def test_what_is_only_noise_grows_no_tree():
    random = np.random.default_rng(1)
    codes = random.integers(0, 10, (2_000, 3))
    found = grow(codes, np.array([10, 10, 10]), random.integers(0, 2, 2_000), 2)
    assert found.attribute.tolist() == [LEAF]


def test_a_tree_that_is_there_is_found_and_predicts():
    random = np.random.default_rng(2)
    codes = random.integers(0, 10, (3_000, 3))
    classes = ((codes[:, 0] > 4) & (codes[:, 2] > 6)).astype(np.int64)
    found = grow(codes, np.array([10, 10, 10]), classes, 2)
    assert (found.predicted(codes) == classes).all()
    assert (found.attribute == LEAF).sum() == 3
    assert found.counts[0].tolist() == np.bincount(classes).tolist()


def test_a_node_is_left_whole_only_where_no_split_could_pay():
    pure, mixed, least = leaf_costs(np.array([[40, 0], [20, 20], [1, 0]]))
    assert pure < split_costs(3, np.array([1]))[0] + 2 * least < mixed


def test_costs_are_those_of_the_formulas():
    wanted = 1 + 10 + np.log2(5) / 2 + np.log2(np.pi)
    assert leaf_costs(np.array([[5, 5]])).tolist() == pytest.approx([wanted])
    assert split_costs(9, np.array([4])).tolist() == pytest.approx([1 + np.log2(9) + 2])

"""LightGBM trains on bundles of columns, which may hide values: what its leaves say is right all the same, or open."""

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.inverters.grown import case_of, found, truth
from tests.kit.tiers import seeds
from treewarden.audit.inverters import LeafSums, leaf_sums, member_sums
from treewarden.audit.inverters.lightgbm import BUNDLED, UNSEEN_BUNDLES, may_hide
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.formats.lightgbm.lightgbm_text import FORMAT as TEXT
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

lightgbm = pytest.importorskip("lightgbm", reason="grows the models that are inverted")


def coded(seed, size):
    """Return two columns with the codes 1 and 2, one of numbers, and labels that depend on the rarer codes."""
    draw = np.random.default_rng(seed)
    rare = draw.random((size, 2)) < 0.15
    table = np.c_[np.where(rare, [2.0, 1.0], [1.0, 2.0]), draw.integers(1, 9, size)]
    labels = (rare.sum(axis=1) + draw.normal(0, 0.5, size) > 0.6).astype(float)
    labels[:2] = 0, 1
    return table, labels


def model_of(table, labels, **settings):
    settings = {
        "objective": "binary",
        "num_leaves": 4,
        "min_data_in_leaf": 1,
        "min_data_in_bin": 1,
        "num_threads": 1,
        "verbose": -1,
        **settings,
    }
    data = lightgbm.Dataset(table, label=labels, params=settings)
    text = lightgbm.train(settings, data, 3).model_to_string()
    return TEXT.open(text.encode(), "m.txt").model


def without_counts(case):
    trees = tuple(replace(tree, counts=None) for tree in case.growth.trees)
    return replace(case, growth=replace(case.growth, trees=trees))


def test_a_table_whose_values_were_hidden_is_not_taken_for_the_one_of_the_training():
    table, labels = coded(28, 300)
    assert isinstance(found(model_of(table, labels), table), Undetermined)
    assert isinstance(found(model_of(table, labels, enable_bundle=False), table), LeafSums)


@pytest.mark.parametrize("seed", seeds(400, quick=12))
def test_sums_are_true_wherever_the_table_has_the_counts(seed):
    table, labels = coded(seed, 8 + seed % 40)
    model = model_of(table, labels)
    sums = found(model, table)
    if isinstance(sums, LeafSums):
        true = truth(model, table, labels, sums)
        assert ((sums.low <= true) & (true <= sums.high)).all()
        assert sums.is_complete


def test_without_counts_whoever_is_not_certain_stays_open():
    table, labels = coded(3, 60)
    case = case_of(model_of(table, labels, enable_bundle=False), table)
    assert leaf_sums(without_counts(case)).is_complete
    facts = {**case.growth.facts, "enable_bundle": replace(case.growth.fact("max_bin"), value=1.0)}
    bundled = replace(case, growth=replace(case.growth, facts=facts))
    assert leaf_sums(bundled).is_complete  # by its counts
    sums = leaf_sums(without_counts(bundled))
    assert (sums.is_complete, sums.missing) == (False, UNSEEN_BUNDLES)


def test_members_are_told_by_leaf_values_only_where_nothing_was_bundled():
    table, labels = coded(3, 60)
    bundled = member_sums(case_of(model_of(table, labels), table))
    assert bundled == Undetermined(BUNDLED)
    assert len(member_sums(case_of(model_of(table, labels, enable_bundle=False), table)))


def hides(columns, size, settings=()):
    growth = model_of(*coded(0, 40), **dict(settings)).growth
    named = {name: NumericColumn(np.asarray(numbers)) for name, numbers in columns.items()}
    return may_hide(named, np.ones(size), tuple(columns), growth)


def test_which_columns_may_hide_values_of_each_other():
    draw = np.random.default_rng(0)
    size = 2000
    first, second = np.eye(6)[draw.integers(0, 6, size)].T, np.eye(5)[draw.integers(0, 5, size)].T
    one_hot = {f"a{n}": column for n, column in enumerate(first)}
    one_hot |= {f"b{n}": column for n, column in enumerate(second)}
    assert not hides(one_hot, size)  # 0 is frequent: LightGBM counts who has a 1 in both
    assert not hides({"age": draw.integers(20, 80, size), "income": draw.normal(size=size)}, size)
    codes = {"sex": np.where(first[0], 2.0, 1.0), "smokes": np.where(second[0], 1.0, 2.0)}
    assert hides(codes, size)
    assert not hides({"sex": codes["sex"], "age": draw.integers(20, 80, size)}, size)


def test_in_large_tables_some_records_may_have_rare_values_in_both():
    size = 20_000
    first, second = np.zeros(size), np.zeros(size)
    first[:100], second[98:200] = 1, 1
    assert hides({"a": first, "b": second}, size)
    second[90:98] = 1
    assert not hides({"a": first, "b": second}, size)


def test_what_is_not_known_of_columns_may_hide_values():
    growth = model_of(*coded(0, 40)).growth
    names = CategoricalColumn(np.array([0] * 9 + [1]), ("x", "y"))
    columns = {"a": NumericColumn(np.array([0.0] * 8 + [1, 1])), "b": names}
    assert may_hide(columns, np.ones(10), ("a", "b"), growth)
    assert may_hide(columns, np.ones(10), ("a", "c"), growth)
    silent = replace(growth, facts={})
    dense = {name: NumericColumn(np.arange(10.0)) for name in "ab"}
    assert not may_hide(dense, np.ones(10), ("a", "b"), growth)
    assert may_hide(dense, np.ones(10), ("a", "b"), silent)

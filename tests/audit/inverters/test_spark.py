"""What Spark's boosted trees say of their people's labels, held against the table that they were grown on."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER, case_of, truth
from treewarden.audit.inverters import LeafSums, leaf_sums
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import opened


def case(table=FOLDER / "two.csv"):
    return case_of(FOLDER / "spark_plain.zip", table)


def changed(found, **columns):
    """Return a case in which the numbers of the trees are others; each change is told the tree's number."""
    trees = tuple(
        replace(
            tree, **{name: change(number, getattr(tree, name)) for name, change in columns.items()}
        )
        for number, tree in enumerate(found.growth.trees)
    )
    return replace(found, growth=replace(found.growth, trees=trees))


def test_every_leaf_is_turned_back_exactly():
    found, people = case()
    sums = leaf_sums(found)
    assert sums.low.tolist() == sums.high.tolist() == truth(found, people, sums).tolist()
    assert sums.facts["stepSize"].value == 0.3
    assert len(sums.low) == sum(len(tree.leaves) for tree in found.trees)


def test_the_values_alone_say_as_much():
    found, people = case()
    sums = leaf_sums(changed(found, weights=lambda number, old: None))
    assert sums.low.tolist() == sums.high.tolist() == truth(found, people, sums).tolist()


def test_values_that_are_cut_change_little_while_sums_of_residuals_stand_beside_them():
    found, people = case()

    def cut(number, values):
        return np.asarray(values, dtype=np.float32).astype(np.float16).astype(np.float64)

    sums = leaf_sums(changed(found, values=cut))
    true = truth(found, people, sums)
    assert ((sums.low <= true) & (true <= sums.high)).all()
    first = sums.trees == 0
    assert (sums.low[first] == sums.high[first]).all()


def test_sums_of_squares_are_those_of_the_people():
    found, people = case()
    sums = leaf_sums(found)
    assert {each.tree for each in sums.added} == {1, 2, 3}
    for each in sums.added:
        true = np.bincount(each.place, each.each * people.truth[:, 1], len(each.nodes))
        assert ((each.low <= true) & (true <= each.high)).all()
        assert (each.high - each.low).max() < 1e-8


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("sampled", "subsamplingRate"),
        ("stopped", "validationIndicatorCol"),
        ("weighed", "weightCol"),
    ],
)
def test_what_changes_leaf_values_is_refused_by_name(name, why):
    assert why in opened(FOLDER / f"spark_{name}.zip").model.growth.refused


def test_a_sum_that_contradicts_the_value_is_noticed():
    def more(number, sums):
        return sums + (number == 2)

    found = leaf_sums(changed(case()[0], weights=more))
    assert "contradict" in found.reason


@pytest.mark.parametrize("tree", range(4))
def test_a_changed_leaf_is_noticed(tree):
    def more(number, numbers):
        return numbers + 0.01 * (number == tree)

    found = leaf_sums(changed(case()[0], values=more, weights=lambda number, old: None))
    assert isinstance(found, Undetermined)


def test_another_step_size_is_noticed():
    def halved(number, numbers):
        return numbers / 2 if number else numbers

    found = changed(case()[0], values=halved, rate=halved)
    assert isinstance(leaf_sums(found), Undetermined)


def test_a_weight_of_nothing_is_refused():
    found = leaf_sums(changed(case()[0], rate=lambda number, old: 0.0))
    assert "a weight of 0 or less" in found.reason


@pytest.mark.parametrize("loss", ["squared", "absolute", ""])
def test_other_losses_are_refused_by_name(loss):
    found = case()[0]
    found = replace(found, growth=replace(found.growth, objective=loss))
    assert "inverted" in leaf_sums(found).reason or "names no loss" in leaf_sums(found).reason


def test_another_table_is_noticed(tmp_path):
    header, *rows = (FOLDER / "two.csv").read_text().splitlines()
    found, people = case()
    fewer = found.people.copy()
    fewer[0] -= 1
    moved = replace(found, people=fewer)
    assert "another table" in leaf_sums(moved).reason
    turned = tmp_path / "turned.csv"
    turned.write_text("\n".join([header, *reversed(rows)]) + "\n")
    other, others = case(turned)
    sums = leaf_sums(other)
    assert isinstance(sums, LeafSums)
    assert sums.low.tolist() == truth(other, others, sums).tolist()

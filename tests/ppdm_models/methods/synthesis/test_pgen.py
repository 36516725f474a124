"""Pseudo records: each lies in its leaf, and classes come from what the leaf publishes."""

from dataclasses import replace

import numpy as np
import pytest

from treewarden.ppdm_models.errors import SynthesisError
from treewarden.ppdm_models.methods.synthesis import pgen as module
from treewarden.ppdm_models.methods.synthesis.pgen import (
    ClassSource,
    DrawPlan,
    NumberDraw,
    basegen,
    pgen,
)
from treewarden.ppdm_models.methods.synthesis.regions import NumericRange
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.predicate import Always, AnyOf, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Task,
    Tree,
)

AGE, CITY = Feature("age", numeric=True), Feature("city", numeric=False, values=("a", "b", "c"))
CLASSES = ("flu", "none", "cold")


def tree(**changes):
    """Age up to 40, or city a, or else: the last child takes what its elder leaves."""
    nodes = (
        Node(0, "0", None, (1, 2)),
        Node(1, "1", 0, (), NumericTest("age", high=40, high_closed=True), "flu", 6, (4, 1, 1)),
        Node(2, "2", 0, (3, 4), NumericTest("age", low=40)),
        Node(3, "3", 2, (), CategoryTest("city", ("a",)), "none", 3, (0, 3, 0)),
        Node(4, "4", 2, (), Always(), "cold", 11, (2, 2, 7)),
    )
    return replace(Tree(nodes, (AGE, CITY), "ill", CLASSES), **changes)


def drawn(plan, trees=None):
    """All records of a plan: numbers, city codes, class codes."""
    chunks = list(pgen(trees or [tree()], plan))
    return {
        name: np.concatenate(
            [
                c[name].codes if isinstance(c[name], CategoricalColumn) else c[name].numbers
                for c in chunks
            ]
        )
        for name in chunks[0]
    }


def test_each_leaf_gives_as_many_records_as_it_publishes():
    (chunk,) = pgen([tree()], DrawPlan(seed=1))
    stops = route(tree(), chunk)
    assert np.bincount(stops).tolist() == [0, 6, 0, 3, 11]


@pytest.mark.parametrize("numbers", list(NumberDraw))
def test_every_record_lies_in_its_leaf_in_the_wanted_proportion(numbers):
    (chunk,) = pgen([tree()], DrawPlan(rows=2000, seed=2, numbers=numbers))
    stops = route(tree(), chunk)
    assert np.bincount(stops).tolist() == [0, 600, 0, 300, 1100]


def test_the_number_of_rows_is_kept_where_leaves_do_not_divide_it():
    assert len(drawn(DrawPlan(rows=7))["age"]) == 7


def test_midpoint_and_end_are_those_of_the_interval_within_the_domain():
    domain = {"age": NumericRange(0, 100)}
    middle = drawn(DrawPlan(rows=200, numbers=NumberDraw.MIDPOINT, domains=domain))["age"]
    assert set(middle) == {20.0, (np.nextafter(40, 50) + 100) / 2}
    ends = drawn(DrawPlan(rows=200, numbers=NumberDraw.END, domains=domain))["age"]
    assert set(ends) == {40.0, np.nextafter(40, 50)}


def test_attributes_off_the_path_are_drawn_evenly():
    cities = drawn(DrawPlan(rows=60_000, seed=3))
    young = cities["city"][cities["age"] <= 40]
    assert abs(np.bincount(young) / len(young) - 1 / 3).max() < 0.02


def test_classes_are_drawn_from_hits_with_the_misses_spread():
    found = drawn(DrawPlan(rows=60_000, seed=4))
    old_bc = (found["age"] > 40) & (found["city"] > 0)
    shares = np.bincount(found["ill"][old_bc], minlength=3) / old_bc.sum()
    np.testing.assert_allclose(shares, [2 / 11, 2 / 11, 7 / 11], atol=0.02)


def test_misses_follow_a_given_distribution():
    found = drawn(DrawPlan(rows=60_000, seed=4, misses={"none": 3.0, "cold": 1.0}))
    young = found["age"] <= 40
    shares = np.bincount(found["ill"][young], minlength=3) / young.sum()
    np.testing.assert_allclose(shares, [4 / 6, 2 / 6 * 3 / 4, 2 / 6 / 4], atol=0.02)


def test_classes_are_drawn_from_all_counts_where_wanted():
    counts = tree()
    node = replace(counts.nodes[1], class_counts=(4, 2, 0))
    counts = replace(counts, nodes=(counts.nodes[0], node, *counts.nodes[2:]))
    found = drawn(DrawPlan(rows=30_000, classes=ClassSource.COUNTS), [counts])
    assert set(found["ill"][found["age"] <= 40]) == {0, 1}


def test_the_same_seed_gives_the_same_records_and_another_one_others():
    one, two, other = (drawn(DrawPlan(rows=50, seed=seed))["age"] for seed in (5, 5, 6))
    assert one.tobytes() == two.tobytes() != other.tobytes()


def test_chunks_are_bounded_and_hold_the_same_mixture(monkeypatch):
    monkeypatch.setattr(module, "CHUNK_ROWS", 100)
    chunks = list(pgen([tree()], DrawPlan(rows=1050)))
    assert [len(chunk["age"]) for chunk in chunks] == [100] * 10 + [50]
    stops = np.concatenate([route(tree(), chunk) for chunk in chunks])
    assert np.bincount(stops).tolist() == [0, 315, 0, 158, 577]
    assert abs((route(tree(), chunks[0]) == 1).sum() - 30) <= 1


def test_classes_are_the_same_however_many_limits_are_looked_at_together(monkeypatch):
    at_once = drawn(DrawPlan(rows=500, classes=ClassSource.COUNTS))
    monkeypatch.setattr(module, "CELLS", 7)
    in_parts = drawn(DrawPlan(rows=500, classes=ClassSource.COUNTS))
    assert {n: v.tolist() for n, v in in_parts.items()} == {
        n: v.tolist() for n, v in at_once.items()
    }


def test_32_bit_thresholds_are_kept():
    single = replace(tree(), features=(replace(AGE, single=True), CITY))
    low = float(np.float32(40.1))
    nodes = list(single.nodes)
    nodes[1] = replace(nodes[1], test=NumericTest("age", high=low, high_closed=True))
    nodes[2] = replace(nodes[2], test=NumericTest("age", low=low))
    single = replace(single, nodes=tuple(nodes))
    (chunk,) = pgen([single], DrawPlan(rows=5000, numbers=NumberDraw.END))
    assert np.bincount(route(single, chunk)).tolist() == [0, 1500, 0, 750, 2750]


def test_several_trees_fill_one_table():
    other = Tree(
        (
            Node(0, "0", None, (1, 2)),
            Node(1, "1", 0, (), NumericTest("dose", high=2), "flu", 5, (5, 0, 0)),
            Node(2, "2", 0, (), NumericTest("dose", low=2, low_closed=True), "cold", 5, (0, 0, 5)),
        ),
        (Feature("dose", numeric=True),),
        "ill",
        CLASSES,
    )
    found = drawn(DrawPlan(), [tree(), other])
    assert {name: len(values) for name, values in found.items()} == dict.fromkeys(
        ("age", "city", "dose", "ill"), 30
    )


def test_basegen_labels_even_records_by_the_tree():
    chunks = list(basegen([tree()], DrawPlan(rows=30_000, domains={"age": NumericRange(0, 80)})))
    (chunk,) = chunks
    assert abs((chunk["age"].numbers <= 40).mean() - 0.5) < 0.02
    stops = route(tree(), chunk)
    labels = np.array([CLASSES[code] for code in chunk["ill"].codes])
    assert set(zip(stops.tolist(), labels.tolist(), strict=True)) == {
        (1, "flu"),
        (3, "none"),
        (4, "cold"),
    }


@pytest.mark.parametrize(
    ("changes", "plan", "said"),
    [
        ({"quality": Quality.NORMALISED}, DrawPlan(), "has no number of people"),
        ({"task": Task.REGRESSION}, DrawPlan(), "predicts no classes"),
        ({"target": "city"}, DrawPlan(), "tests its own target"),
        (
            {},
            DrawPlan(domains={"age": NumericRange(50, 60)}),
            "holds no value there within 50 to 60",
        ),
        ({}, DrawPlan(domains={"city": ("b",)}), "no value of 'city' is there"),
        ({}, DrawPlan(domains={"city": NumericRange(0, 1)}), "is to be given as VALUE,VALUE"),
        ({}, DrawPlan(domains={"town": ("b",)}), "no such attribute; use age, city"),
    ],
)
def test_what_cannot_be_drawn_is_said(changes, plan, said):
    with pytest.raises(SynthesisError, match=said):
        list(pgen([tree(**changes)], plan))


def test_a_path_that_is_no_box_is_refused():
    nodes = list(tree().nodes)
    either = AnyOf((CategoryTest("city", ("a",)), NumericTest("age", low=60)))
    nodes[3] = replace(nodes[3], test=either)
    with pytest.raises(SynthesisError, match="no plain combination of intervals and sets"):
        list(pgen([replace(tree(), nodes=tuple(nodes))], DrawPlan()))


def test_basegen_needs_a_number_of_rows():
    with pytest.raises(SynthesisError, match="give the number of rows"):
        list(basegen([tree()], DrawPlan()))

"""Trees from noisy records, published: they predict as learned, and every format holds them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import examples
from treewarden.ppdm_models.files.convert import MODELS, converted
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.methods.randomised.generating import (
    ATTRIBUTES,
    GeneratedAttribute,
    people,
)
from treewarden.ppdm_models.methods.randomised.growing import grow, intervals_of
from treewarden.ppdm_models.methods.randomised.learning import (
    LearnedTree,
    Method,
    Noisy,
    learn,
    published,
    threshold,
)
from treewarden.ppdm_models.methods.randomised.noise import ClassNoise, gaussian, noisy, uniform
from treewarden.ppdm_models.methods.randomised.reconstruction import Intervals
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Quality

VALUES = ("none", "school", "college", "bachelor", "master")
NAMES = ("B", "A")


def said(tree, columns):
    return labels(tree, predict(tree, columns))


def grown_at_random(seed):
    """Return a tree on random codes that its classes follow, and the attributes it is of; the second one has texts."""
    random = np.random.default_rng(seed)
    low, width = float(random.uniform(-1e5, 1e5)), float(10 ** random.uniform(-3, 5))
    attributes = (
        GeneratedAttribute("real", low, low + width),
        GeneratedAttribute("text", 0, len(VALUES) - 1, is_whole=True),
        GeneratedAttribute("many", -5, float(random.integers(150, 900)), is_whole=True),
        GeneratedAttribute("hidden", 0, 30, is_whole=True),
    )
    hidings = (None, None, None, ClassNoise(0, 30, float(random.uniform(2, 20))))
    own = tuple(
        intervals_of(each, hiding, int(random.integers(1_000, 12_000)))
        for each, hiding in zip(attributes, hidings, strict=True)
    )
    sizes = np.array([each.count for each in own])
    codes = np.stack([random.integers(0, size, 600) for size in sizes], axis=1)
    marks = (codes * 7 // sizes * random.integers(1, 4, len(sizes))).sum(axis=1)
    return LearnedTree(grow(codes, sizes, marks % 3, 3), own), attributes


@settings(max_examples=examples(60), deadline=None)
@given(st.integers(0, 2**32))
def test_a_published_tree_predicts_as_it_was_learned_even_at_the_edges(seed):
    learned, attributes = grown_at_random(seed)
    tree = published(learned, attributes, {"text": VALUES}, "class", ("x", "y", "z"))
    random = np.random.default_rng(seed)
    columns = [
        np.concatenate([random.uniform(each.low, each.high, 300), own.edges[1:-1]])
        for each, own in zip(attributes, learned.intervals, strict=True)
    ]
    columns = [random.choice(values, 400) for values in columns]
    for number, each in enumerate(attributes):
        if each.is_whole:
            columns[number] = np.clip(np.rint(columns[number]), each.low, each.high)
    typed = {
        each.name: NumericColumn(values) for each, values in zip(attributes, columns, strict=True)
    }
    typed["text"] = CategoricalColumn(columns[1].astype(np.int64), VALUES)
    wanted = [("x", "y", "z")[code] for code in learned.predicted(columns)]
    assert said(tree, typed) == wanted


def learned_on(noise, method=Method.BYCLASS, records=6_000, function=2):
    random = np.random.default_rng(5)
    made = people(records, function, random)
    noises = {each.name: noise(each) for each in ATTRIBUTES}
    columns = {name: noisy(values, noises[name], random) for name, values in made.columns.items()}
    return learn(Noisy(ATTRIBUTES, columns, noises, made.in_group_a.astype(np.int64), 2), method)


@pytest.mark.parametrize("target", MODELS)
def test_formats_hold_the_whole_tree_and_no_counts(target):
    learned = learned_on(lambda each: gaussian(0.25, each.width))
    tree = published(learned, ATTRIBUTES, {"elevel": VALUES}, "group", NAMES)
    again = load_tree(converted(tree, target), "tree")
    assert (again.nodes, again.features, again.quality) == (
        tree.nodes,
        tree.features,
        Quality.ABSENT,
    )
    assert again.learner.saw_noise
    assert len(again.leaves) > 3
    assert all(node.records is None and node.class_counts is None for node in again.nodes)
    assert all(node.score in NAMES for node in again.nodes)


def test_a_text_column_is_asked_for_sets_of_its_first_values():
    learned = learned_on(lambda each: uniform(0.25, each.width), function=3)
    tree = published(learned, ATTRIBUTES, {"elevel": VALUES}, "group", NAMES)
    tests = [node.test for node in tree.nodes if isinstance(node.test, CategoryTest)]
    assert tests
    assert {each.values for each in tests} <= {
        tuple(sorted(VALUES[:count])) for count in range(1, len(VALUES))
    }


def test_a_value_outside_its_domain_goes_the_way_of_the_nearest():
    learned = learned_on(lambda each: gaussian(0.25, each.width), function=1)
    tree = published(learned, ATTRIBUTES, {}, "group", NAMES)
    ends = {each.name: NumericColumn(np.array([each.low, each.high])) for each in ATTRIBUTES}
    far = {each.name: NumericColumn(np.array([-1e12, 1e12])) for each in ATTRIBUTES}
    assert said(tree, far) == said(tree, ends)


def test_a_record_without_a_value_that_is_asked_for_gets_no_prediction():
    learned = learned_on(lambda each: gaussian(0.25, each.width), function=1)
    tree = published(learned, ATTRIBUTES, {}, "group", NAMES)
    nothing = {each.name: NumericColumn(np.array([np.nan])) for each in ATTRIBUTES}
    assert said(tree, nothing) == [None]


def test_what_is_hidden_in_classes_is_split_between_classes_only():
    learned = learned_on(lambda each: ClassNoise(each.low, each.high, each.width / 6.5))
    tests = np.flatnonzero(learned.grown.attribute >= 0)
    assert len(tests)
    for node in tests:
        each = ATTRIBUTES[learned.grown.attribute[node]]
        own = learned.intervals[learned.grown.attribute[node]]
        known = ClassNoise(each.low, each.high, each.width / 6.5).edges
        assert own.edges[learned.grown.code[node] + 1] in known


def test_thresholds_of_whole_numbers_lie_half_way_between_two():
    whole = GeneratedAttribute("whole", 0, 500, is_whole=True)
    own = Intervals(0, 5.01, 100)
    found = [threshold(whole, own, code) for code in range(99)]
    assert {each % 1 for each in found} == {0.5}
    values = np.arange(501.0)
    assert (np.searchsorted(found, values) == own.numbers(values)).all()


def test_records_that_lack_a_value_are_left_out_of_growing():
    random = np.random.default_rng(6)
    made = people(4_000, 1, random)
    noises = {each.name: gaussian(0.25, each.width) for each in ATTRIBUTES}
    columns = {name: noisy(values, noises[name], random) for name, values in made.columns.items()}
    classes = made.in_group_a.astype(np.int64)
    gaps = {name: values.copy() for name, values in columns.items()}
    gaps["age"][:300], gaps["loan"][200:500] = np.nan, np.nan
    rest = {name: values[500:] for name, values in columns.items()}
    found = learn(Noisy(ATTRIBUTES, gaps, noises, classes, 2), Method.LOCAL)
    wanted = learn(Noisy(ATTRIBUTES, rest, noises, classes[500:], 2), Method.LOCAL)
    assert (found.left_out, wanted.left_out) == (500, 0)
    assert found.grown.attribute.tolist() == wanted.grown.attribute.tolist()
    assert found.grown.counts.tolist() == wanted.grown.counts.tolist()


def test_values_that_no_noise_can_make_are_named_by_column_and_row():
    random = np.random.default_rng(6)
    made = people(1_000, 1, random)
    noises = {each.name: uniform(0.25, each.width) for each in ATTRIBUTES}
    columns = {name: noisy(values, noises[name], random) for name, values in made.columns.items()}
    columns["age"][0], columns["age"][41] = np.nan, 500
    classes = made.in_group_a.astype(np.int64)
    with pytest.raises(ValueError, match=r"column 'age', row 42: the value lies further"):
        learn(Noisy(ATTRIBUTES, columns, noises, classes, 2), Method.GLOBAL)
    columns["loan"] = np.full(1_000, np.nan)
    with pytest.raises(ValueError, match="no record has a value in every column"):
        learn(Noisy(ATTRIBUTES, columns, noises, classes, 2), Method.GLOBAL)

"""Weka's stumps, and the Java source of its trees, which is read and never run."""

import itertools

import numpy as np
import pytest

from tests.kit import places
from tests.kit.columns import numeric_column
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.routing import NOWHERE, route
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Quality

DATA = places.DATA
"""Made by tests/data/make_weka_sources.sh."""
STUMPS = DATA / "formats" / "weka_stump" / "good"
MODELS = places.SHARED / "models" / "weka-3.6.14"
SLOTS = ("12: 30", "9 <= 10", "late 'x'")
CLASSES = ("ill: acute", "well", "other")


def words(*values):
    names = tuple(dict.fromkeys(value for value in values if value is not None))
    return CategoricalColumn(
        codes=np.array([-1 if value is None else names.index(value) for value in values]),
        categories=names,
    )


def test_a_stump_has_a_side_for_missing_values():
    tree = read_model(STUMPS / "stump_numeric.weka")
    assert route(tree, {"outcome": words("well", "other", "never seen", None)}).tolist() == [
        1, 2, 2, 3,
    ]  # fmt: skip
    assert [leaf.score for leaf in tree.leaves] == ["no", "yes", "yes"]


def test_the_shares_of_a_stump_are_no_people():
    tree = read_model(STUMPS / "stump_nominal.weka")
    assert (tree.quality, tree.classes) == (Quality.NORMALISED, CLASSES)
    assert tree.leaves[0].class_shares == pytest.approx((1 / 49, 25 / 49, 23 / 49))


def test_a_stump_may_predict_numbers_and_its_value_look_like_a_label():
    tree = read_model(STUMPS / "stump_of_numbers.weka")
    assert tree.nodes[1].test.values == ("ill: acute",)
    assert [leaf.score for leaf in tree.leaves] == pytest.approx([61.4, 45.893333, 48.477778])


@pytest.mark.parametrize("name", ["j48", "j48_binary"])
def test_java_source_is_the_tree_that_is_printed(name):
    source = read_model(DATA / "formats" / "weka_java" / "good" / f"{name}_source.java")
    printed = read_model(DATA / "weka_prints" / f"{name}.txt")
    rows = list(itertools.product([20, 42, 42.5, 43, 50, 51], SLOTS, ("yes", "no")))
    age, slot, smoker = (list(column) for column in zip(*rows, strict=True))
    by_name = {"age at visit": numeric_column(*age), "slot": words(*slot), "smoker": words(*smoker)}
    by_number = {f"attribute {place}": column for place, column in enumerate(by_name.values())}
    said = labels(source, predict(source, by_number))
    assert [CLASSES[int(label)] for label in said] == labels(printed, predict(printed, by_name))


def test_java_source_has_a_side_for_missing_values_and_none_for_new_ones():
    tree = read_model(DATA / "formats" / "weka_java" / "good" / "j48_source.java")
    columns = {
        "attribute 0": numeric_column(20, 20),
        "attribute 1": words(None, "new"),
        "attribute 2": words("no", "no"),
    }
    missing, new = route(tree, columns)
    assert tree.nodes[missing].score == "1"
    assert new == NOWHERE


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}")
def test_the_real_java_source_is_the_tree_that_is_printed():
    source = read_model(MODELS / "j48_source_weather.java.txt")
    printed = read_model(MODELS / "j48_weather.nominal.txt")
    rows = itertools.product(("sunny", "overcast", "rainy"), ("high", "normal"), ("TRUE", "FALSE"))
    outlook, humidity, windy = (words(*column) for column in zip(*rows, strict=True))
    by_name = {"outlook": outlook, "humidity": humidity, "windy": windy}
    by_number = {"attribute 0": outlook, "attribute 2": humidity, "attribute 3": windy}
    said = labels(source, predict(source, by_number))
    names = [("yes", "no")[int(label)] for label in said]
    assert names == labels(printed, predict(printed, by_name))

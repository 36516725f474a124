"""Summaries of rpart trees, as R writes them, route and count as R does."""

import csv

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest, Surrogate
from treewarden.ppdm_models.tree.tree import Missing, Quality

DATA = places.DATA
"""Made by tests/data/make_r_summaries.R."""
GOOD = DATA / "formats" / "rpart_summary" / "good"
MODELS = places.SHARED / "models" / "r-rpart-4.1.19"
needs_models = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)


def predicted():
    with (DATA / "r_predictions" / "rpart_summary.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    numbers = {
        name: NumericColumn(np.array([float(row[name] or "nan") for row in rows]))
        for name in ("age", "hours < 40", "weight")
    }
    codes = np.array([int(row["town"] or 0) - 1 for row in rows])
    return rows, {
        **numbers,
        "town": CategoricalColumn(codes=codes, categories=("1", "2", "3", "4")),
    }


def test_classes_are_predicted_as_in_r_also_by_surrogates_where_values_are_missing():
    rows, columns = predicted()
    tree = read_model(GOOD / "classes.summary")
    assert labels(tree, predict(tree, columns)) == [row["class"] for row in rows]


def test_numbers_are_predicted_as_in_r_within_the_digits_printed():
    rows, columns = predicted()
    tree = read_model(GOOD / "numbers.summary")
    said = predict(tree, columns)[:, 0]
    assert said == pytest.approx([float(row["number"]) for row in rows], rel=1e-6)


def test_counts_of_each_class_are_exact():
    tree = read_model(GOOD / "classes.summary")
    assert (tree.quality, tree.classes) == (Quality.EXACT, ("ill: acute", "other", "well"))
    assert tree.root.class_counts == (37, 55, 28)
    assert all(sum(node.class_counts) == node.records for node in tree.nodes)


def test_levels_of_a_factor_go_by_their_place_and_surrogates_stand_behind_the_split():
    tree = read_model(GOOD / "classes.summary")
    assert isinstance(tree.nodes[1].test, Surrogate)
    assert CategoryTest("town", ("1", "2", "3")) in tree.nodes[1].test.parts
    assert tree.feature("town").values == ("1", "2", "3", "4")


def test_without_surrogates_records_stop_where_a_value_is_missing():
    assert read_model(GOOD / "stays.summary").missing is Missing.LAST_PREDICTION


def test_priors_change_the_shares_and_not_the_counts():
    tree = read_model(GOOD / "priors.summary")
    assert tree.root.class_counts == (37, 55, 28)
    assert tree.root.class_shares == pytest.approx((0.6, 0.2, 0.2))


@needs_models
@pytest.mark.parametrize("name", ["iris", "kyphosis", "kyphosis_priors_loss"])
def test_a_real_summary_is_the_tree_of_the_object(name):
    summary, fit = (read_model(MODELS / f"{name}.{kind}") for kind in ("summary.txt", "json"))
    assert summary.classes == fit.classes
    assert [(n.test, n.score, n.records, n.class_counts) for n in summary.nodes] == [
        (n.test, n.score, n.records, n.class_counts) for n in fit.nodes
    ]

"""H2O's packed trees: read to the last byte, and the same trees as PrintMojo prints."""

import io
import zipfile

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import open_model, read_bytes, read_model
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, Link, Shrinkage
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality

GOOD = places.DATA / "formats" / "h2o_mojo" / "good"
"""Made by tests/data/make_mojos.py."""
MODELS = places.SHARED / "models"
needs_models = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)
RECORDS = {
    "age": NumericColumn(np.array([20.0, 20, 20, 20, 30, 40, np.nan, np.nan])),
    "town": CategoricalColumn(
        codes=np.array([0, 1, 3, -1, 0, 0, 0, 2]), categories=("a", "b", "c", "new")
    ),
    "hours": NumericColumn(np.array([1.0, 1, 1, 1, 1, np.nan, 1, np.nan])),
}


def test_each_record_goes_where_the_packed_tree_sends_it():
    first, second = read_model(GOOD / "two_trees.zip").trees
    scores = [first.nodes[stop].score for stop in route(first, RECORDS)]
    assert scores == [1.0, 2.0, 1.0, 1.0, 3.0, 4.0, 3.0, 4.0]
    scores = [second.nodes[stop].score for stop in route(second, RECORDS)]
    assert scores == [-1.0, -1.0, -1.0, -1.0, -1.0, -1.0, -1.0, 1.0]


def test_the_sum_starts_from_what_the_file_says():
    scores = predict(read_model(GOOD / "two_trees.zip"), RECORDS)
    assert scores[:2, 0].tolist() == [10.5 + 1 - 1, 10.5 + 2 - 1]


def test_records_are_counted_where_they_stand_beside_the_tree():
    first, second = read_model(GOOD / "two_trees.zip").trees
    assert [node.records for node in first.nodes] == [10, 6, 5, 1, 4, 3, 1]
    assert (first.quality, second.quality) == (Quality.EXACT, Quality.ABSENT)


def test_the_order_of_bytes_is_the_one_that_the_file_names():
    little, big = (read_model(GOOD / f"{name}.zip") for name in ("details", "big_endian"))
    assert little.members == big.members


def test_a_tree_may_be_one_leaf():
    model = read_model(GOOD / "one_leaf.zip")
    assert [len(tree.nodes) for tree in model.trees] == [7, 1]


def test_the_learning_rate_stands_in_the_details():
    assert read_model(GOOD / "details.zip").shrinkage == Shrinkage(0.5, 0.0)
    assert read_model(GOOD / "two_trees.zip").shrinkage is None


def test_what_else_the_archive_gives_away_is_found():
    data = read_bytes(GOOD / "details.zip")
    found = open_model(data, "details.zip").leaks
    kinds = [leak.kind for leak in found if not leak.is_possible]
    assert kinds == [
        LeakKind.TIMESTAMP,
        LeakKind.IDENTIFIER,
        LeakKind.CATEGORIES,
        LeakKind.REPLAY,
        LeakKind.TARGET_STATISTICS,
    ]


def test_a_table_in_the_archive_is_found():
    data = io.BytesIO(read_bytes(GOOD / "details.zip"))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("people.csv", "age,flu\n30,yes\n")
    found = open_model(data.getvalue(), "details.zip").leaks
    assert [leak.where for leak in found if leak.kind is LeakKind.UNKNOWN] == [
        "people.csv",
        "anywhere in it",
    ]


def drawn(model, size=5000):
    """Return records on and around thresholds, of known, unknown and missing values."""
    draw = np.random.default_rng(1)
    columns = {}
    for feature in model.features:
        if feature.numeric:
            ends = np.array([0.80078125, 1.7499542, 4.95, 2.6492188, 6.04375])
            numbers = draw.choice(ends, size) + draw.choice([0.0, 1e-3, -1e-3], size)
            columns[feature.name] = NumericColumn(
                np.where(draw.random(size) < 0.1, np.nan, numbers)
            )
        else:
            names = (*feature.values, "never seen")
            codes = draw.integers(-1, len(names), size)
            columns[feature.name] = CategoricalColumn(codes=codes, categories=names)
    return columns


@needs_models
@pytest.mark.parametrize("name", ["drf_iris", "gbm_vote_categorical"])
def test_a_real_archive_holds_the_trees_that_printmojo_prints(name):
    packed = read_model(MODELS / "h2o" / f"{name}.mojo.zip")
    printed = read_model(MODELS / "h2o" / f"{name}.printmojo.json")
    assert isinstance(printed, Ensemble)
    columns = drawn(packed)
    for one, other in zip(packed.trees, printed.trees, strict=False):
        assert len(one.nodes) == len(other.nodes)
        assert [node.records for node in one.nodes] == [node.records for node in other.nodes]
        stops = [
            np.array([node.score or np.nan for node in tree.nodes])[route(tree, columns)]
            for tree in (one, other)
        ]
        np.testing.assert_array_equal(*stops)


@needs_models
def test_all_trees_of_a_real_archive_are_there_and_combined():
    model = read_model(MODELS / "h2o" / "gbm_vote_categorical.mojo.zip")
    assert (len(model.members), model.link, model.target) == (2, Link.LOGISTIC, "Class")
    assert model.sampling.resampled is False  # the details say that every tree saw all records
    shares = predict(model, drawn(model, 50))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)

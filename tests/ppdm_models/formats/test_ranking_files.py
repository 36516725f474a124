"""Trees that rank: the plain text of Elasticsearch's plug-in, RankLib's ensembles, Vespa's XML."""

import numpy as np
import pytest

from tests.kit import places
from tests.kit.columns import numeric_column
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Quality

DATA = places.DATA / "formats"
MODELS = places.SHARED / "models"
needs_models = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)


def scores(path, **columns):
    return predict(read_model(path), columns)[:, 0].tolist()


def test_what_follows_a_split_stands_on_its_right_then_on_its_left():
    path = DATA / "ltr_text" / "good" / "two_trees.ltr"
    found = scores(path, age=numeric_column(30, 20, 20, np.nan), pay=numeric_column(0, 2.4, 2.5, 2))
    assert found == [0.5 * 3 + 2, 0.5 * -1 + 2, 0.5 * 7.5 + 2, 0.5 * -1 + 2]


def test_ranklib_adds_up_and_takes_a_missing_value_as_nothing():
    path = DATA / "ranklib" / "good" / "mart.ranklib"
    found = scores(path, f3=numeric_column(10, 11, 11, np.nan), f1=numeric_column(0, -0.5, 0, 0))
    weight = np.float32(0.1)
    assert found == pytest.approx([weight * (tree + 4) for tree in (-2, 1, 2, -2)])


def test_a_random_forest_of_ranklib_is_the_mean_of_its_ensembles():
    path = DATA / "ranklib" / "good" / "forest.ranklib"
    assert scores(path, f3=numeric_column(10), f1=numeric_column(0)) == [2.0]
    assert read_model(path).sampling.resampled is True


def test_vespa_compares_numbers_and_looks_categories_up():
    path = DATA / "vespa_gbdt" / "good" / "two_trees.xml"
    towns = CategoricalColumn(codes=np.array([0, 1, -1, 0]), categories=("b", "c"))
    found = scores(path, **{"AGE": numeric_column(30, 30, 30, np.nan), "TOWN$": towns})
    assert found == pytest.approx([-0.26, 0.49, 0.49, 0.99])


def test_vespa_tells_how_many_samples_reached_a_node_where_it_says_so():
    first, second = read_model(DATA / "vespa_gbdt" / "good" / "two_trees.xml").trees
    assert [node.records for node in first.nodes] == [10, 6, 4, 2, 4]
    assert (first.quality, second.quality) == (Quality.EXACT, Quality.ABSENT)


@needs_models
def test_the_real_text_scores_as_its_test_says():
    path = MODELS / "ranklib" / "simple_tree.txt"
    (found,) = scores(
        path, feature1=numeric_column(1), feature2=numeric_column(2), feature3=numeric_column(3)
    )
    assert found == pytest.approx(1.2 * 3.4 + 3.2 * 2.8)


@needs_models
def test_the_real_xml_of_vespa_is_read():
    model = read_model(MODELS / "vespa-gbdt-xml" / "gbdt_set_inclusion_test.xml")
    assert [len(tree.leaves) for tree in model.trees] == [4, 4, 4, 2, 6, 6, 1, 3, 2, 3]
    assert "'logistic' loss" in model.notes[0]

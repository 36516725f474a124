"""XGBoost's dumps as text are the same trees as its dumps as JSON, and as its models."""

import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tree.tree import Quality

DATA = places.DATA
"""Made by tests/data/make_xgboost_texts.py."""
MODELS = places.SHARED / "models" / "xgboost"


def test_a_dump_as_text_is_the_dump_as_json():
    text = read_model(DATA / "formats" / "xgboost_text" / "good" / "statistics.txt.dump")
    nested = read_model(DATA / "xgboost_text.json")
    assert text == nested
    assert [note.partition(": ")[2] for note in text.notes] == [
        note.partition(": ")[2] for note in nested.notes
    ]


def test_without_statistics_there_are_no_records():
    trees = list(read_model(DATA / "formats" / "xgboost_text" / "good" / "plain.txt.dump").trees)
    full = read_model(DATA / "formats" / "xgboost_text" / "good" / "statistics.txt.dump")
    assert {tree.quality for tree in trees} == {Quality.ABSENT}
    assert [node.test for tree in trees for node in tree.nodes] == [
        node.test for tree in full.trees for node in tree.nodes
    ]


@pytest.mark.skipif(not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}")
def test_a_real_dump_has_the_trees_of_its_model():
    text = read_model(MODELS / "diabetes_dart.dump.txt")
    model = read_model(MODELS / "diabetes_dart.save_model.json")
    for one, other in zip(text.trees, model.trees, strict=True):
        assert [(n.test, n.score, n.records) for n in one.nodes] == [
            (n.test, n.score, n.records) for n in other.nodes
        ]

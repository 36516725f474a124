"""What our own JSON declares in words and no node has is told as unknown."""

import json

import pytest

from ppdm_models.files.load import open_model, writers
from ppdm_models.tree.leaks import LeakKind
from tests.forests import stump

PLAIN = json.loads(writers()["treewarden_json"].write(stump(30.0, "no", "yes", counts=(9.0, 8.0))))
SENTENCE = "patient 4711 has hiv"


def unknown(document):
    leaks = open_model(json.dumps(document).encode(), "tree.json").leaks
    return [leak.where for leak in leaks if leak.kind is LeakKind.UNKNOWN]


def test_a_plain_tree_has_nothing_beside_it():
    assert unknown(PLAIN) == []


@pytest.mark.parametrize(("values", "where"), [([SENTENCE], ["/features"]), (["1", "2.5"], [])])
def test_words_as_values_of_a_number_are_told(values, where):
    document = json.loads(json.dumps(PLAIN))
    document["features"][0]["values"] = values
    assert unknown(document) == where


@pytest.mark.parametrize(("name", "where"), [(SENTENCE, ["/classes"]), ("severe", [])])
def test_a_sentence_as_a_class_that_nobody_is_in_is_told(name, where):
    document = json.loads(json.dumps(PLAIN))
    document["classes"].append(name)
    assert unknown(document) == where

"""What our own JSON declares in words and no node has is told as unknown."""

import json

import pytest

from tests.kit.forests import stump
from treewarden.ppdm_models.files.load import open_model, writers
from treewarden.ppdm_models.tree.side_channels import LeakKind

PLAIN = json.loads(writers()["treewarden_json"].write(stump(30.0, "no", "yes", counts=(9.0, 8.0))))
SENTENCE = "patient 4711 has hiv"


def unknown(document):
    leaks = open_model(json.dumps(document).encode(), "tree.json").leaks
    return [leak.where for leak in leaks if leak.kind is LeakKind.UNKNOWN]


def test_a_plain_tree_has_nothing_beside_it():
    assert unknown(PLAIN) == []


@pytest.mark.parametrize(
    ("values", "where"), [([SENTENCE], ["/features"]), (["1", "2.5"], ["/features"]), ([], [])]
)
def test_values_of_a_number_are_told_be_they_words_or_numbers(values, where):
    document = json.loads(json.dumps(PLAIN))
    document["features"][0]["values"] = values
    assert unknown(document) == where


@pytest.mark.parametrize(("name", "where"), [(SENTENCE, ["/classes"]), ("severe", [])])
def test_a_sentence_as_a_class_that_nobody_is_in_is_told(name, where):
    document = json.loads(json.dumps(PLAIN))
    document["classes"].append(name)
    assert unknown(document) == where


def test_numbers_that_the_treatments_of_a_number_list_are_told_but_signs_for_no_value():
    document = json.loads(json.dumps(PLAIN))
    feature = document["features"][0]
    feature["treatments"] = [{"missing": [-1.0, -999.0]}]
    assert unknown(document) == []
    feature["treatments"] = [{"values": [float(age) for age in range(20, 60)]}]
    assert unknown(document) == ["/features"]
    feature["treatments"] = [{"missing": [float(age) for age in range(20, 60)]}]
    assert unknown(document) == ["/features"]

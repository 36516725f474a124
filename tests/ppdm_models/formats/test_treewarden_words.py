"""Our own JSON holds words of lists, names of the model and numbers, and no text that nobody judges."""

import json

import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import formats, open_model
from treewarden.ppdm_models.formats.sklearn._arrays import UNMODELLED
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import SPLIT_SETTINGS, Learner

JSON = formats()["treewarden_json"]
GOOD = json.loads((places.DATA / "formats/treewarden_json/bad/unknown_score.json").read_text())
GOOD["nodes"][1]["score"] = "yes"
SECRET = "Anna Schmidt, 30, has HIV"


def leaks(document):
    return [leak.kind for leak in open_model(json.dumps(document).encode(), "t.json").leaks]


@pytest.mark.parametrize("words", [(), ("class_weight",), ("cost", "monotonic_cst")])
def test_settings_that_are_known_are_read_and_written_again(words):
    document = {**GOOD, "learner": {"criterion": "gini", "unmodelled": list(words)}}
    tree = open_model(json.dumps(document).encode(), "t.json").model
    assert tree.learner == Learner(tree.learner.criterion, unmodelled=words)
    assert open_model(JSON.write(tree), "t.json").model == tree


def test_whatever_readers_note_of_settings_is_known():
    assert set(UNMODELLED) <= set(SPLIT_SETTINGS)


@pytest.mark.parametrize("key", ["missing", "invalid", "values", "replacement"])
def test_a_value_in_a_treatment_that_no_feature_declares_is_told(key):
    def told(value):
        treatment = {key: value if key == "replacement" else [value]}
        outlook = {**GOOD["features"][1], "treatments": [treatment]}
        return leaks({**GOOD, "features": [GOOD["features"][0], outlook]})

    assert told("?") == []
    assert told("sunny") == []
    assert told(SECRET) == [LeakKind.UNKNOWN]


def test_a_node_that_is_called_by_a_sentence_is_told():
    nodes = [{**node, "id": SECRET} if node["id"] == "2" else node for node in GOOD["nodes"]]
    assert leaks({**GOOD, "nodes": nodes}) == [LeakKind.UNKNOWN]

"""What an XGBoost file holds in another shape than the library writes is told as unknown."""

import json

import pytest

from ppdm_models.files.load import open_model
from ppdm_models.tree.leaks import LeakKind
from tests.grown_models import FOLDER

TEXT = (FOLDER / "numbers_xgboost.json").read_text()
LEARNER = ("learner",)
BOOSTER = (*LEARNER, "gradient_booster")
MODEL = (*BOOSTER, "model")
TREE = (*MODEL, "trees", 0)
STRANGE = {
    "a key of the objective": ((*LEARNER, "objective", "anna schmidt"), "ill"),
    "an object in the objective": ((*LEARNER, "objective", "x"), {"63 1 145": "1"}),
    "a parameter": ((*LEARNER, "learner_model_param", "anna"), "63 1 145"),
    "a parameter of a tree": ((*TREE, "tree_param", "anna schmidt"), "1"),
    "a list as the best score": ((*LEARNER, "attributes", "best_score"), "0,1,1,0"),
    "rounds": ((*MODEL, "iteration_indptr"), [0, 63, 145]),
    "weights of no dart": ((*BOOSTER, "weight_drop"), ["anna", 63]),
    "a booster beside it": ((*BOOSTER, "gbtree"), {"name": "anna"}),
    "categories": ((*TREE, "categories"), [63, 1, 145]),
    "sizes of sets": ((*TREE, "categories_sizes"), [63, 1, 145]),
    "nodes of sets": ((*TREE, "categories_nodes"), [63, 1, 145]),
    "vectors": ((*TREE, "leaf_weights"), [63, 1, 145]),
    "counts": ((*TREE, "leaf_child_counts"), [63, 1, 145]),
    "types": ((*LEARNER, "feature_types"), ["anna", "bert"]),
    "a version": (("version",), [63, 1145, 1]),
    "a number of a tree": ((*TREE, "id"), 63),
}


def unknown(text):
    leaks = open_model(text.encode(), "m.json").leaks
    return {leak.where for leak in leaks if leak.kind is LeakKind.UNKNOWN}


@pytest.mark.parametrize("case", STRANGE)
def test_what_the_library_does_not_write_is_told(case):
    (*steps, last), value = STRANGE[case]
    document = json.loads(TEXT)
    assert not unknown(json.dumps(document))
    part = document
    for step in steps:
        part = part[step]
    part[last] = value
    assert unknown(json.dumps(document))

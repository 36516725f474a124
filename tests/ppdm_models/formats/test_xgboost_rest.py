"""What an XGBoost file holds in another shape than the library writes is told as unknown, never an error of ours."""

import json

import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.rows import rows
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.xgboost._growth import _parsed
from treewarden.ppdm_models.formats.xgboost._shapes import is_learner_parameters, is_objective
from treewarden.ppdm_models.formats.xgboost.xgboost_model import FORMAT
from treewarden.ppdm_models.tree.ensemble import first_members
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Task

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
    "weights of trees": ((*MODEL, "weight_drop"), [63, 1, 145]),
    "more weights than trees": ((*MODEL, "weight_drop"), [1.0] * 4),
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


PLANTED = ({"anna schmidt": "ill"}, ["ill"], "anna is ill", True, None)
COLUMNS = sorted(json.loads(TEXT)["learner"]["gradient_booster"]["model"]["trees"][0])


def unknown(text):
    leaks = open_model(text.encode(), "m.json").leaks
    return {leak.where for leak in leaks if leak.kind is LeakKind.UNKNOWN}


@rows("case", STRANGE)
def test_what_the_library_does_not_write_is_told(case):
    (*steps, last), value = STRANGE[case]
    document = json.loads(TEXT)
    assert not unknown(json.dumps(document))
    part = document
    for step in steps:
        part = part[step]
    part[last] = value
    assert unknown(json.dumps(document))


def test_weights_of_one_for_each_tree_as_later_versions_write_them_are_known():
    document = json.loads(TEXT)
    model = document["learner"]["gradient_booster"]["model"]
    model["weight_drop"] = [1.0] * len(model["trees"])
    raw = json.dumps(document).encode()
    file = FORMAT.open(raw, "m.json")
    assert not unknown(raw.decode())
    assert not unknown(file.rewrite(first_members(file.model, 2)).decode())


@pytest.mark.parametrize("has_categories", [False, True])
def test_the_layout_of_versions_before_2_is_known(has_categories):
    document = json.loads(TEXT)
    learner = document["learner"]
    model = learner["gradient_booster"]["model"]
    learner["learner_model_param"] = {"base_score": "5E-1", "num_class": "0", "num_feature": "3"}
    learner["attributes"] = {"best_iteration": "2", "best_ntree_limit": "3"}
    model["gbtree_model_param"] |= {"size_leaf_vector": "0"}
    del model["iteration_indptr"]
    model.pop("cats", None)
    for tree in model["trees"]:
        tree["default_left"] = [bool(each) for each in tree["default_left"]]
        tree["leaf_child_counts"] = [0] * len(tree["left_children"])
        for key in [key for key in tree if key.startswith("categories")]:
            if not has_categories:
                del tree[key]
        if not has_categories:
            tree.pop("split_type", None)
    document["version"] = [1, 7 if has_categories else 0, 2]
    assert not unknown(json.dumps(document, sort_keys=True))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("author", "anna schmidt, 30, has it"),
        ("note", "2020-01-02 10:11 anna schmidt has it"),
        ("made", "anna has it: /home/jo/model.json"),
    ],
)
def test_a_sentence_is_no_origin_whatever_its_attribute_is_called(name, value):
    document = json.loads(TEXT)
    document["learner"].setdefault("attributes", {})[name] = value
    text = json.dumps(document)
    assert unknown(text) == {f"/learner/attributes/{name}"}
    bare = FORMAT.open(text.encode(), "m.json").without(frozenset(LeakKind))
    assert not unknown(bare.decode())


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("author", "jdoe", LeakKind.AUTHOR),
        ("made", "2020-01-02 10:11", LeakKind.TIMESTAMP),
        ("file", "/home/jo/model.json", LeakKind.PATH),
    ],
)
def test_a_maker_a_moment_and_a_place_are_origin(name, value, kind):
    document = json.loads(TEXT)
    document["learner"].setdefault("attributes", {})[name] = value
    leaks = open_model(json.dumps(document).encode(), "m.json").leaks
    assert kind in [leak.kind for leak in leaks]
    assert not unknown(json.dumps(document))


def part_of(document, steps):
    for step in steps:
        document = document[step]
    return document


@pytest.mark.parametrize("key", [key for key in COLUMNS if key not in ("id", "tree_param")])
@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_what_is_no_number_in_a_column_of_a_tree_is_told_or_refused(key, planted):
    document = json.loads(TEXT)
    column = part_of(document, TREE)[key]
    column[:1] = [planted]
    if planted is True and key == "default_left":
        return  # as the library wrote it before version 2
    try:
        assert unknown(json.dumps(document))
    except TreeFormatError:
        return


def test_a_regression_has_no_classes():
    model = open_model(TEXT.encode(), "m.json").model
    assert model.task is Task.REGRESSION
    assert model.classes == ()


@pytest.mark.parametrize("output", [1, -1])
def test_a_tree_of_an_output_that_the_model_lacks_is_refused(output):
    document = json.loads(TEXT)
    part_of(document, MODEL)["tree_info"][0] = output
    with pytest.raises(TreeFormatError, match="does not state the output of each tree"):
        open_model(json.dumps(document).encode(), "m.json")


@pytest.mark.parametrize("key", ["left_children", "right_children"])
def test_a_tree_with_a_child_on_one_side_only_is_refused(key):
    document = json.loads(TEXT)
    part_of(document, TREE)[key].pop()
    with pytest.raises(TreeFormatError, match="must have one value for each"):
        open_model(json.dumps(document).encode(), "m.json")


@pytest.mark.parametrize("version", [[], None, "3.0"])
def test_a_file_without_a_version_is_read_as_the_oldest(version):
    document = json.loads(TEXT)
    document["version"] = version
    read = open_model(json.dumps(document).encode(), "m.json").model
    assert read.members == open_model(TEXT.encode(), "m.json").model.members


def leaf_of(tree):
    return tree["left_children"].index(-1)


@pytest.mark.parametrize(
    ("key", "number"),
    [
        ("right_children", 47),
        ("split_indices", 1),
        ("loss_changes", 0.5),
        ("default_left", 1),
        ("split_type", 1),
    ],
)
def test_what_only_a_split_node_has_is_told_at_a_leaf(key, number):
    document = json.loads(TEXT)
    tree = part_of(document, TREE)
    tree[key][leaf_of(tree)] = number
    assert unknown(json.dumps(document))


@pytest.mark.parametrize(
    ("steps", "value"),
    [
        ((*TREE, "sum_hessian", 0), 4711.0),
        ((*TREE, "parents", 0), 4711),
        ((*TREE, "default_left", 0), 4711),
        ((*TREE, "tree_param", "num_nodes"), "4711"),
        ((*TREE, "tree_param", "num_feature"), "4711"),
        ((*TREE, "tree_param", "num_deleted"), "4711"),
        ((*MODEL, "gbtree_model_param", "num_trees"), "4711"),
        ((*MODEL, "gbtree_model_param", "num_parallel_tree"), "4711"),
        ((*LEARNER, "learner_model_param", "boost_from_average"), "4711"),
        ((*LEARNER, "feature_types"), [{"anna": "ill"}] * 2),
        ((*LEARNER, "feature_types"), [["ill"]] * 2),
    ],
)
def test_a_number_that_the_rest_of_the_file_contradicts_is_told(steps, value):
    document = json.loads(TEXT)
    part_of(document, steps[:-1])[steps[-1]] = value
    assert unknown(json.dumps(document))


PLAIN = {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}


@pytest.mark.parametrize("strange", [[], {}, [[]], None, {"a": []}, 1, "1\n"])
def test_an_objective_of_another_shape_is_none(strange):
    assert is_objective(PLAIN, 1)
    assert not is_objective({**PLAIN, "name": strange}, 1)
    assert not is_objective({**PLAIN, "reg_loss_param": strange}, 1) or strange == {}
    if strange != 1:
        assert not is_objective({**PLAIN, "reg_loss_param": {"scale_pos_weight": strange}}, 1)
        assert not is_learner_parameters({"base_score": strange}, 1)


def test_settings_of_a_hundred_thousand_letters_are_not_read():
    text = json.dumps("x" * 99_997)
    assert len(text) == 99_999
    assert _parsed(text) == "x" * 99_997
    assert _parsed(text + " ") is None

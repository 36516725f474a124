"""The way an XGBoost file is written holds no message: blanks, digits, orders of keys are found and go."""

import json
from dataclasses import replace

from tests.kit.grown_models import FOLDER
from tests.ppdm_models.formats.accounting import ALL
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.xgboost._ubjson import read_ubjson
from treewarden.ppdm_models.formats.xgboost.xgboost_model import FORMAT
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.predicate import MissingTest
from treewarden.ppdm_models.tree.side_channels import LeakKind

NAMES = ("plain", "three", "numbers_xgboost", "numbers_scored", "dart")
RAW = (FOLDER / "plain.json").read_bytes()


def layouts(data):
    leaks = open_model(data, "m.json").leaks
    return [leak.what for leak in leaks if leak.kind is LeakKind.UNKNOWN]


def rebuilt(change):
    document = json.loads(RAW)
    change(document, document["learner"]["gradient_booster"]["model"]["trees"][0])
    return json.dumps(document).encode()


def put_digits(document, tree):
    tree["sum_hessian"][0] = tree["sum_hessian"][0] * (1 + 4e-9)


def put_order(document, tree):
    tree["base_weights"] = tree.pop("base_weights")


def test_files_of_the_library_and_what_other_programs_make_of_them_are_plain():
    for name in NAMES:
        data = (FOLDER / f"{name}.json").read_bytes()
        document = json.loads(data)
        for written in (
            data,
            json.dumps(document).encode(),
            json.dumps(document, indent=2).encode(),
        ):
            assert layouts(written) == [], name
    binary = (FOLDER.parent / "shrunk" / "model.ubj").read_bytes()
    assert layouts(binary) == []


def test_messages_in_digits_orders_and_blanks_are_found_and_go():
    blanks = RAW.replace(b",", b",  ", 1)
    for data in (rebuilt(put_digits), rebuilt(put_order), blanks):
        assert len(layouts(data)) == 1
        file = FORMAT.open(data, "m.json")
        clean = file.without(ALL)
        assert layouts(clean) == []
        assert open_model(clean, "m").model.members == file.model.members


def test_digits_of_a_start_that_no_number_of_32_bits_needs_are_found():
    def put_start(document, tree):
        document["learner"]["learner_model_param"]["base_score"] = "[5.0000000440712E-1]"

    assert layouts(rebuilt(put_start)) == ["an unknown part"]


def prune(document, tree):
    """Make a leaf of a node with two leaves, as the library's pruner does: what it was split by stays."""
    left, right = tree["left_children"], tree["right_children"]
    node = next(
        n for n, child in enumerate(left) if child > 0 and left[child] == left[right[n]] == -1
    )
    left[node] = right[node] = -1
    tree["split_conditions"][node] = 0.125
    tree["tree_param"]["num_deleted"] = "2"


def test_nodes_that_were_pruned_are_found_and_go():
    data = rebuilt(prune)
    file = open_model(data, "m.json")
    unknown = [leak for leak in file.leaks if leak.kind is LeakKind.UNKNOWN]
    assert {leak.removable for leak in unknown} == {True}
    clean = open_model(file.opened.without(ALL), "m.json")
    assert clean.leaks == ()
    for old, new in zip(trees_of(file.model), trees_of(clean.model), strict=True):
        assert [leaf.score for leaf in old.leaves] == [leaf.score for leaf in new.leaves]
        assert [node.test for node in old.nodes] == [node.test for node in new.nodes]


def test_a_leaf_with_another_score_is_written_and_the_others_stay():
    file = FORMAT.open(RAW, "m.json")
    first, *others = file.model.members
    leaf = first.model.leaves[0]
    nodes = list(first.model.nodes)
    nodes[leaf.index] = replace(leaf, score=0.25)
    changed = replace(first, model=replace(first.model, nodes=tuple(nodes)))
    written = file.rewrite(replace(file.model, members=(changed, *others)))
    (read, *rest) = (tree.leaves for tree in trees_of(open_model(written, "m.json").model))
    (old, *old_rest) = (tree.leaves for tree in trees_of(file.model))
    assert [leaf.score for leaf in read] == [0.25, *(leaf.score for leaf in old[1:])]
    assert [[leaf.score for leaf in tree] for tree in rest] == [
        [leaf.score for leaf in tree] for tree in old_rest
    ]


def test_an_indicator_of_a_dump_sends_those_who_have_the_value_to_yes():
    leaves = [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}]
    node = {"nodeid": 0, "depth": 0, "split": "a", "yes": 1, "no": 2, "children": leaves}
    (tree,) = trees_of(open_model(json.dumps([node]).encode(), "d.json").model)
    yes, no = (tree.nodes[child].test for child in tree.root.children)
    assert (yes, no) == (MissingTest("a", negated=True), MissingTest("a"))


def test_tests_on_indicators_are_counted_and_a_dump_without_any_says_nothing_of_them():
    leaves = [{"nodeid": 1, "leaf": 1.0}, {"nodeid": 2, "leaf": 2.0}]
    indicator = {"nodeid": 0, "depth": 0, "split": "a", "yes": 1, "no": 2, "children": leaves}
    number = {**indicator, "split_condition": 0.5, "missing": 1}

    def notes(*trees):
        read = open_model(json.dumps(trees).encode(), "d.json").model
        return [note for note in read.notes if "indicators" in note]

    assert notes(number, number) == []
    assert [note.split(" tests on")[0] for note in notes(indicator, indicator)] == ["d.json: 2"]


def test_constants_of_ubjson_are_values():
    data = b"{i\x01aZi\x01bTi\x01cF}"
    assert read_ubjson(data, "m.ubj") == {"a": None, "b": True, "c": False}

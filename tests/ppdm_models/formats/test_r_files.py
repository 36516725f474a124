"""Trees of R: what is read from them predicts what R predicts, and counts what R counted."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.rare.partykit_text import FORMAT as PARTYKIT
from treewarden.ppdm_models.formats.rare.r_forest_json import FORMAT as FORESTS
from treewarden.ppdm_models.formats.rare.rpart_json import FORMAT as OBJECT
from treewarden.ppdm_models.formats.rare.rpart_text import FORMAT as PRINTED
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Missing, Quality

DATA = places.DATA
GOOD = DATA / "formats"
NAMES = ["plain", "gaps", "stay", "none", "prior", "weighted", "costs", "tie", "heavy"]
NUMERIC = ("age", "pay")


def table(name):
    with (DATA / "r_predictions" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def column(rows, name):
    if name in NUMERIC:
        return NumericColumn(np.array([float(row[name] or "nan") for row in rows]))
    values = tuple(sorted({row[name] for row in rows} - {""}))
    codes = np.array([values.index(row[name]) if row[name] else -1 for row in rows])
    return CategoricalColumn(codes=codes, categories=values)


RECORDS = table("rpart_records.csv")
COLUMNS = {name: column(RECORDS, name) for name in ("age", "pay", "job", "band")}
COMPLETE = np.array([all(row[name] for name in COLUMNS) for row in RECORDS])


def read(reader, path):
    return reader.open((GOOD / path).read_bytes(), Path(path).name).model


def said_by_r(name):
    rows = table(f"rpart_{name}.predicted.csv")
    return np.array([[float(value) for value in row.values()] for row in rows])


@pytest.mark.parametrize("name", NAMES)
def test_an_rpart_object_predicts_what_r_predicts_missing_values_too(name):
    tree = read(OBJECT, f"rpart_json/good/{name}.json")
    np.testing.assert_allclose(predict(tree, COLUMNS), said_by_r(name), rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_printed_rpart_tree_has_the_regions_and_sizes_of_its_object(name):
    printed = read(PRINTED, f"rpart_text/good/{name}.txt")
    whole = read(OBJECT, f"rpart_json/good/{name}.json")
    assert {node.name for node in printed.nodes} == {node.name for node in whole.nodes}
    if printed.task != "regression":
        assert {node.name: node.score for node in printed.nodes} == {
            n.name: n.score for n in whole.nodes
        }
    answers = predict(printed, COLUMNS)[COMPLETE]
    assert not np.isnan(answers).any()
    if name in ("plain", "gaps", "stay", "none"):
        np.testing.assert_allclose(answers, said_by_r(name)[COMPLETE], atol=1e-7)


@pytest.mark.parametrize(
    ("name", "printed", "whole"),
    [
        ("plain", Quality.DERIVED, Quality.EXACT),
        ("stay", Quality.DERIVED, Quality.EXACT),
        ("prior", Quality.WEIGHTED, Quality.EXACT),
        ("weighted", Quality.WEIGHTED, Quality.WEIGHTED),
        ("costs", Quality.EXACT, Quality.EXACT),
    ],
)
def test_weights_and_priors_are_told_from_counts(name, printed, whole):
    assert read(PRINTED, f"rpart_text/good/{name}.txt").quality is printed
    assert read(OBJECT, f"rpart_json/good/{name}.json").quality is whole


def test_counts_printed_as_shares_are_those_of_the_object():
    printed = {
        node.name: node.class_counts for node in read(PRINTED, "rpart_text/good/plain.txt").nodes
    }
    whole = {
        node.name: node.class_counts for node in read(OBJECT, "rpart_json/good/plain.json").nodes
    }
    assert printed == whole


def test_a_label_with_a_comma_stays_one_label():
    tree = read(PRINTED, "rpart_text/good/plain.txt")
    named = {
        v for node in tree.nodes if isinstance(node.test, CategoryTest) for v in node.test.values
    }
    assert "smith, black" in named


@pytest.mark.parametrize(
    ("name", "rule"), [("stay", Missing.LAST_PREDICTION), ("plain", Missing.NONE)]
)
def test_records_that_no_child_holds_have_stopped(name, rule):
    assert read(PRINTED, f"rpart_text/good/{name}.txt").missing is rule


def test_splits_that_were_not_used_are_a_leak():
    data = (GOOD / "rpart_json/good/plain.json").read_bytes()
    assert [leak.kind for leak in OBJECT.open(data, "plain.json").leaks] == [
        LeakKind.TARGET_STATISTICS,
        LeakKind.REPLAY,
        LeakKind.UNKNOWN,
    ]


def test_what_the_object_keeps_of_every_record_is_a_leak():
    said = json.loads((GOOD / "rpart_json/good/plain.json").read_bytes())
    said |= {"y": [1, 2, 1], "where": [2, 3, 2], "weights": []}
    found = OBJECT.open(json.dumps(said).encode(), "x").leaks[2:4]
    assert [(leak.kind, leak.where, leak.records) for leak in found] == [
        (LeakKind.RAW_RECORDS, "/y", 3),
        (LeakKind.PER_RECORD, "/where", 3),
    ]


def test_partykit_prints_errors_that_give_counts():
    tree = read(PARTYKIT, "partykit_text/good/partykit_plain.txt")
    whole = read(OBJECT, "rpart_json/good/plain.json")
    right = {max(leaf.class_counts) for leaf in whole.leaves}
    assert {max(c for c in leaf.class_counts if c is not None) for leaf in tree.leaves} == right
    assert (tree.quality, tree.target) == (Quality.DERIVED, "ill")


def test_partykit_prints_numbers():
    tree = read(PARTYKIT, "partykit_text/good/partykit_costs.txt")
    whole = read(OBJECT, "rpart_json/good/costs.json")
    np.testing.assert_allclose(
        [leaf.score for leaf in tree.leaves], [leaf.score for leaf in whole.leaves], rtol=1e-3
    )
    assert sum(leaf.records for leaf in tree.leaves) == len(RECORDS)


def test_party_prints_sizes_and_no_prediction():
    tree = read(PARTYKIT, "partykit_text/good/party_ctree.txt")
    assert {leaf.score for leaf in tree.leaves} == {None}
    assert (tree.root.records, tree.quality) == (240, Quality.EXACT)


@pytest.mark.parametrize(
    "text",
    [
        "Fitted party:\n[1] root: no (n = 9, err = 0.0%)\n",
        "Conditional inference tree with 1 terminal nodes\n\n1)*  weights = 9 \n",
    ],
)
def test_a_printed_tree_that_is_one_leaf_is_read(text):
    tree = PARTYKIT.open(text.encode(), "t").model
    assert (len(tree.nodes), tree.root.records) == (1, 9)


def test_records_of_a_class_that_no_leaf_predicts_are_not_given_to_another():
    text = "Fitted party:\n[1] root\n|   [2] a <= 1: x (n = 10, err = 20.0%)\n|   [3] a > 1: y (n = 5, err = 0.0%)\n"
    tree = PARTYKIT.open(text.encode(), "t").model
    assert [leaf.class_counts for leaf in tree.leaves] == [(8, None), (0, 5)]


@pytest.mark.parametrize(("name", "said"), [("randomforest", "forest"), ("ranger_votes", "votes")])
def test_a_forest_of_r_predicts_what_r_predicts(name, said):
    rows = table("r_forests.predicted.csv")
    model = read(FORESTS, f"r_forest_json/good/{name}.json")
    scores = predict(model, {feature: column(rows, feature) for feature in NUMERIC})
    if said == "forest":
        shares = [float(row[said]) for row in rows]
        np.testing.assert_allclose(scores[:, model.classes.index("yes")], shares, rtol=1e-9)
    else:
        assert labels(model, scores) == [row[said] for row in rows]


def test_levels_that_ranger_lists_are_categories():
    model = read(FORESTS, "r_forest_json/good/ranger.json")
    kinds = {feature.name: feature.numeric for feature in model.features}
    assert kinds == {"age": True, "pay": True, "job": False}
    assert {tree.quality for tree in model.trees} == {Quality.NORMALISED}
    assert model.sampling.resampled


@pytest.mark.parametrize(
    ("call", "unmodelled"),
    [
        ("rpart(formula = ill ~ age, data = d)", ()),
        ("rpart(formula = ill ~ cost, data = d)", ()),
        ("rpart(formula = ill ~ age, data = d, cost = c(1, 2))", ("cost",)),
    ],
)
def test_costs_of_attributes_had_a_part_in_the_choice_of_splits(call, unmodelled):
    said = json.loads((GOOD / "rpart_json/good/plain.json").read_bytes())
    tree = OBJECT.open(json.dumps({**said, "call": [call]}).encode(), "x").model
    assert tree.learner.unmodelled == unmodelled


@pytest.mark.parametrize("name", ["parted_class", "parted_poisson", "parted_exp"])
def test_an_object_with_the_names_that_jsonlite_drops_predicts_what_r_predicts(name):
    tree = read(OBJECT, f"rpart_json/good/{name}.json")
    np.testing.assert_allclose(predict(tree, COLUMNS), said_by_r(name), rtol=1e-9)
    assert tree.quality is Quality.EXACT


def test_an_object_written_by_force_predicts_where_no_value_is_missing_and_nothing_elsewhere():
    tree = read(OBJECT, "rpart_json/good/forced_anova.json")
    tested = {feature.name for feature in tree.used_features()}
    there = np.array([all(row[name] for name in tested) for row in RECORDS])
    said = predict(tree, COLUMNS)
    np.testing.assert_allclose(said[there], said_by_r("forced_anova")[there], rtol=1e-9)
    assert np.isnan(said[~there]).any()
    assert any("path of missing values is unknown" in note for note in tree.notes)
    assert {leak.kind for leak in OBJECT.open(forced(), "x").leaks} >= {LeakKind.RAW_RECORDS}


def forced(**changes):
    held = json.loads((GOOD / "rpart_json/good/forced_anova.json").read_bytes())
    return json.dumps({**held, **changes}).encode()


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        (
            {"method": ["class"]},
            r'"ylevels" .the classes. is missing; write it too: ylevels = attr',
        ),
        ({"splits": [[1, 2]]}, "a split has 2 numbers instead of"),
        ({"splits": [[150, 3, 1.0, 1, 0]]}, "splits"),
    ],
)
def test_an_object_written_by_force_that_is_no_tree_is_refused(changes, problem):
    with pytest.raises(TreeFormatError, match=problem):
        OBJECT.open(forced(**changes), "x")


def test_a_frame_that_ends_too_early_is_refused():
    frame = json.loads(forced())["frame"]
    for cut in (frame[:-1], [*frame, frame[-1]]):
        with pytest.raises(TreeFormatError, match="does not form a tree"):
            OBJECT.open(forced(frame=cut), "x")


FACTORS = table("r_factors.predicted.csv")


@pytest.mark.parametrize(
    "name",
    ["randomforest_levels", "ranger_ignore", "ranger_order", "ranger_partition", "ranger_one"],
)
def test_a_forest_over_factors_predicts_what_r_predicts_by_the_levels_beside_its_trees(name):
    forest = read(FORESTS, f"r_forest_json/good/{name}.json")
    columns = {each: column(FACTORS, each) for each in ("age", "pay", "job", "grade")}
    scores = predict(forest, columns)
    shares = scores[:, forest.classes.index("yes")]
    if name == "randomforest_levels":
        shares = shares / scores.sum(axis=1)
    expected = [float(row[name]) for row in FACTORS]
    np.testing.assert_allclose(shares, expected, atol=1e-4 if name == "ranger_one" else 1e-9)


def test_a_level_that_no_factor_has_is_refused():
    said = json.loads((GOOD / "r_forest_json/good/ranger_partition.json").read_bytes())
    said["levels"]["job"] = said["levels"]["job"][:1]
    with pytest.raises(TreeFormatError, match="a level does not belong to the 1 levels of 'job'"):
        FORESTS.open(json.dumps(said).encode(), "x")

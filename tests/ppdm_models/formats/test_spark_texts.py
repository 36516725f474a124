"""Spark's trees as printed text, and as rows of their tables, are those of the saved model."""

import numpy as np
import pytest

from tests.kit import places
from tests.kit.columns import numeric_column
from treewarden.ppdm_models.files.load import open_model, read_bytes, read_model
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Combination, Link, trees_of
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Criterion, Quality, Task

DATA = places.DATA / "formats"
MODELS = places.SHARED / "models" / "spark-4.3.0"
needs_models = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)


def text(name):
    return read_model(DATA / "spark_text" / "good" / f"{name}.debug")


def rows(name):
    return read_model(DATA / "spark_rows" / "good" / f"{name}.jsonl")


def test_a_printed_tree_sends_records_as_its_lines_say():
    tree = text("tree")
    columns = {
        "f2": numeric_column(2.5, 3, 3, np.nan),
        "f3": CategoricalColumn(codes=np.array([0, 0, 1, -1]), categories=("2", "1")),
    }
    assert [tree.nodes[stop].score for stop in route(tree, columns)] == ["0", "2", "1", "1"]
    assert (tree.classes, tree.quality) == (("0", "1", "2"), Quality.ABSENT)


def test_boosted_trees_are_summed_with_their_weights():
    model = text("boosted")
    shares = predict(model, {"f0": numeric_column(1.5)})
    assert shares[0, 1] == pytest.approx(1 / (1 + np.exp(2 * (1.0 - 0.05))))


def test_a_printed_forest_for_numbers_is_their_mean():
    assert predict(text("forest"), {"f0": numeric_column(-1)})[0, 0] == 3.0


def test_an_infinite_threshold_leaves_only_missing_values_to_the_right():
    tree = text("mllib")
    assert route(tree, {"f0": numeric_column(1e300, np.nan)}).tolist() == [1, 2]


def test_rows_of_class_counts_are_told_from_rows_of_sums():
    classes, sums = rows("classes"), rows("numbers")
    assert (classes.task, classes.learner.criterion) == (Task.CLASSIFICATION, Criterion.GINI)
    assert (sums.task, sums.classes) == (Task.REGRESSION, ())
    assert [node.records for node in sums.nodes] == [3, 1, 2]
    assert classes.root.class_counts == (4, 4)


def test_what_the_trees_of_a_table_for_numbers_sum_to_is_not_known():
    model = rows("forest")
    assert (model.combination, model.link) == (Combination.SUM, Link.UNKNOWN)


def test_sums_and_squares_of_few_records_give_their_targets_away():
    path = DATA / "spark_rows" / "good" / "numbers.jsonl"
    leak, rest = open_model(read_bytes(path), path.name).leaks
    assert rest.is_possible
    assert (leak.kind, leak.records) == (LeakKind.EXACT_TARGETS, 1)


@needs_models
@pytest.mark.parametrize("kind", ["data.jsonl", "toDebugString.txt"])
@pytest.mark.parametrize("name", ["dtc_iris", "gbtc_vote_3"])
def test_a_real_text_or_table_is_the_saved_model(name, kind):
    one, other = read_model(MODELS / f"{name}.{kind}"), read_model(MODELS / f"{name}.model.zip")
    for tree, saved in zip(trees_of(one), trees_of(other), strict=True):
        assert len(tree.nodes) == len(saved.nodes)
        columns = {}
        draw = np.random.default_rng(1)
        for feature in saved.features:
            ends = draw.choice([0.0, 1.5, 1.6, 1.75, 2.45, 4.85, 4.95, 5.95, 9.0], 500)
            codes = draw.integers(0, 3, 500)
            columns[feature.name] = (
                NumericColumn(ends)
                if feature.numeric
                else CategoricalColumn(codes=codes, categories=("0", "1", "2"))
            )
        said, known = (
            [part.nodes[stop].score for stop in route(part, columns)] for part in (tree, saved)
        )
        assert said == pytest.approx(known, abs=1e-9) if saved.classes == () else said == known


@pytest.mark.parametrize(
    "head", ["uid=anna has it", "uid=dtc_1, anna has it", "uid=anna schmidt, depth=2"]
)
def test_the_head_of_a_printed_model_holds_its_name_and_size_and_no_sentence(head):
    printed = (DATA / "spark_text" / "good" / "tree.debug").read_text()
    assert "uid=dtc_1, depth=2" in printed
    assert not open_model(printed.encode(), "t.debug").leaks
    leaks = open_model(printed.replace("uid=dtc_1, depth=2", head).encode(), "t.debug").leaks
    assert [leak.kind for leak in leaks] == [LeakKind.UNKNOWN]

"""What the choice of splits and the shape of a tree say, from the file and the table to the verdict."""

from pathlib import Path

import pandas as pd
import pytest

import treewarden as tw

FOLDER = Path(__file__).parents[1] / "data/choices"
CLAUSE = {"id": "c", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}
NOBODY = {"name": "nobody", "version": "1", "title": "Nobody is certain", "clause": [CLAUSE]}
SHAPES = ("counted_inner_nodes.pmml", "labels_only.pmml", "labelled_leaves_only.pmml")


def audited(model, table, **options):
    """Return the audit of a file in the folder, or of a model, by all that whole records prove."""
    model = str(FOLDER / model) if isinstance(model, str) else model
    table = pd.read_csv(FOLDER / table) if isinstance(table, str) else table
    settings = {"sensitive": "y", "policy": NOBODY, "levels": False, "jobs": 1}
    return tw.audit(model, table, worlds_all=True, **{**settings, **options})


def certain(result):
    return tuple(result.readings.loc["certain_disclosure", ["low", "high"]])


@pytest.mark.parametrize("model", SHAPES)
def test_inner_nodes_are_mixed_whatever_the_level_of_the_leaves(model):
    result = audited(model, "two_columns.csv", accuracy=True, leaf="labels", split="gini")
    assert (str(result.verdict), certain(result)) == ("FAIL", (3, 3))


@pytest.mark.parametrize("model", SHAPES)
@pytest.mark.parametrize("split", ["none", "as-published"])
def test_the_shape_alone_is_left_open_where_the_learner_is_not_known(model, split):
    result = audited(model, "two_columns.csv", accuracy=True, leaf="labels", split=split)
    assert (str(result.verdict), certain(result)) == ("UNDETERMINED", (0, 3))
    assert any("stops at pure ones" in said for said in result.warnings)


@pytest.mark.parametrize("learner", ["rpart", "scikit-learn", "spark", "weka", "treewarden"])
@pytest.mark.parametrize("split", ["none", "as-published"])
def test_the_shape_alone_is_a_fact_where_the_learner_stops_at_pure_nodes(learner, split, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text(
        f'learner = "{learner}"\naccuracy = true\nsplit = "{split}"\nleaf = "labels"\n'
    )
    result = audited("labelled_leaves_only.pmml", "two_columns.csv", knowledge=str(known))
    assert (str(result.verdict), certain(result)[0]) == ("FAIL", 3)


def test_a_policy_may_assume_less_than_the_shape_says_and_does_not_pass():
    clause = {**CLAUSE, "under": {"leaf": "labels", "split": "none", "accuracy": True}}
    policy = {**NOBODY, "clause": [clause]}
    result = audited("counted_inner_nodes.pmml", "two_columns.csv", policy=policy)
    assert str(result.verdict) == "UNDETERMINED"


def test_a_learner_that_split_a_pure_node_says_nothing_by_its_shape():
    table = pd.read_csv(FOLDER / "two_columns.csv")
    table.loc[table["f0"] == 0, "y"] = "a"
    result = audited("labelled_leaves_only.pmml", table)
    assert (str(result.verdict), certain(result)) == ("PASS", (0, 0))

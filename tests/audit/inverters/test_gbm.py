"""What the leaves of R's gbm say of the labels and numbers in them is exact, or nothing is said.

The files were written by gbm 2.1.8 for ``people.csv``, as the recipe writes them: of trees that saw everybody, of
numbers, and of trees that saw a half of the people.
"""

import csv
import json

import numpy as np
import pytest

from tests.kit import places
from treewarden.audit.inverters import GrownCase, leaf_sums, value_sums
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.files.load import load_model
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.routing import route

FOLDER = places.DATA / "gbm_people"


def case_of(data):
    model = load_model(data, "model.json")
    table = matched(model, read_table(FOLDER / "people.csv")).table
    columns = {feature.name: table.column(feature) for feature in model.features}
    stops = np.stack([route(tree, columns) for tree in model.trees])
    people = np.ones(stops.shape[1])
    return GrownCase(model.growth, tuple(model.trees), stops, people, len(model.classes))


def told(name):
    return (FOLDER / name).read_bytes()


def truth(case, sums, target):
    with (FOLDER / "people.csv").open(encoding="utf-8") as file:
        values = np.array([float(row[target]) for row in csv.DictReader(file)])
    places_of = zip(sums.trees, sums.nodes, strict=True)
    return np.array([values[case.stops[tree] == node].sum() for tree, node in places_of])


def test_labels_of_every_leaf_are_counted_exactly():
    case = case_of(told("whole.json"))
    sums = leaf_sums(case)
    assert sums.is_complete
    assert sums.low.tolist() == sums.high.tolist() == truth(case, sums, "ill").tolist()
    reached = sum(len(np.unique(stops)) for stops in case.stops)
    assert len(sums.low) == reached


def test_totals_of_numbers_of_every_leaf_are_known():
    case = case_of(told("numbers.json"))
    sums = value_sums(case, 1000.0)
    true = truth(case, sums, "cost")
    assert ((sums.low <= true) & (true <= sums.high)).all()
    assert (sums.high - sums.low).max() < 1e-6


def test_leaves_of_samples_give_bounds_that_hold_and_are_not_all():
    case = case_of(told("half.json"))
    sums = leaf_sums(case)
    true = truth(case, sums, "ill")
    assert ((sums.low <= true) & (true <= sums.high)).all()
    assert not sums.is_complete


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"shrinkage": None}, "withholds shrinkage"),
        ({"distribution": {"name": ["adaboost"]}}, "adaboost"),
        ({"initF": [-0.3]}, "another table"),
    ],
)
def test_what_is_not_known_of_the_training_is_a_reason(change, reason):
    document = json.loads(told("whole.json"))
    for key, value in change.items():
        if value is None:
            del document[key]
        else:
            document[key] = value
    found = leaf_sums(case_of(json.dumps(document).encode()))
    assert isinstance(found, Undetermined)
    assert reason in found.reason


def test_a_leaf_that_nobody_reached_must_hold_what_follows_from_the_others():
    document = json.loads(told("whole.json"))
    row = next(row for row in document["trees"][0] if row["MissingNode"] > 0)
    empty = document["trees"][0][row["MissingNode"]]
    empty["Prediction"] = empty["SplitCodePred"] = 0.4407123
    found = leaf_sums(case_of(json.dumps(document).encode()))
    assert isinstance(found, Undetermined)
    assert "which no training record had" in found.reason

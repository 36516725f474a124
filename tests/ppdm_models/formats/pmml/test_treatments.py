"""Missing, invalid and extreme values, and trees that predict nothing, are treated as JPMML-Evaluator treats them."""

import json

import numpy as np
import pytest

from tests.kit import places
from tests.kit.rows import rows
from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.files.load import load_model, load_tree, writers
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.routing import NOWHERE, routed
from treewarden.ppdm_models.tree.column import (
    CategoricalColumn,
    Invalid,
    NumericColumn,
    Outliers,
    Treatment,
    treated,
)
from treewarden.ppdm_models.tree.tree import Tree

CASES = json.loads((places.DATA / "pmml_treatments.json").read_text(encoding="utf-8"))
"""Made by tests/data/make_pmml_treatments.py with JPMML-Evaluator."""
BY_NAME = {case["name"]: case for case in CASES}


def columns_of(records):
    names = sorted({record["c"] for record in records if "c" in record})
    codes = [names.index(record["c"]) if "c" in record else -1 for record in records]
    numbers = [record.get("x", np.nan) for record in records]
    return {
        "x": NumericColumn(np.array(numbers, dtype=float)),
        "c": CategoricalColumn(codes=np.array(codes), categories=tuple(names)),
    }


def said(model, records):
    scores = predict(model, columns_of(records))
    if model.classes:
        return labels(model, scores)
    return [None if np.isnan(row[0]) else pytest.approx(row[0]) for row in scores]


@rows("name", BY_NAME)
def test_predictions_are_those_of_jpmml(name):
    case = BY_NAME[name]
    model = load_model(case["pmml"].encode(), "m.pmml")
    expected = [None if value == "refused" else value for value in case["predicted"]]
    assert said(model, case["records"]) == expected


@rows("name", BY_NAME)
def test_the_records_that_jpmml_refuses_are_known(name):
    case = BY_NAME[name]
    model = load_model(case["pmml"].encode(), "m.pmml")
    if isinstance(model, Tree):
        stops, refused = routed(model, columns_of(case["records"]))
        assert refused.tolist() == [value == "refused" for value in case["predicted"]]
        assert set(stops[refused]) <= {NOWHERE}


@rows("name", BY_NAME)
def test_a_written_tree_treats_values_as_before(name):
    case = BY_NAME[name]
    model = load_model(case["pmml"].encode(), "m.pmml")
    if isinstance(model, Tree) and all(len(f.treatments) < 2 for f in model.features):
        for format_name in ("pmml", "treewarden_json"):
            again = load_tree(writers()[format_name].write(model), "again")
            assert said(again, case["records"]) == said(model, case["records"]), format_name


def test_two_steps_cannot_be_said_in_one_tree_of_pmml():
    case = BY_NAME["only the inner model as missing"]
    model = load_tree(case["pmml"].encode(), "m.pmml")
    with pytest.raises(OutputError, match="'x' is treated in several steps"):
        writers()["pmml"].write(model)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ('invalidValueTreatment="asGuess"', "unknown invalidValueTreatment 'asGuess'"),
        ('outliers="asFar"', "unknown outliers 'asFar'"),
        ('outliers="asExtremeValues" lowValue="NaN"', "lowValue is 'NaN'"),
    ],
)
def test_an_unknown_treatment_is_refused(attribute, message):
    old = 'outliers="asExtremeValues" lowValue="0" highValue="4"'
    text = BY_NAME["none: extreme"]["pmml"].replace(old, attribute)
    with pytest.raises(TreeFormatError, match=message):
        load_model(text.encode(), "m.pmml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("skipSegment", "skip", "unknown missingPredictionTreatment 'skip'"),
        ('missingThreshold="0.3"', 'missingThreshold="2"', "missingThreshold is '2'"),
    ],
)
def test_an_unknown_treatment_of_silence_is_refused(old, new, message):
    text = BY_NAME["regression, sum, skipSegment, 0.3"]["pmml"].replace(old, new)
    with pytest.raises(TreeFormatError, match=message):
        load_model(text.encode(), "m.pmml")


def test_a_treatment_of_the_wrong_kind_is_refused_in_json():
    case = BY_NAME["none: extreme"]
    written = writers()["treewarden_json"].write(load_tree(case["pmml"].encode(), "m.pmml"))
    document = json.loads(written)
    document["features"][0]["treatments"][0]["values"] = ["high"]
    with pytest.raises(
        TreeFormatError, match="invalid or missing values of 'x' contains values that are not num"
    ):
        load_tree(json.dumps(document).encode(), "m.json")


def test_no_record_and_no_treatment_are_fine():
    column, refused = treated(NumericColumn(np.array([])), [Treatment(needs_value=True)])
    assert (len(column), len(refused)) == (0, 0)


def test_a_replacement_that_no_record_has_becomes_a_category():
    treatment = Treatment(values=("a", "b"), when_invalid=Invalid.AS_VALUE, replacement="b")
    column, _ = treated(
        CategoricalColumn(codes=np.array([0, 1]), categories=("a", "z")), [treatment]
    )
    assert [column.text(row) for row in range(2)] == ["a", "b"]


def test_extreme_numbers_are_brought_to_the_ends():
    treatment = Treatment(outliers=Outliers.AS_EXTREME, low=0.0, high=1.0)
    column, _ = treated(NumericColumn(np.array([-1.0, 0.5, 9.0])), [treatment])
    assert column.numbers.tolist() == [0.0, 0.5, 1.0]

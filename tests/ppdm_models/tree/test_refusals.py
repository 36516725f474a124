"""Tests that have no answer, and tests for which a model refuses a record."""

import numpy as np
import pytest

from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.files.load import load_tree
from treewarden.ppdm_models.formats.own.treewarden_json import FORMAT as JSON
from treewarden.ppdm_models.formats.pmml.pmml import FORMAT as PMML
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    AnyOf,
    MissingTest,
    NumericTest,
    Refusal,
    Surrogate,
    Unknown,
    answer,
    atoms,
    features_of,
    refused_by,
    text,
)

COLUMNS = {"x": NumericColumn(np.array([-1.0, 1.0, 3.0, np.nan]))}
BELOW_0 = NumericTest("x", high=0.0)
BELOW_2 = NumericTest("x", high=2.0)


def test_what_is_unknown_stays_so_unless_a_part_decides():
    test = AnyOf((BELOW_2, AllOf((NumericTest("x", low=2.0), Unknown()))))
    said = answer(test, COLUMNS, 4)
    assert said.true.tolist() == [True, True, False, False]
    assert said.unknown.tolist() == [False, False, True, True]


def test_a_refusal_holds_for_nobody_and_names_whom_it_refuses():
    test = AnyOf((BELOW_2, Refusal(AnyOf((MissingTest("x"), BELOW_0)))))
    assert answer(test, COLUMNS, 4).true.tolist() == [True, True, False, False]
    assert refused_by(test, COLUMNS, 4).tolist() == [True, False, False, True]


def test_a_surrogate_refuses_only_whom_it_asks():
    test = Surrogate((BELOW_2, Refusal(AnyOf((MissingTest("x"), BELOW_0)))))
    assert refused_by(test, COLUMNS, 4).tolist() == [False, False, False, True]


def test_what_is_inside_a_refusal_is_seen_and_said():
    test = AnyOf((BELOW_2, Refusal(BELOW_0), Unknown()))
    assert list(features_of(test)) == ["x", "x"]
    assert list(atoms(test)) == [BELOW_2, BELOW_0, Unknown()]
    assert text(test) == "x < 2 or (refused if x < 0) or unknown"


UNSAID = """<PMML><DataDictionary><DataField name="x" optype="continuous" dataType="double"/></DataDictionary>
<TransformationDictionary><DerivedField name="f" optype="continuous" dataType="double"><Discretize field="x"
dataType="double"><DiscretizeBin binValue="1"><Interval closure="closedOpen" leftMargin="0" rightMargin="1"/>
</DiscretizeBin></Discretize></DerivedField></TransformationDictionary><TreeModel functionName="regression"
missingValueStrategy="lastPrediction"><MiningSchema><MiningField name="x"/></MiningSchema><Node score="1"><True/>
<Node score="2"><SimplePredicate field="f" operator="equal" value="1"/></Node></Node></TreeModel></PMML>"""


@pytest.mark.parametrize("writer", [PMML, JSON])
def test_what_a_format_cannot_say_is_not_written(writer):
    with pytest.raises(OutputError, match="unknown|no test of JSON"):
        writer.write(load_tree(UNSAID.encode(), "x.pmml"))

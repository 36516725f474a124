"""What was read from a fixture predicts as the tool that loads the same file; ``make conformance`` does it for many."""

import shutil

import numpy as np
import pytest

from benchmarks.conformance.cases import UNKNOWN, records
from benchmarks.conformance.compared import TOOLS, compared
from benchmarks.conformance.outcome import NoToolError, Said, judged
from benchmarks.conformance.table import document
from tests.kit import places
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tree.column import CategoricalColumn

FIXTURES = places.DATA / "formats"
PACKAGES = {name: tool.PACKAGE for tool in TOOLS for name in tool.FORMATS}
FILES = (
    "catboost_json/good/symmetrictree.json",
    "lightgbm_text/good/loan.model",
    "onnx_ml/good/tree.onnx",
    "pmml/good/ensemble.pmml",
    "pmml/good/golf.pmml",
    "pmml/good/surrogate.pmml",
    "pmml/good/xor.pmml",
    "treelite_json/good/forest.json",
    "xgboost_model/good/loan.json",
    "xgboost_model/good/loan.ubj",
)
GOLF = FIXTURES / "pmml/good/golf.pmml"


@pytest.mark.filterwarnings("ignore")  # the tools' own
@pytest.mark.parametrize("name", FILES)
def test_a_model_predicts_as_its_tool_does(name):
    package = PACKAGES[name.partition("/")[0]]
    pytest.importorskip(package, reason=f"compares with {package} itself")
    if package == "jpmml_evaluator" and shutil.which("java") is None:
        pytest.skip("JPMML needs Java")
    line = compared(FIXTURES / name, seed=0, scale=0.1)
    assert line.outcome is not None, line.reason
    assert line.outcome.compared >= 1_000
    assert line.outcome.mismatches == 0, line.outcome.first


def golf():
    model = read_model(GOLF)
    return model, records(model, seed=1, scale=0.05)


def test_records_reach_every_leaf_and_lack_values_and_hold_unknown_ones():
    model, columns = golf()
    said = Said(columns, np.zeros(900, dtype=bool), stops=np.full((900, 1), "nowhere"))
    assert judged(model, said).mismatches == 900
    assert any(column.missing.any() for column in columns.values())
    assert any(
        isinstance(column, CategoricalColumn) and UNKNOWN in column.categories
        for column in columns.values()
    )


def test_a_tool_that_says_something_else_is_a_mismatch():
    model, columns = golf()
    silent = np.arange(900) >= 100
    outcome = judged(model, Said(columns, silent, labels=["no such class"] * 900))
    assert (outcome.compared, outcome.mismatches) == (100, 100)
    assert outcome.first.startswith("labels: the tool says no such class, here ")


def test_other_outputs_than_the_tools_are_not_compared():
    model, columns = golf()
    with pytest.raises(NoToolError, match="1 outputs, but"):
        judged(model, Said(columns, np.zeros(900, dtype=bool), scores=np.zeros((900, 1))))


def test_the_table_names_what_is_refused_and_what_is_only_read():
    paths = (FIXTURES / "bigml_json/good/tree.json", FIXTURES / "pmml/bad/truncated.pmml")
    page = document({p.name: compared(p, 0, 0.01) for p in paths}, {}, records=180, seed=0)
    assert "**1 of 2 files are read, 1 refused; 0 are compared" in page
    assert "no tool here" in page
    assert "not valid XML" in page

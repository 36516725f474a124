"""Trees as real tools publish them are read, or refused with a reason."""

import csv
from pathlib import Path

import pytest

from ppdm_models.errors import TreeFormatError
from ppdm_models.load import formats, load_tree, read_tree
from ppdm_models.tree import Quality

MODELS = Path(__file__).parents[3] / "shared" / "models"
pytestmark = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)


def index():
    if not MODELS.is_dir():
        return {}
    with (MODELS / "INDEX.tsv").open(encoding="utf-8", newline="") as file:
        return {
            row["file"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        }


INDEX = index()
XML = [name for name in INDEX if name.endswith((".pmml", ".xml"))]
SINGLE = [name for name in XML if INDEX[name]["model type"].startswith("PMML TreeModel")]


def read_or_none(name):
    try:
        return read_tree(MODELS / name)
    except TreeFormatError:
        return None


@pytest.mark.parametrize("name", INDEX)
def test_a_real_file_is_read_or_refused_with_a_reason(name):
    tree = read_or_none(name)
    assert tree is None or name in SINGLE


@pytest.mark.parametrize("name", SINGLE)
def test_a_tree_that_is_read_has_the_nodes_and_leaves_of_the_file(name):
    tree = read_or_none(name)
    if tree is None:
        pytest.skip("refused: not supported yet")
    assert (len(tree.nodes), len(tree.leaves)) == (
        int(INDEX[name]["#nodes"]),
        int(INDEX[name]["#leaves"]),
    )


@pytest.mark.parametrize("name", SINGLE)
def test_a_real_tree_survives_being_written(name):
    tree = read_or_none(name)
    if tree is None:
        pytest.skip("refused: not supported yet")
    assert load_tree(formats()["pmml"].write(tree), name) == tree


@pytest.mark.parametrize(
    ("name", "quality"),
    [
        ("statistica/01_Classification_Trees_Iris.pmml", Quality.DERIVED),
        ("rapidminer/rapidminer-7.5.001_3.2_DecisionTreeIris.pmml", Quality.EXACT),
        ("rapidminer/rapidminer-5.3.013_4.0_DecisionTreeAudit.pmml", Quality.EXACT),
        ("sklearn2pmml/dtc_contactlenses_onehot.pmml", Quality.NORMALISED),
        ("sklearn2pmml/dtc_iris_classweight_balanced.pmml", Quality.NORMALISED),
        ("sklearn2pmml-wild/DecisionTreeIrisVec.pmml", Quality.NORMALISED),
        ("spss/spss-modeler-15_SPSS-2.xml", Quality.INCONSISTENT),
        ("knime/knime-2.6.2_AuditTree.xml", Quality.EXACT),
        ("drools/TestTree.pmml", Quality.ABSENT),
    ],
)
def test_what_the_numbers_of_a_producer_mean_is_understood(name, quality):
    assert read_tree(MODELS / name).quality is quality

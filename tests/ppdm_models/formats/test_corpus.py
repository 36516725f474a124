"""Trees as real tools publish them are read, or refused with a reason."""

import csv
import re

import pytest

from tests.kit import places
from tests.kit.tiers import in_tiers
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model, load_tree, read_model
from treewarden.ppdm_models.tree.ensemble import Combination, Link, trees_of
from treewarden.ppdm_models.tree.plain_splits import on_32_bits
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.ppdm_models.tree.tree import Quality

MODELS = places.SHARED / "models"
PMML = formats()["pmml"]
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
XML = [name for name in INDEX if name.endswith((".pmml", ".xml")) and not name.startswith("vespa")]
REFUSED = {
    "adversarial/truncated.pmml": "not valid XML",
    "adversarial/xxe_file.pmml": "declares the entity 'x'",
    "drools/MiningModel_SegmentId.pmml": "contradictory: the field 'temperature' is used, but not",
    "drools/MiningWithNestedRefers_300trees.pmml": "no tree in it: PMML without a tree model",
    "drools/tree_TreeSample_scoredist.pmml": "contradictory: tests the field 'occupation'",
    "handwritten/turn_tree1.xml": "contradictory: 'STATE_NAME_HASHCODE' holds numbers",
}
"""The files that hold no tree, or one that cannot be understood for sure, and the reason that is given."""
READ = [name for name in XML if name not in REFUSED]


def smallest_of_each_folder(names):
    """Return one file of each program that wrote some, the one that is read soonest."""
    by_size = sorted(names, key=lambda name: (-(MODELS / name).stat().st_size, name))
    return list({name.partition("/")[0]: name for name in by_size}.values())


IN_TIERS = in_tiers(READ, smallest_of_each_folder(READ), "more_cases")


def read(name):
    return read_model(MODELS / name)


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_not_understood_is_refused_with_the_reason(name):
    with pytest.raises(TreeFormatError, match=re.escape(REFUSED[name])):
        read(name)


@pytest.mark.parametrize("name", READ)
def test_a_real_model_has_the_trees_nodes_and_leaves_of_the_file(name):
    trees = list(trees_of(read(name)))
    counts = (
        len(trees),
        sum(len(tree.nodes) for tree in trees),
        sum(len(tree.leaves) for tree in trees),
    )
    assert counts == tuple(int(INDEX[name][column]) for column in ("#trees", "#nodes", "#leaves"))


@pytest.mark.parametrize("name", IN_TIERS)
def test_a_real_tree_survives_being_written(name):
    for tree in trees_of(read(name)):
        assert load_tree(PMML.write(tree), name) == on_32_bits(tree)


@pytest.mark.parametrize("name", IN_TIERS)
def test_an_unchanged_model_is_written_back_byte_for_byte(name):
    data = (MODELS / name).read_bytes()
    assert PMML.open(data, name).rewrite(load_model(data, name)) == data


def regions(model):
    """Return what every tree asks and answers: no settings of the learner, which go with what tells of the training."""
    return [
        [(n.test, n.children, n.score, n.class_counts) for n in t.nodes] for t in trees_of(model)
    ]


@pytest.mark.parametrize("name", IN_TIERS)
def test_without_what_leaks_beside_it_a_real_model_is_the_same(name):
    data = (MODELS / name).read_bytes()
    clean = PMML.open(data, name).without(frozenset(LeakKind))
    assert regions(load_model(clean, name)) == regions(load_model(data, name))
    left = [leak.kind for leak in PMML.open(clean, name).leaks if leak.removable]
    assert set(left) <= {LeakKind.UNKNOWN}, "what nobody could judge stays where the model needs it"


@pytest.mark.parametrize(
    ("name", "kind", "records"),
    [
        ("bigml/bigml_4.3_ModelAudit.pmml", LeakKind.HISTOGRAM, 1),
        ("bigml/bigml_4.3_ModelAudit.pmml", LeakKind.RARE_VALUES, 1),
        ("sklearn2pmml-wild/GradientBoostingIris.pmml", LeakKind.RAW_RECORDS, 3),
        ("sklearn2pmml-wild/GradientBoostingIris.pmml", LeakKind.EXTREMES, None),
        ("knime/knime-3.5.1_4.2_DecisionTreeIris.pmml", LeakKind.EXTREMES, None),
        ("rattle/rattle-1.2.29_3.2_IrisTree.xml", LeakKind.AUTHOR, None),
        ("catboost/breastcancer_binary.pmml", LeakKind.AUTHOR, None),
        ("sklearn2pmml/rfc_iris_5trees_noncompact_nobootstrap.pmml", LeakKind.REPLAY, None),
        ("statistica/01_Classification_Trees_Iris.pmml", LeakKind.TARGET_STATISTICS, None),
        ("spss/spss-modeler-15_SPSS-2.xml", LeakKind.AUTHOR, None),
    ],
)
def test_what_a_real_file_gives_away_beside_its_trees_is_found(name, kind, records):
    found = PMML.open((MODELS / name).read_bytes(), name).leaks
    assert (kind, records) in {(leak.kind, leak.records) for leak in found}


@pytest.mark.parametrize(
    ("name", "combination", "link"),
    [
        ("sklearn2pmml/gbc_breastcancer_20trees.pmml", Combination.WEIGHTED_SUM, Link.LOGISTIC),
        ("sklearn2pmml-wild/GradientBoostingIris.pmml", Combination.WEIGHTED_SUM, Link.SOFTMAX),
        ("nyoka/xgb_bc.pmml", Combination.SUM, Link.LOGISTIC),
        ("jpmml-xgboost/ppmml_xgboost_classifier.pmml", Combination.SUM, Link.SOFTMAX),
        ("dmg/dmg_weighted_average_mining.xml", Combination.WEIGHTED_AVERAGE, Link.IDENTITY),
        ("sklearn2pmml-wild/AdaBoostAuto.pmml", Combination.WEIGHTED_MEDIAN, Link.IDENTITY),
        (
            "statistica/03_Boosted_Classification_Trees_Iris.pmml",
            Combination.MODEL_CHAIN,
            Link.IDENTITY,
        ),
    ],
)
def test_how_the_trees_of_a_real_ensemble_are_combined_is_understood(name, combination, link):
    model = read(name)
    assert (model.combination, model.link) == (combination, link)


def test_thresholds_of_scaled_fields_are_those_of_the_raw_ones():
    tree = read("nyoka/dtc_iris_scaled.pmml")
    assert tree.nodes[1].test.high == pytest.approx(0.8)
    assert tree.nodes[3].test.high == pytest.approx(1.75)


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
        ("nyoka/rfc_iris_3.pmml", Quality.WEIGHTED),
        ("sklearn-pmml/RandomForestClassifier.pmml", Quality.WEIGHTED),
        ("sklearn2pmml/rfc_iris_10trees.pmml", Quality.NORMALISED),
        ("sklearn2pmml/rfr_diabetes_5trees.pmml", Quality.ABSENT),
        ("rattle/rattle-1.4_4.2_RandomForestIris.pmml", Quality.ABSENT),
        ("drools/TestTree.pmml", Quality.ABSENT),
    ],
)
def test_what_the_numbers_of_a_producer_mean_is_understood(name, quality):
    assert {tree.quality for tree in trees_of(read(name))} == {quality}

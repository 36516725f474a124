"""Models as real tools publish them, of all producers: read in full, or refused with the true reason.

A file is opened once, and what the tests ask is asked of what was opened.
"""

import csv
import re
from functools import cache

import pytest

from tests.kit import places
from tests.kit.rows import rows
from tests.kit.tiers import in_tiers
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_tree, open_model
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Link, trees_of
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
REFUSED_XML = {
    "adversarial/truncated.pmml": "not valid XML",
    "adversarial/xxe_file.pmml": "declares an XML entity ('x')",
    "drools/MiningModel_SegmentId.pmml": "contradictory: the field 'temperature' is used, but not",
    "drools/MiningWithNestedRefers_300trees.pmml": "this PMML file contains no tree model",
    "drools/tree_TreeSample_scoredist.pmml": "contradictory: a node tests the field 'occupation'",
    "handwritten/turn_tree1.xml": "node 'id1': it has no predicate",
    "handwritten/turn_tree2.xml": "node 'id1': it has no predicate",
}
"""The files that hold no tree, or one that cannot be understood for sure, and the reason that is given."""
READ_XML = [name for name in XML if name not in REFUSED_XML]


def smallest_of_each_folder(names):
    """Return one file of each program that wrote some, the one that is read soonest."""
    by_size = sorted(names, key=lambda name: (-(MODELS / name).stat().st_size, name))
    return list({name.partition("/")[0]: name for name in by_size}.values())


IN_TIERS = in_tiers(READ_XML, smallest_of_each_folder(READ_XML), "more_cases")
BOOSTERS = ("xgboost", "xgboost-wild", "lightgbm", "lightgbm-wild")
OF_BOOSTERS = ("xgboost_model", "xgboost_dump", "xgboost_text", "lightgbm_text", "lightgbm_dump")
BOOSTED = sorted(name for name in INDEX if name.startswith(BOOSTERS))
OF_PRINTS = (
    "graphviz_dot",
    "partykit_text",
    "r_forest_json",
    "rpart_json",
    "rpart_summary",
    "rpart_text",
    "sklearn_json",
    "sklearn_text",
    "skops_file",
    "weka_java",
    "weka_stump",
    "weka_text",
)
PRINT_FORMATS = {name: formats()[name] for name in OF_PRINTS}
PRINTERS = (
    "sklearn-1.2.2",
    "sklearn-1.9.0",
    "sklearn-json",
    "r-party-1.3.11",
    "r-partykit-1.2.16",
    "r-randomForest",
    "r-ranger-0.14.1",
    "r-rpart-4.1.19",
    "weka-3.6.14",
)
REFUSED_PRINTS = {
    "r-rpart-4.1.19/kyphosis.path.txt": "it contains no tree, only the paths",
    "weka-3.6.14/adtree_vote.txt": "not a tree of constant leaves",
    "weka-3.6.14/lmt_vote.txt": "not a tree of constant leaves",
    "weka-3.6.14/part_vote.txt": "it contains no tree: a list of rules",
}
PRINTS = {
    "sklearn-1.2.2/dtc_iris_weighted.skops": ("weighted", 9, 5),
    "sklearn-1.2.2/dtc_iris_weighted.tree_state.json": ("weighted", 9, 5),
    "sklearn-1.2.2/dtr_diabetes_depth5.skops": ("exact", 59, 30),
    "sklearn-1.2.2/dtr_diabetes_depth5.tree_state.json": ("exact", 59, 30),
    "sklearn-1.9.0/dtc_iris_noweights.export_text.txt": ("absent", 9, 5),
    "sklearn-1.9.0/dtc_iris_proportion.dot": ("normalised", 9, 5),
    "sklearn-1.9.0/dtc_iris_weighted.dot": ("weighted", 9, 5),
    "sklearn-1.9.0/dtc_iris_weighted.export_text.txt": ("weighted", 9, 5),
    "sklearn-1.9.0/dtc_iris_weighted.skops": ("weighted", 9, 5),
    "sklearn-1.9.0/dtc_iris_weighted.tree_state.json": ("weighted", 9, 5),
    "sklearn-1.9.0/dtr_diabetes_depth5.dot": ("exact", 59, 30),
    "sklearn-1.9.0/dtr_diabetes_depth5.export_text.txt": ("absent", 59, 30),
    "sklearn-1.9.0/dtr_diabetes_depth5.skops": ("exact", 59, 30),
    "sklearn-1.9.0/dtr_diabetes_depth5.tree_state.json": ("exact", 59, 30),
    "sklearn-json/dtc_iris.json": ("exact", 15, 8),
    "r-party-1.3.11/iris_ctree.txt": ("exact", 7, 4),
    "r-partykit-1.2.16/iris_ctree.txt": ("derived", 7, 4),
    "r-partykit-1.2.16/kyphosis_rpart_as_party.txt": ("derived", 9, 5),
    "r-randomForest/iris_getTree.json": ("absent", 43, 23),
    "r-ranger-0.14.1/iris_treeInfo_probability.json": ("normalised", 20, 11),
    "r-rpart-4.1.19/cu.summary_anova_categorical.json": ("exact", 13, 7),
    "r-rpart-4.1.19/cu.summary_anova_categorical.print.txt": ("exact", 13, 7),
    "r-rpart-4.1.19/cu.summary_anova_categorical.summary.txt": ("exact", 13, 7),
    "r-rpart-4.1.19/iris.summary.txt": ("exact", 5, 3),
    "r-rpart-4.1.19/kyphosis.summary.txt": ("exact", 9, 5),
    "r-rpart-4.1.19/kyphosis_priors_loss.summary.txt": ("exact", 5, 3),
    "r-rpart-4.1.19/iris.json": ("exact", 5, 3),
    "r-rpart-4.1.19/iris.print.txt": ("derived", 5, 3),
    "r-rpart-4.1.19/kyphosis.json": ("exact", 9, 5),
    "r-rpart-4.1.19/kyphosis.print.txt": ("derived", 9, 5),
    "r-rpart-4.1.19/kyphosis_priors_loss.json": ("exact", 5, 3),
    "r-rpart-4.1.19/kyphosis_priors_loss.print.txt": ("weighted", 5, 3),
    "weka-3.6.14/decisionstump_vote.txt": ("normalised", 4, 3),
    "weka-3.6.14/decisionstump_weather.txt": ("normalised", 4, 3),
    "weka-3.6.14/j48_source_weather.java.txt": ("absent", 11, 8),
    "weka-3.6.14/id3_weather.nominal.txt": ("absent", 8, 5),
    "weka-3.6.14/j48_glass.txt": ("exact", 59, 30),
    "weka-3.6.14/j48_labor.txt": ("weighted", 5, 3),
    "weka-3.6.14/j48_soybean.txt": ("weighted", 93, 61),
    "weka-3.6.14/j48_unpruned_M1_labor.txt": ("weighted", 25, 15),
    "weka-3.6.14/j48_unpruned_M1_soybean.txt": ("weighted", 257, 175),
    "weka-3.6.14/j48_unpruned_M1_vote.txt": ("weighted", 55, 28),
    "weka-3.6.14/j48_unpruned_M1_weather.nominal.txt": ("exact", 8, 5),
    "weka-3.6.14/j48_vote.txt": ("weighted", 11, 6),
    "weka-3.6.14/j48_vote_binary.txt": ("weighted", 11, 6),
    "weka-3.6.14/j48_vote_graph.dot": ("weighted", 11, 6),
    "weka-3.6.14/j48_weather.nominal.txt": ("exact", 8, 5),
    "weka-3.6.14/randomtree_weather.nominal.txt": ("exact", 13, 8),
    "weka-3.6.14/reptree_vote.txt": ("weighted", 3, 2),
}
PRINTED = sorted(
    str(path.relative_to(MODELS)) for folder in PRINTERS for path in (MODELS / folder).glob("*")
)
NONE = ("there is no such collection",)
"""What stands for the rows of a table where every test is skipped."""


@cache
def data_of(name):
    return (MODELS / name).read_bytes()


@cache
def opened(name):
    """Return a file as the command line opens it."""
    return open_model(data_of(name), name)


def read(name):
    return opened(name).model


def sizes(model):
    """Return how many trees, nodes and leaves there are."""
    trees = list(trees_of(model))
    parts = ([tree.nodes for tree in trees], [tree.leaves for tree in trees])
    return (len(trees), *(sum(map(len, part)) for part in parts))


@rows("name", REFUSED_XML)
def test_a_file_that_is_not_understood_is_refused_with_the_reason(name):
    with pytest.raises(TreeFormatError, match=re.escape(REFUSED_XML[name])):
        read(name)


@rows("name", READ_XML or NONE, quick=40)
def test_a_real_model_has_the_trees_nodes_and_leaves_of_the_file(name):
    counted = tuple(int(INDEX[name][column]) for column in ("#trees", "#nodes", "#leaves"))
    assert sizes(read(name)) == counted


@pytest.mark.parametrize("name", IN_TIERS)
def test_a_real_tree_survives_being_written(name):
    for tree in trees_of(read(name)):
        assert load_tree(PMML.write(tree), name) == on_32_bits(tree)


@pytest.mark.parametrize("name", IN_TIERS)
def test_an_unchanged_model_is_written_back_byte_for_byte(name):
    data = data_of(name)
    assert PMML.open(data, name).rewrite(read(name)) == data


def regions(model):
    """Return what every tree asks and answers: no settings of the learner, which go with what tells of the training."""
    return [
        [(n.test, n.children, n.score, n.class_counts) for n in t.nodes] for t in trees_of(model)
    ]


@pytest.mark.parametrize("name", IN_TIERS)
def test_without_what_leaks_beside_it_a_real_model_is_the_same(name):
    clean = open_model(PMML.open(data_of(name), name).without(frozenset(LeakKind)), name)
    assert regions(clean.model) == regions(read(name))
    left = [leak.kind for leak in clean.opened.leaks if leak.removable]
    assert set(left) <= {LeakKind.UNKNOWN}, "what nobody could judge stays where the model needs it"


@rows(
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
    found = opened(name).opened.leaks
    assert (kind, records) in {(leak.kind, leak.records) for leak in found}


@rows(
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


@rows(
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
        ("xgboost/diabetes_rf_reg.save_model.json", Quality.DERIVED),
        ("xgboost/diabetes_multi_output_tree.save_model.json", Quality.DERIVED),
        ("xgboost/soybean_categorical_multiclass.save_model.json", Quality.DERIVED),
        ("xgboost/diabetes_rf_reg.dump_stats.json", Quality.HESSIAN),
        ("xgboost-wild/jpmml_AFTLungNA.json", Quality.HESSIAN),
        ("xgboost-wild/vespa_xgboost.test.json", Quality.ABSENT),
        ("lightgbm/iris_rf_weighted.dump_model.json", Quality.EXACT),
        ("lightgbm-wild/leaves_lg_1tree.json", Quality.INCONSISTENT),
    ],
)
def test_what_the_numbers_of_a_producer_mean_is_understood(name, quality):
    assert {tree.quality for tree in trees_of(read(name))} == {quality}


@rows("name", BOOSTED or NONE)
def test_a_real_file_is_read_as_an_ensemble_of_its_format_with_all_that_was_counted(name):
    model = read(name)
    assert isinstance(model, Ensemble)
    assert model.format in OF_BOOSTERS
    if INDEX[name]["#nodes"].isdecimal():
        assert sizes(model)[1:] == (int(INDEX[name]["#nodes"]), int(INDEX[name]["#leaves"]))


@rows("name", [name for name in BOOSTED if not name.endswith(".dump.txt")] or NONE)
def test_a_real_boosted_file_is_written_back_as_it_was(name):
    file, plugin = opened(name), formats()[read(name).format]
    written = file.opened.rewrite(file.model)
    assert plugin.open(written, name).model == file.opened.model
    if not name.endswith(".json"):
        assert written == data_of(name)


@rows("name", BOOSTED or NONE)
def test_each_removable_leak_of_a_real_boosted_file_can_be_removed(name):
    plugin, file = formats()[read(name).format], opened(name).opened
    kinds = frozenset(leak.kind for leak in file.leaks if leak.removable)
    left = plugin.open(file.without(kinds), name).leaks if kinds else file.leaks
    assert not any(leak.removable for leak in left)


@rows(
    "name",
    [
        "lightgbm/wine_linear_tree.dump_model.json",
        "lightgbm-wild/jpmml_LinearTreeRegressionAuto.txt",
    ],
)
def test_linear_leaves_are_noted(name):
    model = read(name)
    assert model.link is Link.UNKNOWN
    assert any("linear model" in note for note in model.notes)


def taken_by(data):
    """Return the readers of prints and files that take the bytes for theirs."""
    return [name for name, reader in PRINT_FORMATS.items() if reader.sniff(data)]


@rows("name", PRINTED or NONE)
def test_a_file_is_recognised_by_one_reader_and_read_in_full_or_refused_with_the_reason(name):
    (taken,), data = taken_by(data_of(name)), data_of(name)
    reader, source = PRINT_FORMATS[taken], name.rpartition("/")[2]
    if name in REFUSED_PRINTS:
        with pytest.raises(TreeFormatError, match=REFUSED_PRINTS[name]):
            reader.open(data, source)
        return
    model = reader.open(data, source).model
    quality, nodes, leaves = PRINTS[name]
    assert {tree.quality for tree in trees_of(model)} == {Quality(quality)}
    assert sizes(model)[1:] == (nodes, leaves)


@rows("path", sorted(MODELS.glob("*/*.*")) or NONE)
def test_no_file_of_another_producer_is_taken_for_one_of_these(path):
    assert path.parent.name in PRINTERS or not taken_by(path.read_bytes())

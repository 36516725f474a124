"""Files of scikit-learn, R and Weka as they are found: read, or refused with the true reason."""

from pathlib import Path

import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.tree import Quality

MODELS = places.SHARED / "models"
pytestmark = pytest.mark.skipif(
    not MODELS.is_dir(), reason=f"the collection of real models is not at {MODELS}"
)
READERS = (
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
FORMATS = {name: formats()[name] for name in READERS}
FOLDERS = (
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
REFUSED = {
    "r-rpart-4.1.19/kyphosis.path.txt": "no tree in it: only the paths",
    "weka-3.6.14/adtree_vote.txt": "not a tree of constant leaves",
    "weka-3.6.14/lmt_vote.txt": "not a tree of constant leaves",
    "weka-3.6.14/part_vote.txt": "no tree in it: a list of rules",
}
QUALITIES = {
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


def found():
    paths = [path for folder in FOLDERS for path in sorted((MODELS / folder).glob("*"))]
    return [str(path.relative_to(MODELS)) for path in paths]


def reader_of(name):
    data = (MODELS / name).read_bytes()
    return [reader for reader in FORMATS.values() if reader.sniff(data)], data


@pytest.mark.parametrize("name", found())
def test_each_file_is_recognised_by_one_reader(name):
    readers, _ = reader_of(name)
    assert len(readers) == 1


@pytest.mark.parametrize("name", found())
def test_a_file_is_read_with_all_its_nodes_or_refused_with_the_true_reason(name):
    (reader, *_), data = reader_of(name)
    if name in REFUSED:
        with pytest.raises(TreeFormatError, match=REFUSED[name]):
            reader.open(data, Path(name).name)
        return
    trees = list(trees_of(reader.open(data, Path(name).name).model))
    quality, nodes, leaves = QUALITIES[name]
    assert {tree.quality for tree in trees} == {Quality(quality)}
    assert sum(len(tree.nodes) for tree in trees) == nodes
    assert sum(len(tree.leaves) for tree in trees) == leaves


@pytest.mark.parametrize("path", sorted(MODELS.glob("*/*.*")), ids=lambda path: path.name)
def test_no_file_of_another_producer_is_taken_for_one_of_these(path):
    data = path.read_bytes()
    taken = [name for name, reader in FORMATS.items() if reader.sniff(data)]
    assert not taken or path.parent.name in FOLDERS

"""Trees that claim differential privacy: they tell labels and no counts, and nobody judges the claim.

``tree.skops`` and ``forest.skops`` were grown by diffprivlib 0.6.6 on ``people.csv`` (scikit-learn 1.5.2).
"""

import json

import numpy as np
import pytest

from tests.kit import places
from tests.kit.run import audit_files
from treewarden.jobs.inputs import opened
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.semantics.describe import describe
from treewarden.ppdm_models.tree.tree import Quality

FOLDER = places.DATA / "private"
NODES = [
    ("left_child", "<i8"),
    ("right_child", "<i8"),
    ("feature", "<i8"),
    ("threshold", "<f8"),
    ("impurity", "<f8"),
    ("n_node_samples", "<i8"),
    ("weighted_n_node_samples", "<f8"),
]
POLICY = """name = "small"
version = "1"
title = "small"

[[clause]]
id = "small"
measure = "{measure}"
rule = "{rule}"
limit = {limit}
"""


def audited(name, tmp_path, measure="disclosure", rule="at_most", limit=0.95):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(measure=measure, rule=rule, limit=limit))
    table = FOLDER / "people.csv"
    outcome = audit_files([FOLDER / name], [table], "y", policy, "--format", "json")
    return outcome.exit_code, outcome.stdout


class State:
    """The inside of a tree in memory, as scikit-learn saves it."""

    def __init__(self, nodes, values):
        self.nodes, self.values = nodes, values

    def __getstate__(self):
        return {"nodes": self.nodes, "values": self.values}


class DecisionTreeClassifier:
    """A stump of labels alone, as the library holds it."""

    def __init__(self):
        rows = [(1, 2, 0, 0.5, 0, 0, 0), (-1, -1, -2, -2, 0, 0, 0), (-1, -1, -2, -2, 0, 0, 0)]
        self.epsilon, self.n_features_in_ = 0.5, 1
        self.classes_ = np.array(["no", "yes"])
        values = np.array([[[0, 0]], [[1, 0]], [[0, 1]]], dtype=float)
        self.tree_ = State(np.array(rows, dtype=NODES), values)


DecisionTreeClassifier.__module__ = "diffprivlib.models.forest"


@pytest.mark.parametrize(
    ("name", "kind"), [("tree", "DecisionTreeClassifier"), ("forest", "RandomForestClassifier")]
)
def test_a_file_of_the_library_tells_labels_alone_and_its_claim_is_named(name, kind):
    model = opened(FOLDER / f"{name}.skops").model
    trees = [model] if name == "tree" else list(model.trees)
    assert {tree.quality for tree in trees} == {Quality.ABSENT}
    for node in (node for tree in trees for node in tree.nodes):
        assert node.records is None
        assert node.class_counts is None
        assert (node.score in ("no", "yes")) == node.is_leaf
    said = f"{name}.skops: diffprivlib {kind}, epsilon = 1: counts are not told; the claim of"
    assert any(note.startswith(said) for note in model.notes)
    assert "records in all" not in json.dumps(describe(model))


@pytest.mark.parametrize("name", ["tree.skops", "forest.skops"])
@pytest.mark.parametrize("measure", ["disclosure", "certain_disclosure", "confidence"])
def test_what_labels_say_of_people_is_not_decided(name, measure, tmp_path):
    limit = 0 if measure == "certain_disclosure" else 0.95
    code, document = audited(name, tmp_path, measure, limit=limit)
    assert code == 3
    assert "claim of differential privacy" in document


@pytest.mark.parametrize("form", ["pmml", "treewarden_json"])
def test_a_tree_that_is_converted_keeps_the_claim(form):
    tree = opened(FOLDER / "tree.skops").model
    assert tree.learner.claims_privacy
    again = load_tree(writers()[form].write(tree), "again")
    assert again.learner.claims_privacy


@pytest.mark.parametrize("name", ["tree.skops", "forest.skops"])
def test_sizes_of_leaves_are_those_of_the_table(name, tmp_path):
    assert audited(name, tmp_path, "k_anonymity", "at_least", 10)[0] == 0
    assert audited(name, tmp_path, "k_anonymity", "at_least", 1000)[0] == 1


def test_an_estimator_in_memory_is_read_as_its_file():
    model = open_fitted(DecisionTreeClassifier(), target="y", names=["age"]).model
    assert model.quality is Quality.ABSENT
    assert [leaf.score for leaf in model.leaves] == ["no", "yes"]
    assert any("epsilon = 0.5" in note for note in model.notes)


def test_zero_records_everywhere_are_no_counts_whatever_the_library():
    sklearn = pytest.importorskip("sklearn.tree")
    table = np.arange(8.0)[:, None]
    grown = sklearn.DecisionTreeClassifier(max_depth=1).fit(table, table[:, 0] > 3)

    class Hidden:
        """A fitted tree whose numbers of records were taken away."""

        tree_ = grown.tree_
        classes_ = grown.classes_

    class Bare:
        def __init__(self, state):
            self.state = state

        def __getattr__(self, name):
            found = getattr(self.state, name)
            return found * 0 if name in ("n_node_samples", "weighted_n_node_samples") else found

    hidden = Hidden()
    hidden.tree_ = Bare(grown.tree_)
    tree = from_sklearn(hidden)
    assert tree.quality is Quality.ABSENT
    assert tree.learner.claims_privacy
    assert [node.score for node in tree.nodes] == [None, "false", "true"]
    assert any("counts are not told" in note for note in tree.notes)

"""Trees that claim differential privacy: they tell labels and no counts, and the claim is judged.

``tree.skops`` and ``forest.skops`` were grown by diffprivlib 0.6.6 on ``people.csv`` (scikit-learn 1.5.2).
"""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.kit import places
from tests.kit.run import audit_files, run_command
from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.inputs import opened
from treewarden.jobs.inspecting import lines, said_of
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import repair_file
from treewarden.ppdm_models.errors import RemedyError, TreeFormatError
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.semantics.describe import describe
from treewarden.ppdm_models.tree.ensemble import claim_of
from treewarden.ppdm_models.tree.privacy_claim import BoundsOrigin
from treewarden.ppdm_models.tree.tree import Quality, rebuilt

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
    said = f"{name}.skops: diffprivlib {kind}, epsilon = 1: the file has no counts; the claim of"
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


# The claim itself: what the files of the library say, what voids it, and what its owner states.


def test_inspect_says_what_a_file_claims_and_that_a_seed_voids_it():
    said = said_of(FOLDER / "tree.skops")
    assert said["claim"]["words"].startswith("epsilon=1.0, unit=record, mechanism=permute-and-flip")
    text = " ".join(" ".join(lines(said)).split())
    assert "claims differential privacy: epsilon=1.0" in text
    assert "void, because the file contains the random seed" in text
    assert said_of(places.DATA / "grown" / "three.json")["claim"] is None


@pytest.mark.parametrize("name", ["tree.skops", "forest.skops"])
def test_a_seed_in_the_file_voids_the_claim(name, tmp_path):
    code, document = audited(name, tmp_path, "epsilon", limit=100)
    assert code == 1
    assert "the file contains the random seed" in document


def test_the_forest_of_the_library_is_seeded_whatever_its_own_random_state_is():
    forest = opened(FOLDER / "forest.skops").model
    assert claim_of(forest).is_seeded


def stated(words, tmp_path, *more, name="tree.skops"):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(measure="epsilon", rule="at_most", limit=1))
    table = FOLDER / "people.csv"
    files = ([FOLDER / name], [table], "y", policy)
    return audit_files(*files, "--claims", words, "--format", "json", *more)


def test_an_owner_cannot_state_other_than_the_file(tmp_path):
    outcome = stated("epsilon=0.5", tmp_path)
    assert outcome.exit_code == 4
    assert "claims: epsilon is 0.5, and the file says 1.0" in outcome.stderr
    outcome = stated("epsilon=much", tmp_path)
    assert outcome.exit_code == 2
    assert "--claims: epsilon=much: give a number above 0" in outcome.stderr


def test_a_file_without_its_seed_is_judged_by_its_labels(tmp_path):
    tree = opened(FOLDER / "tree.skops").model
    claim = replace(tree.learner.claim, is_seeded=False, bounds_origin=BoundsOrigin.PUBLIC)
    bare = replace(tree, learner=replace(tree.learner, claim=claim))
    for form, suffix in (("pmml", "pmml"), ("treewarden_json", "json")):
        file = tmp_path / f"bare.{suffix}"
        file.write_bytes(writers()[form].write(bare))
        assert load_tree(file.read_bytes(), "again").learner.claim.words == claim.words
        policy = tmp_path / "policy.toml"
        policy.write_text(POLICY.format(measure="epsilon", rule="at_most", limit=1))
        outcome = audit_files([file], [FOLDER / "people.csv"], "y", policy, "--format", "json")
        assert outcome.exit_code == 0
        readings = json.loads(outcome.stdout)["readings"]
        assert readings["epsilon"]["high"] == 1
        assert readings["epsilon_realised"]["high"] <= 1
        assert readings["epsilon_used"]["low"] <= 1 <= float(readings["epsilon_used"]["high"])


def test_a_claim_that_is_a_sentence_is_refused_in_our_own_format():
    tree = opened(FOLDER / "tree.skops").model
    text = writers()["treewarden_json"].write(tree).decode()
    secret = text.replace("epsilon=1.0, unit=record", "epsilon=1.0, Anna has HIV")
    with pytest.raises(TreeFormatError, match="should be a claim"):
        load_tree(secret.encode(), "secret.json")


def test_a_repair_by_the_table_is_refused_as_it_breaks_the_claim(tmp_path):
    subject = read_subject(Request(FOLDER / "tree.skops", FOLDER / "people.csv", AuditOptions("y")))
    with pytest.raises(RemedyError, match="would break the claim"):
        repair_file(subject, "tree.skops", target="pmml")


def test_a_changed_tree_keeps_no_claim_that_anybody_relies_on():
    tree = opened(FOLDER / "tree.skops").model
    leaf = replace(tree.root, children=(), score="no", default_child=None)
    cut = rebuilt(tree, (leaf,))
    assert cut.learner.claims_privacy
    assert cut.learner.claim is None


@pytest.mark.parametrize("more", [(), ("--data",)])
def test_a_void_claim_says_why_with_a_table_or_without(more, tmp_path):
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY.format(measure="epsilon", rule="at_most", limit=1))
    tree = opened(FOLDER / "tree.skops").model
    file = tmp_path / "tree.json"  # nothing but the tree is in it
    file.write_bytes(writers()["treewarden_json"].write(tree))
    table = (*more, FOLDER / "people.csv", "--sensitive", "y") if more else ("--no-table",)
    outcome = run_command("audit", file, *table, "--policy", policy)
    assert outcome.exit_code == 1
    assert "the file contains the random seed" in " ".join(outcome.stdout.split())

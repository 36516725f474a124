"""Trees that claim differential privacy: they tell labels and no counts, and the claim is judged.

``tree.skops`` and ``forest.skops`` were grown by diffprivlib 0.6.6 on ``people.csv`` (scikit-learn 1.5.2).
"""

import json
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pandas as pd
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
from treewarden.reports.document.packing import unpack

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
    assert any("there are no counts" in note for note in tree.notes)


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
    advice = "train a single tree instead" if "forest" in name else "train again without random_st"
    assert advice in document


def test_the_forest_of_the_library_is_seeded_whatever_its_own_random_state_is():
    forest = opened(FOLDER / "forest.skops").model
    assert claim_of(forest).is_seeded


def test_classes_that_the_library_may_have_read_from_the_table_keep_a_claim_open(tmp_path):
    """It keeps what it read as an array; a list was given by the owner, who can say so of an array too."""
    file = tmp_path / "array.skops"
    with ZipFile(FOLDER / "tree.skops") as given, ZipFile(file, "w") as changed:
        for name in given.namelist():
            data = given.read(name)
            if name == "schema.json":
                schema = json.loads(data)
                settings = schema["content"]["content"]
                settings["classes"] = settings["classes_"]
                settings["random_state"] = {**settings["max_depth"], "content": "null"}
                data = json.dumps(schema).encode()
            changed.writestr(name, data)
    assert claim_of(opened(file).model).may_read_classes
    assert not claim_of(opened(FOLDER / "tree.skops").model).may_read_classes
    code, document = audited(file, tmp_path, "epsilon", limit=1)
    assert code == 3
    assert "its list of classes may have been read from the table" in document


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
    with pytest.raises(TreeFormatError, match="give a claim"):
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


def test_the_internal_report_says_what_each_person_lost_and_the_redacted_one_does_not(tmp_path):
    tree = opened(FOLDER / "tree.skops").model
    claim = replace(tree.learner.claim, is_seeded=False, bounds_origin=BoundsOrigin.PUBLIC)
    bare = replace(tree, learner=replace(tree.learner, claim=claim))
    file, rows = tmp_path / "bare.json", tmp_path / "rows.csv"
    file.write_bytes(writers()["treewarden_json"].write(bare))
    told = ("--data", FOLDER / "people.csv", "--sensitive", "y", "--policy", "differential-privacy")
    told = (*told, "--worlds-budget", 1, "--quiet")
    outcome = run_command("audit", file, *told, "--format", "json", "--posterior", rows)
    (found,) = unpack(json.loads(outcome.stdout))["claims"]
    losses = [each["loss"] for each in found["losses"]]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] == pytest.approx(found["largest_loss"]["high"], rel=1e-5)
    assert found["mean_loss"] <= losses[0] <= 1
    table = pd.read_csv(rows)
    assert table.privacy_loss.max() == pytest.approx(losses[0], rel=1e-5)
    assert table.privacy_loss.notna().sum() == len(losses) + found["losses_left_out"]
    redacted = run_command("audit", file, *told, "--format", "json", "--redacted")
    (found,) = unpack(json.loads(redacted.stdout))["claims"]
    assert found["outcome"] == "not refuted"
    assert (found["losses"], found["mean_loss"], found["p_value"]) == ([], None, None)
    assert found["largest_loss"]["low"] is None
    html = run_command("audit", file, *told, "--format", "html")
    assert "Loss of each (nats)" in html.stdout


# Claims that the command line, the file and other options contradict.


W = "mechanism=permute-and-flip-monotonic, splits=independent, bounds=public"
CLAIMING = """<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="age" optype="continuous" dataType="double"/>
<DataField name="ill" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
</DataDictionary><TreeModel functionName="classification" splitCharacteristic="binarySplit">{extensions}
<MiningSchema><MiningField name="age"/><MiningField name="ill" usageType="target"/></MiningSchema><Node id="1"><True/>
<Node id="2" score="no"><SimplePredicate field="age" operator="lessOrEqual" value="45.5"/></Node>
<Node id="3" score="yes"><SimplePredicate field="age" operator="greaterThan" value="45.5"/></Node></Node></TreeModel>
</PMML>"""


def claiming(tmp_path, *claims):
    """Return the words that audit a file of two leaves that makes these claims, of 50 records."""
    said = [f'<Extension name="treewarden:claim" value="{words}"/>' for words in claims]
    file, table = tmp_path / "m.pmml", tmp_path / "t.csv"
    file.write_text(CLAIMING.format(extensions="".join(said)))
    rows = [f"{n % 12},{20 + n},{'yes' if n % 2 else 'no'}" for n in range(50)]
    table.write_text("\n".join(["person,age,ill", *rows]))
    return file, "--data", table, "--policy", "differential-privacy", "--no-worlds"


def test_two_claims_in_a_file_are_refused_and_both_are_named(tmp_path):
    one, two = f"epsilon=1.0, unit=record, {W}", f"epsilon=0.2, unit=record, {W}"
    outcome = run_command("audit", *claiming(tmp_path, one, two))
    assert outcome.exit_code == 4
    assert "treewarden:claim occurs 2 times" in outcome.stderr
    assert one in outcome.stderr
    assert two in outcome.stderr


@pytest.mark.parametrize(
    ("own", "words", "said"),
    [
        (f"epsilon=1.0, unit=record, {W}", "unit=person", "the file says record"),
        (f"epsilon=1.0, unit=record, {W}", "label_epsilon=0.01", "label_epsilon is 0.01"),
        (None, f"epsilon=1, label_epsilon=0.01, {W}", "label_epsilon is 0.01"),
    ],
)
def test_words_that_say_more_than_the_claim_are_refused(own, words, said, tmp_path):
    audit = claiming(tmp_path, *([own] if own else []))
    outcome = run_command("audit", *audit, "--claims", words)
    assert outcome.exit_code == 4
    assert said in outcome.stderr


@pytest.mark.parametrize("option", [("--strict-labels",), ("--learner", "rpart")])
def test_labels_that_are_noise_are_not_also_those_of_a_learner(option, tmp_path):
    audit = claiming(tmp_path)
    outcome = run_command("audit", *audit, "--claims", f"epsilon=1, {W}", *option)
    assert outcome.exit_code == 4
    assert f"remove {option[0]}" in outcome.stderr


def test_labels_worse_than_the_claimed_noise_leave_the_audit_open(tmp_path):
    audit = claiming(tmp_path)
    rows = [f"{n},{20 + n % 50},{'yes' if (n % 50 < 26) != (n < 60) else 'no'}" for n in range(300)]
    audit[2].write_text("\n".join(["person,age,ill", *rows]))
    outcome = run_command("audit", *audit, "--claims", f"epsilon=1, {W}")
    assert outcome.exit_code == 3
    assert "the table is not the training table" in " ".join(outcome.stdout.split())


@pytest.mark.parametrize("releases", [1, 2])
def test_labels_of_private_splits_that_spend_all_of_epsilon_pass_nowhere(releases, tmp_path):
    audit = claiming(tmp_path)
    more = ("--data", audit[2]) if releases == 2 else ()
    first = (audit[0],) if releases == 2 else ()
    words = f"epsilon=0.5, label_epsilon=0.5, {W.replace('independent', 'private')}"
    outcome = run_command("audit", *first, *audit, *more, "--claims", words)
    assert outcome.exit_code == 3
    assert "nothing is left for the splits" in " ".join(outcome.stdout.split())


def test_what_a_person_with_several_records_lost_is_that_of_all_of_them(tmp_path):
    audit = claiming(tmp_path)
    said = ("--claims", f"epsilon=1, unit=record, {W}", "--id", "person")
    text = " ".join(run_command("audit", *audit, *said).stdout.split())
    assert "epsilon is for one record, and one person has 5 records" in text
    of_record = " ".join(run_command("audit", *audit, *said[:2]).stdout.split())
    lost = [
        float(part.split("lost more than ")[1].split()[0].strip(".,")) for part in (text, of_record)
    ]
    assert lost[0] > lost[1]


@pytest.mark.parametrize(
    ("option", "said"), [(("--id", "person"), "one person has 5 records"), ((), "add --id COLUMN")]
)
def test_a_promise_to_persons_passes_only_where_records_of_each_are_covered(option, said, tmp_path):
    audit = claiming(tmp_path)
    outcome = run_command("audit", *audit, *option, "--claims", f"epsilon=1, unit=person, {W}")
    assert outcome.exit_code in (1, 3)
    assert said in " ".join(outcome.stdout.split()) or "REFUTED" in outcome.stdout


BEYOND = [
    ('<MiningField name="age"/>', '<MiningField name="age" importance="0.37"/>', "'importance'"),
    (
        '<MiningField name="age"/>',
        '<MiningField name="age" invalidValueReplacement="44.5"/>',
        "Replac",
    ),
    (
        '<Value value="no"/>',
        '<Value value="44.5" property="missing"/><Value value="no"/>',
        "a Value",
    ),
    ('binarySplit">', 'binarySplit" missingValuePenalty="0.44">', "'missingValuePenalty'"),
    (
        "</MiningSchema>",
        '</MiningSchema><Targets><Target field="ill" min="20" max="69"/></Targets>',
        "Target",
    ),
    (
        "</MiningSchema>",
        '</MiningSchema><Output><OutputField name="m" optype="continuous" dataType="double" '
        'feature="transformedValue"><Constant>44.5</Constant></OutputField></Output>',
        "Constant",
    ),
    (
        "</MiningSchema>",
        '</MiningSchema><LocalTransformations><DerivedField name="z" optype="continuous" '
        'dataType="double"><Apply function="-"><FieldRef field="age"/><Constant>44.5</Constant></Apply>'
        "</DerivedField></LocalTransformations>",
        "DerivedField",
    ),
]


@pytest.mark.parametrize(("place", "with_more", "named"), BEYOND)
def test_a_claim_stays_open_where_the_file_holds_more_than_trees(place, with_more, named, tmp_path):
    model, *rest = claiming(tmp_path)
    said = ("--claims", f"epsilon=1, {W}")
    assert "NOT REFUTED (epsilon=1.0)" in run_command("audit", model, *rest, *said).stdout
    model.write_text(model.read_text().replace(place, with_more, 1))
    text = " ".join(run_command("audit", model, *rest, *said).stdout.split())
    assert "UNDETERMINED (epsilon=1.0)" in text
    assert "the claim does not cover it" in text
    assert named in text

"""Boosted models of several targets, and those whose training stopped early: what inspect and audit say of them."""

import json

import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.run import run_command
from treewarden.jobs.inputs import opened
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import outputs_of

OUTPUTS = FOLDER / "outputs"
SEVERAL = ("two_labels.json", "two_labels_vectors.json")


def called(*words):
    return run_command(*words)


def told(outcome):
    return " ".join(outcome.output.split())


def changed(name, change):
    document = json.loads((OUTPUTS / name).read_bytes())
    change(document["learner"])
    return json.dumps(document).encode()


@pytest.mark.parametrize("name", SEVERAL)
def test_several_targets_are_several_outputs_and_no_classes(name):
    model = opened(OUTPUTS / name).model
    assert outputs_of(model) == 2
    assert model.classes == ()
    said = told(called("inspect", OUTPUTS / name))
    assert "2 unnamed outputs" in said
    assert "predicts 2 targets (num_target)" in said


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize(
    "more", [("--no-table",), ("--data", OUTPUTS / "two_labels.csv", "--sensitive", "bad")]
)
def test_no_audit_is_done_of_a_model_of_several_targets(name, more):
    outcome = called("audit", OUTPUTS / name, *more)
    assert outcome.exit_code == 4
    assert "predicts 2 targets, but treewarden audits models with one" in outcome.stderr


def test_no_repair_is_done_of_a_model_of_several_targets(tmp_path):
    words = ("--data", OUTPUTS / "two_labels.csv", "--sensitive", "bad", "-o", tmp_path / "o.json")
    outcome = called("repair", OUTPUTS / SEVERAL[0], *words)
    assert outcome.exit_code == 4
    assert "predicts 2 targets" in outcome.stderr


@pytest.mark.parametrize("number", ["-1", "99999", "1000000000000000", "two", "", None, 2.5])
def test_a_number_of_targets_that_cannot_be_is_refused(number):
    def change(learner):
        learner["learner_model_param"]["num_target"] = number

    with pytest.raises(TreeFormatError, match="num_target"):
        open_model(changed(SEVERAL[0], change), "odd.json")


def test_targets_and_classes_together_are_refused():
    def change(learner):
        learner["learner_model_param"]["num_class"] = "2"

    with pytest.raises(TreeFormatError, match="2 targets and 2 classes"):
        open_model(changed(SEVERAL[0], change), "odd.json")


def test_inspect_and_audit_say_with_how_many_rounds_the_wrapper_predicts(tmp_path):
    wanted = "predicts with the first 3 of its 6 rounds (best_iteration 2); all 6 are published"
    assert wanted in told(called("inspect", OUTPUTS / "stopped_early.json"))
    words = ("--no-table", "--verbose")
    assert wanted in told(called("audit", OUTPUTS / "stopped_early.json", *words))


@pytest.mark.parametrize("said", ["6", "-1", "1e3", "x" * 1000, "9" * 400, 7, None, [1]])
def test_a_best_iteration_that_is_no_round_is_said_to_be_none(said):
    def change(learner):
        learner["attributes"]["best_iteration"] = said

    notes = open_model(changed("stopped_early.json", change), "odd.json").model.notes
    wanted = [note for note in notes if "best_iteration" in note]
    assert len(wanted) == (said is not None)
    assert all("not one of its 6 rounds" in note and len(note) < 200 for note in wanted)


def test_the_last_round_as_the_best_is_nothing_to_say():
    def change(learner):
        learner["attributes"]["best_iteration"] = "5"

    notes = open_model(changed("stopped_early.json", change), "odd.json").model.notes
    assert not any("best_iteration" in note for note in notes)


@pytest.mark.parametrize(("best", "is_said"), [(1, True), (2, False), (99, False), ("x", False)])
def test_what_catboost_says_of_its_best_iteration_is_said(best, is_said):
    tree = {"splits": [], "leaf_values": [0.5], "leaf_weights": [4]}
    document = {
        "features_info": {"float_features": []},
        "oblivious_trees": [tree] * 3,
        "model_info": {"training": {"metrics": {"best_iteration": best}}},
    }
    notes = open_model(json.dumps(document).encode(), "cat.json").model.notes
    assert any("the first 2 of its 3 trees did best" in note for note in notes) == is_said

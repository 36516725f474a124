"""Private models of other programs: DP-EBM and DP-XGBoost are recognised, and nothing of them passes as a tree.

``ebm_json/good`` has the keys that InterpretML 0.7.8 writes; the logs of DP-XGBoost are those that its source writes.
"""

import json

import pytest

from tests.kit import places
from tests.kit.run import audit_files, run_command
from treewarden.jobs.inputs import opened
from treewarden.jobs.inspecting import lines, said_of
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.convert import writable
from treewarden.ppdm_models.files.load import load_model, open_model
from treewarden.ppdm_models.tree.ensemble import claim_of, claims_privacy

EBM = places.DATA / "formats" / "ebm_json" / "good" / "age_and_sex.json"
BOOSTED = places.DATA / "formats" / "xgboost_model" / "good" / "loan.json"
PEOPLE = "age,sex,ill\n" + "".join(
    f"{age},{sex},{ill}\n"
    for age, sex, ill in [(25, "f", "no"), (40, "m", "yes"), (60, "f", "yes"), (35, "m", "no")] * 3
)


def ebm(tmp_path, **settings):
    document = json.loads(EBM.read_text())
    document["ebm"]["implementation_params"] |= settings
    file = tmp_path / "ebm.json"
    file.write_text(json.dumps(document))
    return file


def audited(file, tmp_path, policy="differential-privacy", *more):
    table = tmp_path / "people.csv"
    table.write_text(PEOPLE)
    outcome = audit_files([file], [table], "ill", policy, "--format", "json", *more)
    return outcome.exit_code, json.loads(outcome.stdout)


def test_a_private_additive_model_says_what_it_claims_and_publishes():
    said = said_of(EBM)
    text = " ".join(" ".join(lines(said)).split())
    assert said["claim"]["words"] == "epsilon=0.5, delta=1e-06, unit=record"
    assert "classification by an additive model of 2 terms" in text
    assert "a noisy number of records of each bin" in text
    assert "the exact number of training records" in text


def test_its_terms_are_its_bins():
    model = open_model(EBM.read_bytes(), "ebm.json").model
    age, sex = model.trees
    assert [leaf.score for leaf in age.leaves] == [0.0, -0.5, 0.125, 0.75]
    assert [leaf.score for leaf in sex.leaves] == [0.0, 0.25, -0.25]
    assert model.base == (0.25,)


def test_no_check_passes_but_those_about_the_rest_of_the_file(tmp_path):
    code, document = audited(EBM, tmp_path)
    assert code == 3
    for name, reading in document["readings"].items():
        is_of_file = name.startswith("side_leaks") or name == "rebuilt_linkable"
        assert is_of_file or reading["low"] is None, name
    assert "Gaussian noise (DP-EBM)" in document["readings"]["epsilon"]["reason"]


def test_no_words_of_an_owner_make_an_additive_model_pass(tmp_path):
    words = "mechanism=permute-and-flip, splits=independent, trees=all, label_epsilon=0.1, bounds=public"
    code, document = audited(EBM, tmp_path, "differential-privacy", "--claims", words)
    assert code == 3
    assert document["readings"]["epsilon"]["low"] is None


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"random_state": 7}, "the random seed"),
        ({"privacy_bounds": None}, "its bounds or classes were read from the table"),
        ({"privacy_bounds": {"height": [0, 3]}}, "its bounds or classes were read from the table"),
    ],
)
def test_a_seed_or_bounds_of_the_table_void_its_claim(settings, why, tmp_path):
    file = ebm(tmp_path, **settings)
    code, document = audited(file, tmp_path)
    assert code == 1
    assert document["readings"]["epsilon"]["low"] == "inf"
    assert why in json.dumps(document)
    assert "void" in " ".join(lines(said_of(file)))


def test_it_is_neither_converted_nor_repaired(tmp_path):
    assert writable(open_model(EBM.read_bytes(), "ebm.json").model) == ()
    outcome = run_command("convert", EBM, tmp_path / "again.pmml")
    assert outcome.exit_code == 4
    assert "an additive model, not a tree" in outcome.stderr


@pytest.mark.parametrize("settings", [{"epsilon": "much"}, {"epsilon": -1}, {"delta": 2}])
def test_settings_that_are_no_numbers_are_refused(settings, tmp_path):
    with pytest.raises(TreeFormatError):
        opened(ebm(tmp_path, **settings))


def boosted(logs, **columns):
    """Return a boosted model with these logs of each tree, as DP-XGBoost writes them, and other columns."""
    document = json.loads(BOOSTED.read_text())
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        size = len(tree["left_children"])
        tree["privacy_logs"] = logs(size)
        tree |= {name: [value] * size for name, value in columns.items()}
    return json.dumps(document, sort_keys=True).encode()


def logged(nodes, bins=0.125):
    of_bins = [{"epsilon": bins, "type": "Histogram"}] * 2
    return [*of_bins, *[{"epsilon": 0.02, "type": "Laplace"}] * nodes]


def test_logs_of_dp_xgboost_are_its_claim_and_exact_sums_void_it():
    file = open_model(boosted(logged), "model.json")
    claim = claim_of(file.model)
    assert claim.epsilon == pytest.approx(2 * 2 * 2 * 0.125)  # half of it on the bins of two trees
    assert "sum_hessian, loss_changes, base_weights" in claim.producer.unprotected[0]
    assert not [leak for leak in file.leaks if "privacy_logs" in leak.where]


def test_without_exact_sums_its_claim_stays_open(tmp_path):
    file = tmp_path / "model.json"
    file.write_bytes(boosted(logged, sum_hessian=0.0, loss_changes=0.0, base_weights=0.0))
    claim = claim_of(opened(file).model)
    assert not claim.producer.unprotected
    assert "the time of training in seconds" in claim.producer.unevaluated[0]


def test_a_void_claim_of_dp_xgboost_fails_from_the_file_alone(tmp_path):
    file = tmp_path / "model.json"
    file.write_bytes(boosted(logged))
    outcome = run_command("audit", file, "--no-table", "--policy", "differential-privacy")
    assert outcome.exit_code == 1
    assert "without noise" in " ".join(outcome.stdout.split())


@pytest.mark.parametrize(
    "logs",
    [
        lambda nodes: "Anna has HIV",
        lambda nodes: [{"epsilon": "Anna has HIV", "type": "Laplace"}],
        lambda nodes: logged(nodes - 1),
        lambda nodes: [*logged(nodes), {"epsilon": 0.3, "type": "Laplace"}],
        lambda nodes: [{**entry, "note": "Anna"} for entry in logged(nodes)],
        lambda nodes: logged(nodes, bins=float("inf")),
        lambda nodes: logged(nodes, bins=True),
    ],
)
def test_logs_that_the_fork_does_not_write_give_no_epsilon_and_are_named(logs):
    file = open_model(boosted(logs), "model.json")
    assert claims_privacy(file.model)
    assert claim_of(file.model) is None
    assert any("privacy_logs" in leak.where for leak in file.leaks)


def test_trees_without_privacy_have_empty_logs_and_claim_nothing():
    assert not claims_privacy(load_model(boosted(lambda nodes: []), "model.json"))

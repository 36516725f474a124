"""Settings of an XGBoost training that somebody tells, held against all nodes of the file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER, case_of, truth
from tests.kit.run import run_command
from treewarden.audit.inverters import LeafSums, contradicted, facts_of, knowing, leaf_sums
from treewarden.jobs.inputs import opened
from treewarden.ppdm_models.files.load import open_model

TOLD = FOLDER / "told"
NAMES = ("eta", "lambda", "alpha", "max_delta_step")
TRUE = {
    "mirrored_labels": (0.3, 0.5, 0, 0),
    "limited_steps": (1, 0.5, 0, 0.3),
    "no_ridge": (0.1, 0, 0, 0),
    "one_round": (1, 0.5, 0, 0),
    "odd_rate": (0.37, 0.5, 0, 0),
    "whole_steps": (1, 0, 0, 0),
}


def settings(values):
    return {**dict(zip(NAMES, map(float, values), strict=True)), "subsample": 1.0}


@pytest.mark.parametrize("name", TRUE)
def test_true_settings_are_accepted_where_several_fit_the_file(name):
    model = opened(TOLD / f"{name}.json").model
    assert contradicted(model, settings(TRUE[name])) == {}
    assert not {*NAMES} & {*facts_of(model)}  # nothing is said to follow


@pytest.mark.parametrize("name", TRUE)
def test_true_settings_turn_the_leaves_back(name):
    case, people = case_of(TOLD / f"{name}.json", TOLD / f"{name}.csv", sensitive="y")
    told = settings(TRUE[name])
    sums = leaf_sums(replace(case, growth=knowing(case.growth, told)))
    assert isinstance(sums, LeafSums)
    true = truth(case, people, sums)
    assert ((sums.low <= true) & (true <= sums.high)).all()
    assert (sums.low < sums.high).any() == (told["max_delta_step"] > 0)


@pytest.mark.parametrize("name", TRUE)
def test_the_command_line_audits_with_true_settings(name, tmp_path):
    said = "\n".join(f"{key} = {value}" for key, value in settings(TRUE[name]).items())
    (tmp_path / "known.toml").write_text(f"[training]\n{said}\n")
    asked = ["audit", TOLD / f"{name}.json", "--data", TOLD / f"{name}.csv", "--sensitive", "y"]
    asked += ["--knowledge", tmp_path / "known.toml"]
    outcome = run_command(*asked)
    assert outcome.exit_code == 1, outcome.output


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("no_ridge", (0.2, 0, 0, 0)),
        ("one_round", (0.7, 0, 0, 0)),
        ("whole_steps", (1, 0.1, 0, 0)),
        ("limited_steps", (1, 0.5, 0, 0.2)),
    ],
)
def test_wrong_settings_turn_nothing_back(name, values):
    case, _ = case_of(TOLD / f"{name}.json", TOLD / f"{name}.csv", sensitive="y")
    found = leaf_sums(replace(case, growth=knowing(case.growth, settings(values))))
    assert not isinstance(found, LeafSums)


def test_a_limit_that_no_step_reached_is_no_contradiction():
    model = opened(FOLDER / "plain.json").model
    assert facts_of(model)["max_delta_step"].value == 0
    assert contradicted(model, {"max_delta_step": 5.0}) == {}
    assert contradicted(model, {"eta": 0.3, "lambda": 1, "alpha": 0, "max_delta_step": 5}) == {}
    assert {*contradicted(model, {"max_delta_step": 0.01})} == {"max_delta_step"}


@pytest.mark.parametrize(
    "wrong", [{"eta": 0.2}, {"lambda": 2.0}, {"alpha": 0.5}, {"eta": 0.3, "lambda": 1.5}]
)
def test_what_all_nodes_rule_out_is_contradicted(wrong):
    found = contradicted(opened(FOLDER / "plain.json").model, wrong)
    assert {*found} == {name for name in wrong if name != "eta" or wrong[name] != 0.3}


def test_one_setting_that_is_told_lets_the_others_follow():
    facts = dict.fromkeys(("eta", "lambda"))
    model = opened(TOLD / "odd_rate.json").model
    assert not {*facts} & {*facts_of(model)}
    plain = opened(FOLDER / "plain.json").model
    grown = replace(plain, growth=knowing(plain.growth, {"lambda": 1.0}))
    assert facts_of(grown)["eta"].value == pytest.approx(0.3)


@pytest.mark.parametrize("number", [1e38, 1e-38, -1e30])
def test_absurd_numbers_of_nodes_let_nothing_follow(number):
    document = json.loads((FOLDER / "plain.json").read_bytes())
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        tree["base_weights"] = [number] * len(tree["base_weights"])
    with np.errstate(all="ignore"):
        model = open_model(json.dumps(document).encode(), "absurd.json").model
        assert "eta" not in facts_of(model)
        assert contradicted(model, settings((0.3, 1, 0, 0))) == {}

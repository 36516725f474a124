"""A boosted model from the command line: audited, repaired by rounding its leaves, and audited again."""

from __future__ import annotations

import csv
import json
import shutil

import numpy as np
import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.run import run_command
from treewarden.jobs.inputs import opened, read
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.predict import predict
from treewarden.ppdm_models.tree.side_channels import LeakKind

POLICY = """name = "recovered"
version = "1"
title = "recovered"

[[clause]]
id = "recovered"
measure = "recovered_leaves"
rule = "at_most"
limit = 0.8
"""

TABLES = {"large.json": "many.csv", "fixed.json": "many.csv"}
"""The tables that models were trained on, where it is not the smallest."""


@pytest.fixture
def folder(tmp_path):
    for name in ("plain.json", "two.csv", "large.json", "many.csv"):
        shutil.copy(FOLDER / name, tmp_path / name)
    (tmp_path / "recovered.toml").write_text(POLICY)
    return tmp_path


def called(folder, command, model="plain.json", *words):
    table = folder / TABLES.get(model, "two.csv")
    asked = [command, folder / model, "--data", table, "--sensitive", "y"]
    asked += ["--policy", folder / "recovered.toml", "--quiet", *words]
    return run_command(*asked)


def test_json_says_what_all_trees_prove(folder):
    outcome = called(folder, "audit", "plain.json", "--format", "json")
    assert outcome.exit_code == 1
    document = json.loads(outcome.stdout)
    found = document["ensemble"]
    assert (found["trees"], found["replayed"], found["reasons"]) == (5, False, [])
    assert found["leaves"] == found["recovered_leaves"] == 30
    assert (found["records_certain_by_leaf"], found["records_certain"]) == (40, 51)
    assert document["worlds"]["records_certain"] == found["records_certain"]
    assert {row["name"]: row["text"] for row in found["facts"]}["Learning rate (eta)"].startswith(
        "0.3"
    )


def test_draws_are_repeated_unless_nobody_knows_the_order_of_the_records(folder):
    shutil.copy(FOLDER / "sampled_exact.json", folder)
    outcome = called(folder, "audit", "sampled_exact.json", "--format", "json")
    document = json.loads(outcome.stdout)
    found = document["ensemble"]
    assert found["replayed"]
    assert found["reasons"] == [
        "The rows that each tree was trained on, drawn again with the seed 0, which the file withholds."
    ]
    assert found["records_certain"] == document["worlds"]["records_certain"] > 0
    told = {row["name"]: row["text"] for row in found["facts"]}
    assert told["Seed of the draws (seed)"] == "0: follows from the file's numbers"
    assert told["Share of the records in each round (subsample)"].startswith("0.5: follows")
    assert any("The order of the records" in each for each in document["knowledge"]["sentences"])
    words = ("--format", "json", "--row-order", "unknown")
    outcome = called(folder, "audit", "sampled_exact.json", *words)
    assert outcome.exit_code == 3
    assert not json.loads(outcome.stdout)["ensemble"]["replayed"]


def test_a_sampled_model_is_not_rounded(folder):
    shutil.copy(FOLDER / "sampled_exact.json", folder)
    words = ("-o", folder / "fixed.json", "--verbose")
    outcome = called(folder, "repair", "sampled_exact.json", *words)
    assert "trained on samples of the records" in " ".join(outcome.stdout.split())
    assert not (folder / "fixed.json").exists()


@pytest.mark.parametrize(
    ("model", "leaves", "fact"),
    [
        ("catboost_plain.json", 15, "L2 regularisation (l2_leaf_reg)"),
        ("spark_plain.zip", 16, "Learning rate (stepSize)"),
    ],
)
def test_other_libraries_are_told_as_much(folder, model, leaves, fact):
    shutil.copy(FOLDER / model, folder / model)
    outcome = called(folder, "audit", model, "--format", "json")
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)["ensemble"]
    assert found["leaves"] == found["recovered_leaves"] == leaves
    assert fact in {row["name"] for row in found["facts"]}


@pytest.mark.parametrize(
    ("model", "why"),
    [("catboost_class_weights.json", "class_weights"), ("spark_sampled.zip", "subsamplingRate")],
)
def test_what_is_not_turned_back_is_undetermined_and_says_why(folder, model, why):
    shutil.copy(FOLDER / model, folder / model)
    outcome = called(folder, "audit", model, "--format", "json")
    assert outcome.exit_code == 3
    found = json.loads(outcome.stdout)["ensemble"]
    assert found["recovered_leaves"] == 0
    assert why in found["reasons"][0]


def test_the_page_shows_it_over_the_number_of_trees(folder):
    outcome = called(folder, "audit", "plain.json", "--format", "html")
    assert "All trees combined" in outcome.stdout
    assert 'id="over-trees-title"' in outcome.stdout
    assert "follows from the file&#39;s numbers" in outcome.stdout


def test_the_text_says_it_in_a_sentence(folder):
    said = " ".join(called(folder, "audit", "plain.json", "--verbose").stdout.split())
    assert "The class counts of all" in said
    assert "be inverted into the number of people with each value" in said


def test_a_posterior_says_who_is_certain(folder):
    called(folder, "audit", "plain.json", "--posterior", folder / "p.csv")
    with (folder / "p.csv").open() as file:
        rows = list(csv.DictReader(file))
    sure = [row for row in rows if row["certain"] == "true"]
    assert sure
    assert all(float(row["probability"]) == (row["class"] == row["proved_value"]) for row in sure)
    assert all(row["proved_value"] == "" for row in rows if row["certain"] == "false")


def test_a_repair_rounds_leaf_values_and_its_file_says_no_more_than_what_was_audited(folder):
    outcome = called(folder, "repair", "large.json", "-o", folder / "fixed.json")
    assert outcome.exit_code == 0, outcome.output
    assert "binary digit" in outcome.stdout
    assert "[training]" in outcome.stdout
    fixed = json.loads((folder / "fixed.json").read_bytes())
    for tree in fixed["learner"]["gradient_booster"]["model"]["trees"]:
        ends = [node for node, child in enumerate(tree["left_children"]) if child < 0]
        assert not any(tree["sum_hessian"])
        assert not any(tree["loss_changes"])
        assert all(tree["base_weights"][n] in (0, tree["split_conditions"][n]) for n in ends)
        mantissas = np.frexp([tree["split_conditions"][n] for n in ends])[0]
        assert (np.ldexp(mantissas, 9) % 1 == 0).all()
    (folder / "known.toml").write_text(
        "[training]\neta = 0.3\nlambda = 1\nalpha = 0\nmax_delta_step = 0\nsubsample = 1\n"
    )
    again = called(folder, "audit", "fixed.json", "--knowledge", folder / "known.toml")
    assert again.exit_code == 0, again.output


def test_a_repaired_model_predicts_nearly_the_same(folder):
    called(folder, "repair", "large.json", "-o", folder / "fixed.json")
    table = read(folder / "many.csv")
    before, after = (
        predict(
            model,
            {feature.name: table.column(feature) for feature in model.features},
        )
        for model in (opened(folder / name).model for name in ("large.json", "fixed.json"))
    )
    assert np.abs(before - after).max() < 0.2
    assert (before.argmax(axis=1) == after.argmax(axis=1)).mean() > 0.9


def test_seeds_of_a_knowledge_file_are_tried_and_said_in_the_report(folder):
    (folder / "known.toml").write_text("seeds = [1, 42]\n")
    words = ("--knowledge", folder / "known.toml", "--format", "json")
    outcome = called(folder, "audit", "plain.json", *words)
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout)["provenance"]["asked"]["seeds"] == [1, 42]


def test_a_setting_that_is_no_number_is_a_mistake_of_the_knowledge_file(folder):
    (folder / "known.toml").write_text("[training]\neta = nan\n")
    outcome = called(folder, "audit", "plain.json", "--knowledge", folder / "known.toml")
    assert outcome.exit_code == 4
    assert "training.eta" in outcome.stderr


def test_an_unknown_setting_of_the_training_is_a_mistake_of_the_knowledge_file(folder):
    (folder / "known.toml").write_text("[training]\nmax_depth = 3\n")
    outcome = called(folder, "audit", "plain.json", "--knowledge", folder / "known.toml")
    assert outcome.exit_code == 4
    said = "known.toml: training: 'max_depth' does not affect the leaf values of plain.json"
    assert said in outcome.stderr


def test_a_setting_that_the_model_file_contradicts_is_told_with_both_values(folder):
    (folder / "known.toml").write_text("[training]\neta = 0.2\nlambda = 1\n")
    outcome = called(folder, "audit", "plain.json", "--knowledge", folder / "known.toml")
    assert outcome.exit_code == 4
    said = "known.toml: training: eta = 0.2, but plain.json shows by its numbers 0.3; leave it out"
    assert said in outcome.stderr
    (folder / "known.toml").write_text("[training]\neta = 0.3\nlambda = 1\n")
    outcome = called(folder, "audit", "plain.json", "--knowledge", folder / "known.toml")
    assert outcome.exit_code == 1


def test_wrong_settings_are_doubted_as_the_table_is(folder):
    called(folder, "repair", "large.json", "-o", folder / "fixed.json")
    (folder / "known.toml").write_text(
        "[training]\neta = 0.1\nlambda = 1\nalpha = 0\nmax_delta_step = 0\nsubsample = 1\n"
    )
    outcome = called(folder, "audit", "fixed.json", "--knowledge", folder / "known.toml")
    assert outcome.exit_code == 3
    said = " ".join(outcome.stdout.split())
    assert "or the training settings differ from those assumed (eta = 0.1, lambda" in said


def test_a_setting_of_a_model_that_is_not_boosted_is_a_mistake(folder):
    (folder / "known.toml").write_text("[training]\neta = 0.3\n")
    asked = ["audit", FOLDER / "numbers_tree.skops", "--data", FOLDER / "numbers_whole.csv"]
    asked += ["--sensitive", "y", "--knowledge", folder / "known.toml"]
    outcome = run_command(*asked)
    assert outcome.exit_code == 4
    assert (
        "known.toml: training: 'eta' is for boosted models, and numbers_tree.skops is no"
        in outcome.stderr
    )


@pytest.mark.parametrize(
    ("place", "part"),
    [
        (("notes",), "somebody's"),
        (("learner", "records"), [1, 2]),
        (("learner", "attributes", "note"), "trained on the ward"),
        (("learner", "objective", "why"), "Because it was asked for by Dr. N"),
        (("learner", "gradient_booster", "model", "trees", 0, "members"), [3]),
        (("learner", "gradient_booster", "model", "trees", 0, "tree_param", "who"), "A. Person"),
        (("learner", "gradient_booster", "extra"), 1),
    ],
)
def test_what_no_such_file_holds_is_reported(place, part):
    document = json.loads((FOLDER / "plain.json").read_bytes())
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = part
    leaks = open_model(json.dumps(document).encode(), "model.json").leaks
    # What is put at the end of a part that the library sorts shows by its place too.
    assert {leak.kind for leak in leaks} == {"unknown"}


def test_a_file_as_the_library_writes_it_holds_nothing_else():
    for name in ("plain", "three", "dart", "exact", "side_by_side"):
        assert opened(FOLDER / f"{name}.json").leaks == ()


def test_an_integer_beyond_all_floats_is_told_or_refused():
    document = json.loads((FOLDER / "plain.json").read_bytes())
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    inner = next(n for n, child in enumerate(tree["left_children"]) if child > 0)
    tree["base_weights"][inner] = 10**400
    leaks = open_model(json.dumps(document).encode(), "model.json").leaks
    assert LeakKind.UNKNOWN in {leak.kind for leak in leaks}


def test_numbers_of_nodes_that_nothing_reaches_are_reported():
    document = json.loads((FOLDER / "plain.json").read_bytes())
    tree = document["learner"]["gradient_booster"]["model"]["trees"][0]
    inner = next(n for n, child in enumerate(tree["left_children"]) if child > 0 and n > 0)
    tree["left_children"][inner] = tree["right_children"][inner] = -1
    leaks = open_model(json.dumps(document).encode(), "model.json").leaks
    assert any("nodes that were pruned" in leak.what for leak in leaks)

"""A boosted model without its last trees: what is proposed, what the file is then, and what repair makes of it."""

import json

import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.run import run_command
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.jobs.inputs import opened, read
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import Proposal
from treewarden.policies.remedies.drop_trees import REMEDY
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.ensemble import first_members


def proposals(name, table):
    file = opened(FOLDER / name)
    people = build_population(file.model, read(FOLDER / table), sensitive="y")
    return list(REMEDY.propose_all(forest_of(file.model, people), people, load_pack("standard")))


@pytest.mark.parametrize(
    ("name", "table", "trees"),
    [("plain.json", "two.csv", [2, 1]), ("three.json", "three.csv", [3])],
)
def test_half_of_the_rounds_stay_and_half_of_these(name, table, trees):
    found = proposals(name, table)
    assert [len(each.model.members) for each in found] == trees
    assert all(isinstance(each, Proposal) and each.model.growth is None for each in found)
    assert "rounds stay" in found[0].title


def test_what_is_not_turned_back_is_not_cut_either():
    assert proposals("dart.json", "two.csv") == []


@pytest.mark.parametrize("name", ["plain.json", "three.json"])
def test_the_file_without_its_last_trees_predicts_what_the_first_ones_do(name):
    file = open_model((FOLDER / name).read_bytes(), name)
    kept = 3
    short = first_members(file.model, kept)
    again = open_model(file.opened.rewrite(short), name)
    assert again.model == short
    assert again.model.growth is not None
    assert len(again.model.growth.trees) == kept
    document = json.loads(file.opened.rewrite(short))["learner"]["gradient_booster"]["model"]
    assert document["gbtree_model_param"]["num_trees"] == str(kept)
    assert document["iteration_indptr"][-1] == kept


def test_repair_leaves_out_trees_and_audits_what_is_left(tmp_path):
    policy = tmp_path / "certain.toml"
    policy.write_text(
        'name = "certain"\nversion = "1"\ntitle = "certain"\n[[clause]]\nid = "certain"\n'
        'measure = "certain_disclosure"\nrule = "at_most"\nlimit = 40\n'
    )
    files = [FOLDER / "plain.json", "--data", FOLDER / "two.csv", "--sensitive", "y"]
    words = ["--policy", policy, "--list", "--format", "json", "--quiet"]
    outcome = run_command("repair", *files, *words)
    attempts = {each["name"]: each for each in json.loads(outcome.stdout)["repair"]["attempts"]}
    dropped = [each for name, each in attempts.items() if name.startswith("drop_trees")]
    assert len(dropped) == 2
    assert all(each["verdict"] in ("PASS", "FAIL") for each in dropped)
    assert sorted(each["leaves"] for each in dropped) == [5, 12]

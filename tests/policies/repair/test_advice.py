"""How to grow a model again: figures of the model itself where they were measured, of the study where not."""

import re

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit import places
from tests.kit.grown_models import FOLDER
from tests.kit.run import run_command
from treewarden.audit.inverters import inverters
from treewarden.policies.repair.repair import (
    DEPTH,
    LEAVES,
    MEMBER_LEVERS,
    NAMES,
    OF_BOOSTED_MEMBERS,
    OF_REBUILT,
    REBUILT_LEVERS,
    SAMPLED,
    WHOLE,
)

POLICY = (
    'name = "certain"\nversion = "1"\ntitle = "certain"\n[[clause]]\nid = "certain"\n'
    'measure = "certain_disclosure"\nrule = "at_most"\nlimit = 0\n'
)


def study_rows():
    page = (places.ROOT / "docs" / "engineering" / "studies" / "ensembles.md").read_text(
        encoding="utf-8"
    )
    rows = (line.strip("|").split("|") for line in page.split("\n") if line.startswith("| "))
    return [[cell.strip() for cell in row] for row in rows]


def test_every_figure_of_the_study_stands_in_the_study():
    certain = {row[0]: row[1] for row in study_rows() if len(row) == 6}
    for each in (WHOLE, *LEAVES, DEPTH):
        assert certain[each.lever] == each.certain
    rows = study_rows()
    for name, known, unknown in SAMPLED:
        assert any(row[0] == name and (row[1], row[3]) == (known, unknown) for row in rows)


def test_every_figure_of_members_stands_in_their_study():
    page = places.ROOT / "docs" / "engineering" / "studies" / "membership.md"
    lines = page.read_text(encoding="utf-8").split("\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    proved = {tuple(row[:3]): row[4] for row in rows if row[0] == "heart"}
    for model, published, members in MEMBER_LEVERS:
        assert proved["heart", model, published].split(" / ")[0] == members
        assert members.removesuffix(".0") in OF_BOOSTED_MEMBERS or members == "0.0"


def test_every_figure_of_rebuilt_records_stands_in_their_study():
    page = places.ROOT / "docs" / "engineering" / "studies" / "reconstruction.md"
    lines = page.read_text(encoding="utf-8").split("\n")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    proved = {row[1]: row[3] for row in rows if row[0] == "COMPAS"}
    for lever, records in REBUILT_LEVERS:
        assert proved[lever] == records
        assert records in OF_REBUILT


def test_what_keeps_records_from_being_rebuilt_is_said_where_they_are():
    ensemble = pytest.importorskip("sklearn.ensemble")
    table = pd.DataFrame([(a, b) for a in (0, 1) for b in (0, 1, 2)], columns=["a", "b"])
    table["ill"] = ["no", "no", "yes", "yes", "yes", "no"]
    learner = ensemble.RandomForestClassifier(6, bootstrap=False, random_state=0, max_features=1)
    model = learner.fit(table[["a", "b"]], table.ill)
    check = {"id": "r", "measure": "records_rebuilt", "rule": "at_most", "limit": 0}
    pack = {"name": "r", "version": "1", "title": "r", "check": [check]}
    repair = tw.repair(model, table, sensitive="ill", policy=pack, worlds_budget=1.0)
    said = repair.to_dict()["repair"]["advice"]
    assert said == [OF_REBUILT]


def test_what_protects_members_is_said_where_they_are_proved():
    sklearn_tree = pytest.importorskip("sklearn.tree")
    random = np.random.default_rng(0)
    register = pd.DataFrame({"age": random.integers(20, 70, 20), "pay": random.integers(0, 90, 20)})
    register["ill"] = np.where(random.random(20) < 0.5, "yes", "no")
    table = register.iloc[:10]
    model = sklearn_tree.DecisionTreeClassifier().fit(table[["age", "pay"]], table.ill)
    check = {"id": "m", "measure": "membership_proved", "rule": "at_most", "limit": 0}
    pack = {"name": "m", "version": "1", "title": "m", "check": [check]}
    repair = tw.repair(
        model, table, sensitive="ill", policy=pack, population=register, worlds_budget=1.0
    )
    said = repair.to_dict()["repair"]["advice"]
    assert [each.partition(":")[0] for each in said] == ["Membership"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "withhold the class counts of 1 of 3 leaves"),
        ({"same_everywhere": True}, "withhold the class counts of 3 of 3 leaves"),
        ({"withholding_costs": "band=0.5"}, "publish those of 1 of 3 leaves as ranges of 5"),
    ],
)
def test_a_repair_withholds_as_its_options_ask(options, said):
    sklearn_tree = pytest.importorskip("sklearn.tree")
    table = pd.DataFrame({"age": [1] * 12 + [2] * 9 + [3] * 9})
    table["ill"] = ["no"] * 12 + ["yes"] * 6 + ["no"] * 3 + ["yes"] * 3 + ["no"] * 6
    model = sklearn_tree.DecisionTreeClassifier().fit(table[["age"]], table.ill)
    check = {"id": "c", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}
    pack = {"name": "c", "version": "1", "title": "c", "check": [check]}
    found = tw.repair(
        model, table, sensitive="ill", policy=pack, split="none", every=True, **options
    ).attempts
    (title,) = found[found["name"] == "withhold_least"]["title"]
    assert title.startswith(said)


def test_what_is_published_beside_the_model_is_known_where_numbers_are_withheld():
    """Nobody is proved by the tree: with the mean age of three people everybody is, until one leaf's counts go."""
    sklearn_tree = pytest.importorskip("sklearn.tree")
    table = pd.DataFrame({"g": [0, 0, 0, 1, 1, 1], "age": [30, 60, 45, 40, 50, 35]})
    table["ill"] = ["yes", "yes", "no", "yes", "no", "no"]
    model = sklearn_tree.DecisionTreeClassifier().fit(table[["g"]], table.ill)
    paper = pd.DataFrame([["age, mean", "43.3"]], columns=["characteristic", "yes"])
    check = {"id": "c", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}
    asked = {"policy": {"name": "c", "version": "1", "title": "c", "check": [check]}}
    asked |= {"sensitive": "ill", "qi": ["g", "age"], "beside": [paper], "split": "none"}
    found = tw.repair(model, table, every=True, **asked).attempts
    (title,) = found[found["name"] == "withhold_least"]["title"]
    assert title.startswith("withhold the class counts of 2 of 2 leaves")


def test_every_library_that_is_turned_back_has_advice():
    assert set(NAMES) == set(inverters())


def repaired(tmp_path, model, table, *more):
    policy = tmp_path / "certain.toml"
    policy.write_text(POLICY)
    told = ["--data", FOLDER / table, "--sensitive", "y", "--policy", policy, "--quiet"]
    asked = ["repair", FOLDER / model, *told, *more]
    return run_command(*asked)


def test_the_first_rounds_are_told_as_they_were_audited(tmp_path):
    said = " ".join(repaired(tmp_path, "lightgbm_two.txt", "two.csv", "--list").output.split())
    told = re.search(
        r"by the first (\d+ )?rounds? of this model, (nobody's value|the value of)", said
    )
    assert told, said
    assert "(measured here)" in said
    assert "This model was not measured" in said


def test_what_passes_as_it_is_gets_no_advice(tmp_path):
    generous = POLICY.replace("limit = 0", "limit = 1000")
    policy = tmp_path / "generous.toml"
    policy.write_text(generous)
    told = ["--data", FOLDER / "two.csv", "--sensitive", "y", "--policy", policy, "--list"]
    asked = ["repair", FOLDER / "plain.json", *told]
    said = run_command(*asked).output
    assert "To train the model again" not in said

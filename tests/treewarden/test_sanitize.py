"""``treewarden sanitize``: a table and its tree on disk, and what is refused."""

from __future__ import annotations

import json

import pytest

from tests.kit.run import run_command
from treewarden.ppdm_models.files.load import read_tree
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.tree import Feature

TREE = ["--target", "flu", "--sensitive", "job"]
LOOSE = """name = "loose"
version = "1"
title = "loose"

[[clause]]
id = "sure"
measure = "confidence"
rule = "at_most"
limit = 0.9
"""
FILES = {"table.csv", "tree.json", "manifest.json"}


@pytest.fixture
def folder(tmp_path):
    """Write a table of 60 people, and an empty folder beside it."""
    rows = ["age,place,hours,flu,job"]
    for number in range(60):
        age, place = 20 + number % 30, "abc"[number % 3] if number % 20 else ""
        flu = "yes" if (age > 34) != (place == "b") else "no"
        rows.append(f"{age},{place},{age * 1.5 + number % 7},{flu},{'xyz'[number % 7 % 3]}")
    (tmp_path / "people.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    (tmp_path / "out").mkdir()
    return tmp_path


def sanitize(folder, *words, table="people.csv", out="out"):
    asked = ["sanitize", folder / table, *words, "-o", folder / out]
    return run_command(*asked)


def said(folder):
    return json.loads((folder / "out" / "manifest.json").read_bytes())


def test_it_writes_a_table_its_tree_and_how_to_grow_it_again(folder):
    outcome = sanitize(folder, *TREE, "--k", "5", "--qi", "age,place")
    assert outcome.exit_code == 0, outcome.output
    assert {path.name for path in (folder / "out").iterdir()} == FILES
    found = said(folder)
    assert found["checks"]["holds"]
    assert found["found"]["k"] >= 5
    assert found["demanded"] == {"k": 5, "l": None, "policy": None}


@pytest.mark.parametrize("how", [[], ["--sets"]])
def test_the_published_tree_grows_from_the_published_table_by_the_manifest_alone(folder, how):
    sanitize(folder, *TREE, "--k", "5", "--qi", "age,place", *how)
    told, table = said(folder), read_table(folder / "out" / "table.csv")
    columns = {
        each["name"]: table.column(Feature(each["name"], numeric=each["kind"] == "number"))
        for each in told["columns"]
    }
    flu = table.column(Feature("flu", numeric=False))
    grown = told["trees"][0]["learner"]
    learner = BestFirst(
        *(grown[key] for key in ("criterion", "multiway", "min_leaf", "min_records")),
        sets=bool(grown["sets"]),
        set_attributes=tuple(grown["sets"]),
    )
    response = of_classes("flu", flu.codes, flu.categories)
    tree = learner.growth(columns, response, grown["splits"]).tree(grown["splits"])
    assert tree.nodes == read_tree(folder / "out" / "tree.json").nodes
    assert len(tree.leaves) > 1


def test_the_tree_and_the_table_that_are_published_fit_each_other_in_an_audit(folder):
    sanitize(folder, *TREE, "--k", "5", "--qi", "age,place")
    words = ["audit", folder / "out" / "tree.json", "--data", folder / "out" / "table.csv"]
    outcome = run_command(*words, "--sensitive", "flu", "--no-worlds")
    assert "no audit was performed" not in outcome.output
    assert outcome.exit_code != 4


def test_the_same_table_in_another_order_gives_the_same_bytes(folder):
    sanitize(folder, *TREE, "--k", "5")
    first = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    head, *rows = (folder / "people.csv").read_text(encoding="utf-8").splitlines()
    (folder / "people.csv").write_text("\n".join([head, *reversed(rows), ""]), encoding="utf-8")
    sanitize(folder, *TREE, "--k", "5", "--force")
    assert {path.name: path.read_bytes() for path in (folder / "out").iterdir()} == first


def test_a_missing_category_is_one_of_its_own_and_a_missing_number_is_refused(folder):
    sanitize(folder, *TREE, "--k", "1", "--qi", "place", "--multiway")
    assert said(folder)["columns"][0]["values"] == ["(missing)", "a", "b", "c"]
    (folder / "gap.csv").write_text("n,c,y\n1,a,p\n,b,q\n", encoding="utf-8")
    outcome = sanitize(folder, "--target", "y", "--k", "1", "--force", table="gap.csv")
    assert outcome.exit_code == 4
    assert "column 'n', record 2: no value" in outcome.stderr


def test_several_targets_make_several_trees_and_numbers_make_regression_trees(folder):
    outcome = sanitize(folder, *TREE, "--target", "hours", "--k", "5", "--tree-format", "pmml")
    assert outcome.exit_code == 0, outcome.output
    assert [tree["learner"]["criterion"] for tree in said(folder)["trees"]] == ["gini", "variance"]
    assert read_tree(folder / "out" / "tree-2.pmml").task == "regression"


def test_the_clauses_of_a_policy_hold_for_every_group(folder):
    outcome = sanitize(folder, *TREE, "--policy", "standard", "--qi", "age,place")
    policy = said(folder)["demanded"]["policy"]
    assert outcome.exit_code == 0, outcome.output
    assert said(folder)["found"]["k"] >= 10
    assert policy["judged"] == ["smallest-leaf", "mixed-leaves", "no-crowding", "label"]
    assert policy["not_judged"] == ["disclosure", "certain", "gain", "values"]


def test_a_regression_tree_needs_no_classes_where_only_k_is_asked_for(folder):
    outcome = sanitize(folder, "--target", "hours", "--k", "5", "--qi", "age,place")
    assert outcome.exit_code == 0, outcome.output
    assert len(read_tree(folder / "out" / "tree.json").leaves) > 1


def test_two_trees_of_scikit_learn_are_checked_each_with_its_own_columns(folder):
    pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    words = [*TREE, "--target", "hours", "--k", "5", "--qi", "age,place", "--learner", "scikit"]
    assert sanitize(folder, *words).exit_code == 0
    assert [tree["leaves"] > 1 for tree in said(folder)["trees"]] == [True, True]


def test_where_nothing_will_do_nothing_is_written(folder):
    (folder / "few.csv").write_text("n,y,s\n" + "1,a,p\n2,b,q\n" * 2 + "3,b,r\n", encoding="utf-8")
    words = ["--target", "y", "--sensitive", "s", "--l", "2.9"]
    outcome = sanitize(folder, *words, table="few.csv")
    assert outcome.exit_code == 1
    assert list((folder / "out").iterdir()) == []


def test_scikit_learn_can_grow_the_tree_too(folder):
    pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    outcome = sanitize(folder, *TREE, "--k", "5", "--qi", "age,place", "--learner", "scikit")
    assert outcome.exit_code == 0, outcome.output
    learner = said(folder)["trees"][0]["learner"]
    assert learner["same_under_seeds"] == [0, 1, 2, 3, 4]
    assert learner["matrix"] == ["age", "place = (missing)", "place = a", "place = b", "place = c"]


def test_the_seed_that_gives_another_tree_is_named(folder):
    pytest.importorskip("sklearn.tree", reason="scikit-learn is not installed")
    rows = [f"{n},{n},{'p' if n < 9 else 'q'}" for n in range(16)]
    (folder / "twins.csv").write_text("\n".join(["one,two,y", *rows, ""]), encoding="utf-8")
    outcome = sanitize(
        folder, "--target", "y", "--k", "2", "--learner", "scikit", table="twins.csv"
    )
    assert outcome.exit_code == 4
    assert "different trees for the seeds 0 and" in outcome.stderr
    assert list((folder / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--k", "61"], 1, "nothing is written: people.csv: no group can hold 61 of 60 records"),
        (["--l", "3"], 1, "column 'job' has only 3 values"),
        (
            ["--k", "2", "--target", "hours", "--criterion", "gini"],
            4,
            "--criterion gini needs classes",
        ),
        (["--k", "2", "--criterion", "variance"], 4, "column 'flu'"),
        (["--l", "2", "--sensitive", "hours"], 4, "--l or --policy needs classes"),
        (["--k", "2", "--qi", "age,job"], 4, "cannot be a quasi-identifier too"),
        (["--k", "2", "--qi", "height"], 4, "no column 'height'"),
        (["--k", "2", "--learner", "scikit", "--multiway"], 4, "or use --learner canonical"),
        (["--k", "2", "--learner", "scikit", "--sets"], 4, "or use --learner canonical"),
        (["--k", "2", "--criterion", "variance"], 4, "choose gini, entropy or gain-ratio"),
        (["--k", "2", "--multiway", "--sets"], 2, "choose one"),
        (["--k", "2", "--weights", "age"], 2, "repeat each row as often as its weight says"),
        (["--l", "nan"], 2, "'nan' is not a number"),
        (["--policy", "{folder}/loose.toml"], 4, "requires nothing of groups"),
        ([], 2, "--k, --l or --policy"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(folder, words, code, message):
    (folder / "loose.toml").write_text(LOOSE, encoding="utf-8")
    outcome = sanitize(folder, *TREE, *(word.format(folder=folder) for word in words))
    assert (outcome.exit_code, message in outcome.stderr) == (code, True), outcome.output
    assert list((folder / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "message"), [("tree.json", "already exists"), ("table.csv", "already exists")]
)
def test_files_that_are_there_stay(folder, name, message):
    (folder / "out" / name).write_bytes(b"kept")
    outcome = sanitize(folder, *TREE, "--k", "5")
    assert (outcome.exit_code, message in outcome.stderr) == (4, True)
    assert (folder / "out" / name).read_bytes() == b"kept"


def test_the_input_is_never_overwritten(folder):
    (folder / "out" / "table.csv").write_bytes((folder / "people.csv").read_bytes())
    outcome = sanitize(folder, *TREE, "--k", "5", "--force", table="out/table.csv")
    assert (outcome.exit_code, "is an input" in outcome.stderr) == (4, True)


def test_as_published_says_when_the_tree_does_not_grow_again(folder):
    n = [30, 40, 42, 45] * 2 + [30, 40, 50, 60] * 2
    y = [0, 0, 4, 4] * 2 + [100, 100, 104, 104] * 2
    rows = [f"{'a' if i < 8 else 'b'},{n[i]},{y[i]},{'pq'[i % 2]}" for i in range(16)]
    (folder / "shared.csv").write_text("\n".join(["c,n,y,s", *rows, ""]), encoding="utf-8")
    words = ["--target", "y", "--criterion", "variance", "--sensitive", "s", "--k", "1"]
    outcome = sanitize(folder, *words, "--as-published", table="shared.csv")
    assert outcome.exit_code == 1
    assert not said(folder)["checks"]["holds"]
    assert sanitize(folder, *words, "--force", table="shared.csv").exit_code == 0


def test_a_table_that_is_too_large_for_memory_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr("treewarden.jobs.tables.whole_table.room_bytes", lambda: 60 * 5 * 64 - 1)
    outcome = sanitize(folder, *TREE, "--k", "5")
    assert outcome.exit_code == 4
    assert "too large for memory: 60 records of 5 columns need" in outcome.output
    assert "treewarden anonymize" in outcome.output
    assert not list((folder / "out").iterdir())


def test_a_table_for_which_there_is_just_enough_memory_is_read(folder, monkeypatch):
    monkeypatch.setattr("treewarden.jobs.tables.whole_table.room_bytes", lambda: 60 * 5 * 64)
    monkeypatch.setattr("treewarden.commands.sanitize.WORTH_SAYING", 0)
    outcome = sanitize(folder, *TREE, "--k", "5", "--qi", "age,place")
    assert outcome.exit_code == 0, outcome.output
    assert "60 records of 5 columns need" in outcome.stderr

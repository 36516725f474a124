"""``treewarden vertical``: all sides played from one table, checked, or refused with the reason."""

import json
from functools import partial

import pytest

from tests.kit.run import run_command
from tests.treewarden.vertical.tennis import NAMES, PARTIES, ROWS, write_table
from treewarden.ppdm_models.files.load import read_tree


@pytest.fixture
def folder(tmp_path):
    write_table(tmp_path / "tennis.csv", ROWS)
    (tmp_path / "parties.toml").write_text(PARTIES)
    return tmp_path


run = partial(run_command, "vertical")


def played(folder, *more, table="tennis.csv"):
    given = ("--target", "play", "--parties", folder / "parties.toml", "-o", folder / "out", "-q")
    return run(folder / table, *given, *more)


@pytest.mark.parametrize("mode", ["ids", "shared"])
def test_the_tree_equals_plain_id3_and_everything_is_written(folder, mode):
    result = played(folder, "--mode", mode, "--no-audit")
    assert result.exit_code == 3, result.output
    assert "3 inner nodes, 5 leaves, depth 2" in result.output
    assert "this protects nobody" in result.output
    there = {each.name for each in (folder / "out").iterdir()}
    assert there == {
        "tree.json",
        "skeleton.json",
        "leakage.json",
        "leakage.html",
        "messages.jsonl",
        "messages.svg",
    }
    check = run("--check", folder / "tennis.csv", folder / "out")
    assert check.exit_code == 0
    assert "the tree equals plain ID3" in check.output
    said = json.loads((folder / "out" / "leakage.json").read_text())
    assert said["is_ideal"]
    assert [each["name"] for each in said["sides"]] == ["miner", "alice", "bobby"]
    lines = (folder / "out" / "messages.jsonl").read_text().splitlines()
    assert len(lines) == said["messages"]


def test_the_trees_are_audited_and_the_worse_verdict_is_the_exit_code(folder):
    result = played(folder)
    assert result.exit_code == 1
    assert "full tree: FAIL" in result.output
    said = json.loads((folder / "out" / "leakage.json").read_text())
    assert [(each["name"], each["verdict"]) for each in said["audits"]] == [
        ("full tree", "FAIL"),
        ("skeleton", "FAIL"),
    ]


def test_a_tree_that_is_another_one_is_found_out(folder):
    played(folder, "--no-audit")
    rows = [row | {"outlook": row["windy"]} for row in ROWS]
    other = write_table(folder / "other.csv", rows)
    check = run("--check", other, folder / "out", "-q")
    assert check.exit_code == 1
    assert "does not equal" in check.output


def test_stop_rules_hold_in_both_trees(folder):
    (folder / "parties.toml").write_text(f"depth = 1\n{PARTIES}")
    result = played(folder, "--no-audit", "--min-records", "4")
    assert "1 inner node, 3 leaves, depth 1" in result.output
    assert run("--check", folder / "tennis.csv", folder / "out").exit_code == 0


def test_numbers_are_binned_and_missing_cells_are_a_branch(folder):
    rows = [
        row | {"temp": "" if number == 3 else f"{number * 1.5:g}"}
        for number, row in enumerate(ROWS)
    ]
    write_table(folder / "tennis.csv", rows)
    result = played(folder, "--no-audit")
    assert result.exit_code == 3, result.output
    assert run("--check", folder / "tennis.csv", folder / "out").exit_code == 0
    tree = read_tree(folder / "out" / "tree.json")
    assert {each.name: each.numeric for each in tree.features}["temp"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (', "play"]', "]", "no party has the class column 'play'"),
        ('"windy"]', '"windy", "play"]', "'play' is a column of alice and of bobby"),
        ('"windy"]', '"wind"]', "no column 'wind' (did you mean 'windy'?)"),
    ],
)
def test_a_class_of_two_or_none_and_columns_that_are_not_there_are_refused(
    folder, old, new, problem
):
    (folder / "parties.toml").write_text(PARTIES.replace(old, new))
    result = played(folder)
    assert result.exit_code == 4
    assert problem in result.output
    assert not (folder / "out").exists()


def test_thousands_of_values_are_refused_with_the_number(folder):
    rows = [row | {"temp": f"t{number}"} for number, row in enumerate(ROWS * 100)]
    write_table(folder / "tennis.csv", rows)
    result = played(folder)
    assert result.exit_code == 4
    assert "the column 'temp' has 1,400 different values" in result.output


def test_numbers_can_be_refused(folder):
    rows = [row | {"temp": number} for number, row in enumerate(ROWS)]
    write_table(folder / "tennis.csv", rows)
    result = played(folder, "--numbers", "refuse")
    assert result.exit_code == 4
    assert "the column 'temp' holds numbers" in result.output


def test_records_without_a_class_are_refused_by_their_number(folder):
    rows = [row | {"play": "" if number < 2 else row["play"]} for number, row in enumerate(ROWS)]
    write_table(folder / "tennis.csv", rows)
    result = played(folder)
    assert result.exit_code == 4
    assert "2 records have no class in 'play'" in result.output


def test_nothing_is_replaced_unasked(folder):
    assert played(folder, "--no-audit").exit_code == 3
    again = played(folder, "--no-audit")
    assert again.exit_code == 4
    assert "already exists" in again.output
    assert played(folder, "--no-audit", "--force").exit_code == 3


@pytest.mark.parametrize(
    "arguments", [(), ("--target", "play"), ("--check",), ("--check", "--target", "play")]
)
def test_a_command_line_that_says_too_little_is_refused(folder, arguments):
    assert run(folder / "tennis.csv", *arguments).exit_code == 2


def test_a_skeleton_needs_to_be_told_whose_columns_are_whose(folder):
    played(folder, "--no-audit")
    out = folder / "out"
    (out / "tree.json").write_bytes((out / "skeleton.json").read_bytes())
    without = run("--check", folder / "tennis.csv", out)
    assert without.exit_code == 4
    assert "add --parties" in without.output
    parties = folder / "parties.toml"
    check = run("--check", folder / "tennis.csv", out, "--parties", parties)
    assert check.exit_code == 0
    assert "the skeleton equals plain ID3" in check.output


def test_odd_names_stay_text(folder):
    odd = '<script>alert("x")</script>'
    rows = [{**row, odd: row["outlook"]} for row in ROWS]
    write_table(folder / "tennis.csv", rows, (*NAMES, odd))
    (folder / "parties.toml").write_text(PARTIES.replace('"outlook"', f"'{odd}'"))
    assert played(folder, "--no-audit").exit_code == 3
    assert "<script>" not in (folder / "out" / "leakage.html").read_text()
    assert run("--check", folder / "tennis.csv", folder / "out").exit_code == 0


def left_by_sides(folder):
    """Write what the sides of a session leave, as far as it is joined, from a session that is played."""
    played(folder, "--no-audit")
    out, sides = folder / "out", [folder / name for name in ("miner", "alice", "bobby")]
    for each in sides:
        each.mkdir()
    (sides[0] / "tree.json").write_bytes((out / "skeleton.json").read_bytes())
    (sides[0] / "leakage.json").write_bytes((out / "leakage.json").read_bytes())
    names = {"alice": ("outlook",), "bobby": ("windy", "humidity")}
    for side in sides[1:]:
        values = {name: sorted({row[name] for row in ROWS}) for name in names[side.name]}
        nodes = {
            serial: {"attribute": name, "branches": values[name], "edges": None, "missing": None}
            for serial, name in enumerate(names[side.name], start=1)
        }
        said = {"schema": "treewarden-notes/2", "session": "tennis", "party": side.name}
        (side / "notes.json").write_text(json.dumps(said | {"nodes": nodes}))
    return sides


def test_the_skeleton_and_the_parties_notes_are_the_tree_that_is_played(folder):
    sides = left_by_sides(folder)
    result = run("--join", *sides, "-o", folder / "full.json")
    assert result.exit_code == 0, result.output
    assert "8 nodes, by 3 attributes" in result.output
    assert read_tree(folder / "full.json").nodes == read_tree(folder / "out" / "tree.json").nodes
    again = run("--join", *sides, "-o", folder / "full.json")
    assert again.exit_code == 4
    assert "already exists" in again.output


def test_folders_that_do_not_belong_together_are_refused(folder):
    miner, alice, bobby = left_by_sides(folder)
    output = "-o", folder / "full.json"
    refusals = {
        "nobody's notes say what node 'bobby 1' tests": (miner, alice),
        "out/tree.json: not a skeleton": (folder / "out", alice, bobby),
        "tree.json: there is no such file": (alice, bobby, miner),
        "miner/notes.json: cannot be read": (miner, alice, bobby, miner),
        "alice: two of the folders belong to this party": (miner, alice, alice, bobby),
    }
    for words, folders in refusals.items():
        result = run("--join", *folders, *output)
        assert (result.exit_code, words in result.output) == (4, True), (words, result.output)
    notes = bobby / "notes.json"
    notes.write_text(notes.read_text().replace('"session": "tennis"', '"session": "golf"'))
    result = run("--join", miner, alice, bobby, *output)
    assert "belongs to the session 'golf', and the skeleton to 'tennis'" in result.output
    assert not (folder / "full.json").exists()


@pytest.mark.parametrize(
    "arguments", [(), ("-o", "x"), ("a", "-o", "x"), ("a", "b"), ("a", "b", "--check", "-o", "x")]
)
def test_joining_takes_folders_and_a_file(arguments):
    assert run("--join", *arguments).exit_code == 2

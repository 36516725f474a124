"""Errors about a table that is not the training table name what it was given for, and ask for that."""

from __future__ import annotations

import pytest

from tests.kit.run import run_command

PROBLEMS = {
    "empty.csv": ("", "the file is empty; give a CSV file with a header row"),
    "header.csv": (
        "age,sex,flu\n",
        "the table has no records; give a table with one row per person",
    ),
    "none.csv": (None, "there is no such file; check the path"),
    "other.csv": ("age,flu\n30,yes\n40,no\n", "no column 'sex', which flu.pmml uses"),
}


@pytest.fixture
def folder(files, monkeypatch):
    for name, (text, _) in PROBLEMS.items():
        if text is not None:
            (files.folder / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(files.folder)
    return files


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_register_is_called_the_register(folder, name):
    outcome = folder.run("audit", "--population", name)
    assert outcome.exit_code == 4
    assert f"{name} (the register): {PROBLEMS[name][1]}" in outcome.stderr
    assert "trained on" not in outcome.stderr


@pytest.mark.parametrize("name", PROBLEMS)
def test_records_held_out_are_called_so(folder, name):
    outcome = folder.run("repair", "-o", "fixed.pmml", "--holdout", name, "--policy", "strict")
    assert outcome.exit_code == 4
    assert f"{name} (the held-out records): {PROBLEMS[name][1]}" in outcome.stderr


@pytest.mark.parametrize("name", ["empty.csv", "header.csv", "none.csv"])
def test_the_table_of_another_release_is_called_so(folder, name):
    before = folder.folder / "before.pmml"
    before.write_bytes(folder.model.read_bytes())
    words = ("--data", name, "--data", folder.table, "--sensitive", "flu")
    outcome = run_command("audit", before, folder.model, *words)
    assert outcome.exit_code == 4
    assert f"{name} (the table of before.pmml): {PROBLEMS[name][1]}" in outcome.stderr


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_training_table_needs_no_role(folder, name):
    outcome = run_command("audit", folder.model, "--data", name, "--sensitive", "flu")
    assert outcome.exit_code == 4
    assert f"performed: {name}: {PROBLEMS[name][1]}" in outcome.stderr

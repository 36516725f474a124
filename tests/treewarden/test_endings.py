"""The ending of a result's name: one that belongs to another kind of file is refused, before any work."""

from __future__ import annotations

import pytest

from tests.kit.run import run_command
from tests.treewarden.conftest import PRINTED


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("redact", "flu.pmml", "-o", "out.docx"), ".docx is the ending of a text document"),
        (
            ("redact", "flu.pmml", "-o", "out.json"),
            "this output is a model (.pmml or .xml); name it out.pmml",
        ),
        (("convert", "flu.pmml", "out.csv", "--to", "pmml"), "name it out.pmml"),
        (("convert", "flu.pmml", "out.pmml", "--to", "treewarden_json"), "name it out.json"),
        (("anonymize", "people.csv", "--sensitive", "flu", "--k", "2", "-o", "out.xlsx"), ".csv"),
        (
            ("policy", "import", "acro.yaml", "-o", "ours.json"),
            "this output is a policy (.toml); name it ours.toml",
        ),
    ],
)
def test_an_ending_of_another_kind_is_refused_with_those_that_fit(
    files, monkeypatch, words, problem
):
    monkeypatch.chdir(files.folder)
    before = sorted(files.folder.iterdir())
    outcome = run_command(*words)
    assert outcome.exit_code == 4, outcome.output
    assert problem in outcome.stderr
    assert sorted(files.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            ["-o", "fixed.docx"],
            "but this output is a model (.pmml or .xml or .json); name it fixed.pmml",
        ),
        (["-o", "fixed.json"], "name it fixed.pmml"),
        (["-o", "fixed.pmml", "--to", "treewarden_json"], "name it fixed.json"),
        (
            ["-o", "fixed.pmml", "--with-table", "people.xlsx"],
            "this output is a CSV table (.csv); name it people.csv",
        ),
        (["-o", "fixed.pmml", "--format", "html=report.docx"], "name it report.html"),
        (["-o", "fixed.pmml", "--format", "json=report.html"], "name it report.json"),
    ],
)
def test_a_repair_writes_no_file_under_the_name_of_another_kind(files, monkeypatch, words, problem):
    monkeypatch.chdir(files.folder)
    outcome = files.run("repair", "--policy", files.policy("harsh"), *words)
    assert outcome.exit_code == 4, outcome.output
    assert problem in outcome.stderr


@pytest.mark.parametrize("name", ["fixed.xml", "fixed.pmml", "fixed.PMML", "fixed", "fixed.v2"])
def test_an_ending_that_fits_or_belongs_to_no_kind_is_taken(files, monkeypatch, name):
    monkeypatch.chdir(files.folder)
    assert run_command("redact", "flu.pmml", "-o", name).exit_code == 0
    assert (files.folder / name).exists()


def test_a_baseline_is_json(files, monkeypatch):
    monkeypatch.chdir(files.folder)
    outcome = files.run("audit", "--write-baseline", "baseline.xlsx")
    assert outcome.exit_code == 4
    assert "this output is a baseline (.json); name it baseline.json" in outcome.stderr


def test_the_repair_of_a_format_that_is_only_read_asks_for_another_one_first(files, monkeypatch):
    monkeypatch.chdir(files.folder)
    (files.folder / "printed.txt").write_text(PRINTED)
    words = ["repair", "printed.txt", "--data", files.table, "--sensitive", "flu"]
    outcome = run_command(*words, "--policy", files.policy("harsh"), "-o", "fixed.pmml")
    assert outcome.exit_code == 4, outcome.output
    assert "add --to pmml" in outcome.stderr
    assert "name it" not in outcome.stderr

"""``treewarden convert``: the file that it writes, or none."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from tests.kit import places
from tests.kit.run import run_command
from treewarden.ppdm_models.files.load import load_tree, read_tree


def convert(files, output, *arguments):
    asked = ["convert", files.model, files.folder / output, *arguments]
    return run_command(*asked)


@pytest.mark.parametrize(
    ("output", "start"),
    [
        ("out.json", b"{"),
        ("out.dot", b"digraph "),
        ("out.mmd", b"flowchart TD"),
        ("o.xml", b"<?xml"),
    ],
)
def test_the_suffix_says_the_format(files, output, start):
    outcome = convert(files, output)
    assert outcome.exit_code == 0
    assert outcome.stdout == f"written: {files.folder / output}\n"
    assert (files.folder / output).read_bytes().startswith(start)


def test_the_tree_is_the_same_in_our_own_json(files):
    convert(files, "out.json")
    before = load_tree(files.model.read_bytes(), "flu.pmml")
    assert read_tree(files.folder / "out.json").nodes == before.nodes


def test_the_format_that_is_asked_for_goes_before_the_suffix(files):
    convert(files, "out.txt", "--to", "dot")
    assert (files.folder / "out.txt").read_bytes().startswith(b"digraph ")


@pytest.mark.parametrize("output", ["out.txt", "flu.pmml", "nowhere/out.json"])
def test_where_it_cannot_write_nothing_changes(files, output):
    before = {path: path.read_bytes() for path in files.folder.iterdir()}
    assert convert(files, output).exit_code == 4
    assert {path: path.read_bytes() for path in files.folder.iterdir()} == before


def test_an_output_that_is_there_stays_unless_forced(files):
    (files.folder / "out.dot").write_text("mine", encoding="utf-8")
    assert convert(files, "out.dot").exit_code == 4
    assert convert(files, "out.dot", "--force").exit_code == 0


def test_what_the_format_cannot_say_leaves_no_file(files):
    text = files.model.read_text(encoding="utf-8")
    text = text.replace('greaterOrEqual" value="40"', 'greaterOrEqual" value="45"')
    files.model.write_text(text, encoding="utf-8")
    outcome = convert(files, "out.json")
    assert outcome.exit_code == 4
    assert "only PMML can hold such a tree" in outcome.stderr
    assert not (files.folder / "out.json").exists()


def test_the_step_that_the_report_of_a_file_of_bigml_names_ends_in_a_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(places.DATA / "formats/bigml_json/good/tree.json", "tree.json")
    people = ["60,yes"] * 15 + ["60,no"] * 5 + ["40,no"] * 25 + ["40,yes"] * 5
    Path("people.csv").write_text("\n".join(["age,ill", *people]))
    done = run_command("audit", "tree.json", "--data", "people.csv", "--policy", "standard")
    assert done.exit_code == 3
    step = next(line for line in done.stdout.splitlines() if "treewarden convert" in line)
    for command in step.strip().split(" && "):
        done = run_command(*shlex.split(command)[1:])
        assert done.exit_code == 0, done.output
    assert "PASS: tree.pmml meets the policy" in done.stdout

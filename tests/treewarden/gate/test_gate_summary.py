"""What the terminal shows of a gate: the outcome first, a short block a model, and commands that can be pasted."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from tests.kit.run import run_command, shown_commands
from tests.reports.gates import fails_in_many_leaves
from tests.treewarden.conftest import PRINTED
from treewarden.reports.building.entry import gate_of
from treewarden.reports.document.parts import Accepted
from treewarden.terminal.gate_summary import gate_lines

TWO = (
    '[[model]]\npath = "models/flu.pmml"\ntable = "people.csv"\nsensitive = "flu"\npolicy = "harsh.toml"\n'
    '[[model]]\npath = "models/cold.pmml"\ntable = "people.csv"\nsensitive = "flu"\npolicy = "lenient.toml"\n'
)


def test_each_model_has_a_block_that_begins_with_its_outcome(repository):
    repository.configure(TWO)
    outcome = repository.run("--no-cache", "-q")
    lines = outcome.stdout.splitlines()
    assert outcome.exit_code == 1
    assert lines[0] == "FAIL: 2 models: 1 fails, 1 passes. Findings: 1 error."
    heads = [line for line in lines if line.startswith(("PASS  ", "FAIL  "))]
    assert [head.split()[:2] for head in heads] == [
        ["PASS", "models/cold.pmml"],
        ["FAIL", "models/flu.pmml"],
    ]
    assert any("models/flu.pmml:33: the-one (error): " in line for line in lines)


def test_the_commands_that_are_shown_run(repository, monkeypatch):
    monkeypatch.chdir(repository.folder)
    repository.configure(TWO)
    repair, verbose = shown_commands(repository.run("--no-cache", "-q").stdout)
    assert run_command(*verbose[1:]).exit_code == 1
    assert run_command(*repair[1:]).exit_code == 0
    again = run_command(*verbose[1:])  # what was repaired is a model, too
    assert (again.exit_code, "flu-repaired.pmml" in again.stdout) == (4, True)


@pytest.mark.parametrize("is_left", [False, True])
def test_whoever_follows_the_steps_one_by_one_ends_with_a_pass(repository, monkeypatch, is_left):
    monkeypatch.chdir(repository.folder)
    repository.configure(TWO)
    if is_left:  # of an earlier repair, which was not followed to its end
        repository.write("flu-repaired.pmml", repository.model("flu").read_text())
    shown = repository.run("--no-cache", "-q").stdout
    repair, *_ = shown_commands(shown)
    assert ("--force" in repair) == is_left
    assert run_command(*repair[1:]).exit_code == 0
    (move,) = re.findall(r"^ +(mv .*)$", shown, re.MULTILINE)
    words = shlex.split(move)
    at = words.index("&&")
    subprocess.run(words[:at], check=True)
    again = run_command(*words[at + 2 :])
    assert again.exit_code == 0, again.stdout
    assert not (repository.folder / "flu-repaired.pmml").exists()


@pytest.mark.parametrize("named", [(), ("models/cold.txt",)])
def test_the_repair_of_a_format_that_is_only_read_takes_its_place_under_a_new_name(
    repository, monkeypatch, named
):
    monkeypatch.chdir(repository.folder)
    repository.write("models/cold.txt", PRINTED)
    repository.configure(TWO.replace("flu.pmml", "cold.txt"))
    shown = repository.run("--no-cache", "-q", *named).stdout
    repair, *_ = shown_commands(shown)
    assert repair[repair.index("--to") + 1] == "pmml"
    assert run_command(*repair[1:]).exit_code == 0
    # models/cold.pmml is another model, and stays what it is
    (step,) = re.findall(r"Then put .*?run the gate again:", " ".join(shown.split()))
    assert 'path = "models/cold-repaired.pmml"' in step
    assert "delete models/cold.txt" in step
    (move,) = re.findall(r"^ +(mv .*)$", shown, re.MULTILINE)
    words = shlex.split(move)
    at = words.index("&&")
    subprocess.run(words[:at], check=True)
    (repository.folder / "models/cold.txt").unlink()
    repository.configure(TWO.replace("flu.pmml", "cold-repaired.pmml"))
    again = run_command(*words[at + 2 :])
    assert again.exit_code == 0, again.stdout


def test_a_gate_that_passes_asks_for_nothing(repository):
    assert "Next" not in repository.run("--no-cache", "-q").stdout


def test_all_findings_are_shown_with_verbose(repository):
    repository.configure(TWO)
    full = repository.run("--no-cache", "-q", "--verbose").stdout
    assert full == repository.run("--no-cache", "-q", "--format", "text").stdout
    assert re.search(r"\[[0-9a-f]{16}\]$", full, re.MULTILINE)


def test_findings_beyond_the_first_are_counted_for_each_model():
    lines = gate_lines(fails_in_many_leaves(7, models=2), {})
    assert [line for line in lines if "more" in line] == ["    and 5 more (--verbose)"] * 2
    assert "more" not in "".join(gate_lines(fails_in_many_leaves(2), {}))


def test_what_is_accepted_is_counted_and_not_shown():
    entry = fails_in_many_leaves(7).entries[0]
    known = Accepted(
        by="baseline", reason="the finding was there already when the baseline was written"
    )
    results = [each.model_copy(update={"accepted": known}) for each in entry.results]
    lines = gate_lines(gate_of([entry.model_copy(update={"results": tuple(results)})], "error"), {})
    assert lines[0].endswith("and 7 accepted.")
    assert not [line for line in lines if "m0.pmml:10:" in line]


def test_a_table_that_does_not_fit_is_told_with_the_command_that_shows_why(repository, monkeypatch):
    monkeypatch.chdir(repository.folder)
    repository.write("people.csv", "age,sex,flu\n1,F,maybe\n")
    shown = " ".join(repository.run("--no-cache", "-q").stdout.split())
    assert "treewarden audit models/cold.pmml --data people.csv --sensitive flu" in shown
    assert "maybe" not in shown


def test_findings_that_read_alike_are_told_once():
    gate = fails_in_many_leaves(5)
    (entry,) = gate.entries
    alike = [finding.model_copy(update={"line": 1}) for finding in entry.results[:4]]
    entry = entry.model_copy(update={"results": (*alike, entry.results[4])})
    lines = gate_lines(gate.model_copy(update={"entries": (entry,)}), {})
    shown = [line for line in lines if "m0.pmml:" in line or "findings)" in line]
    assert [line.split()[0] for line in shown if "m0" in line] == ["m0.pmml:1:", "m0.pmml:14:"]
    assert sum("(4 findings)" in line for line in shown) == 1
    assert not any("more (--verbose)" in line for line in lines)

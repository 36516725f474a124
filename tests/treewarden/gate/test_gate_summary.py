"""What the terminal shows of a gate: the outcome first, a short block a model, and commands that can be pasted."""

from __future__ import annotations

import re

from tests.kit.run import run_command, shown_commands
from tests.reports.gates import fails_in_many_leaves
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
    assert lines[0] == "FAIL: 2 models: 1 fails, 1 passes; 1 error."
    heads = [line for line in lines if line.startswith(("PASS  ", "FAIL  "))]
    assert [head.split()[:2] for head in heads] == [
        ["PASS", "models/cold.pmml"],
        ["FAIL", "models/flu.pmml"],
    ]
    assert any("models/flu.pmml:33: error the-one: " in line for line in lines)


def test_the_commands_that_are_shown_run(repository, monkeypatch):
    monkeypatch.chdir(repository.folder)
    repository.configure(TWO)
    repair, verbose = shown_commands(repository.run("--no-cache", "-q").stdout)
    assert run_command(*verbose[1:]).exit_code == 1
    assert run_command(*repair[1:]).exit_code == 0
    again = run_command(*verbose[1:])  # what was repaired is a model, too
    assert (again.exit_code, "flu-repaired.pmml" in again.stdout) == (4, True)


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
    known = Accepted(by="baseline", reason="it was there when the baseline was written")
    results = [each.model_copy(update={"accepted": known}) for each in entry.results]
    lines = gate_lines(gate_of([entry.model_copy(update={"results": tuple(results)})], "error"), {})
    assert lines[0].endswith("and 7 accepted.")
    assert not [line for line in lines if "m0.pmml:10:" in line]

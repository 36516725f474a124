"""``inspect``, ``list``, ``doctor`` and the command itself."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys

import click
import pytest

import treewarden
from tests.docs.test_commands import command_of
from tests.kit.rows import rows
from tests.kit.run import run_command as run
from treewarden.cli import CODES, COMMANDS, DONE, EXAMPLES, SECTIONS, USUAL

HEAVY = ("casadi", "pyomo", "matplotlib", "scipy", "pyarrow", "sklearn", "statsmodels")


def test_inspect_says_what_each_file_publishes(files):
    outcome = run("inspect", files.model, "--format", "jsonl")
    said = json.loads(outcome.stdout)
    assert outcome.exit_code == 0
    assert said.keys() >= {"file", "format", "trees", "nodes", "leaves", "classes", "support"}
    assert (said["file"], said["format"], said["nodes"], said["leaves"]) == (
        str(files.model),
        "pmml",
        5,
        3,
    )


def test_a_bad_file_does_not_stop_the_others(files):
    bad = files.folder / "bad.pmml"
    bad.write_text("<PMML", encoding="utf-8")
    outcome = run("inspect", bad, files.folder / "nowhere", files.model, "--format", "jsonl")
    said = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert outcome.exit_code == 4
    assert [set(line) == {"file", "error"} for line in said] == [True, True, False]


def test_inspect_escapes_what_a_file_is_called(files):
    odd = files.folder / "a\x1b[31m\nb.pmml"
    odd.write_bytes(files.model.read_bytes())
    outcome = run("inspect", odd)
    assert outcome.exit_code == 0
    assert "a\\x1b[31m\\nb.pmml" in outcome.stdout


def test_list_names_every_kind():
    outcome = run("list")
    assert outcome.exit_code == 0
    for found in ("pmml", "leaf_rate", "k_anonymity", "at_least", "prune_apt", "html", "strict"):
        assert f"  {found}" in outcome.stdout


def test_list_of_one_kind_has_nothing_else():
    assert run("list", "packs").stdout.startswith("policies\n  accurate ")


def test_list_of_an_unknown_kind_is_wrong_usage():
    assert run("list", "cats").exit_code == 2


def test_doctor_finds_the_default_door_at_work():
    outcome = run("doctor")
    assert outcome.exit_code == 0
    assert "solver casadi" in outcome.stdout
    assert f"treewarden {treewarden.__version__}" in outcome.stdout


def test_the_second_door_works_or_says_why_it_is_left_out():
    line = next(line for line in run("doctor").stdout.splitlines() if "cyipopt" in line)
    if "left out" in line and not os.environ.get("TREEWARDEN_REQUIRE_CYIPOPT"):
        pytest.skip(line)
    assert "works" in line


def test_help_lists_the_commands_in_sections():
    listed = run("--help").stdout
    places = [listed.index(f"\n{title}:\n") for title in SECTIONS]
    assert places == sorted(places)
    named = [[listed.index(f"\n  {name} ") for name in names] for names in SECTIONS.values()]
    ends = [*places[1:], listed.index("Exit codes")]
    inside = zip(named, places, ends, strict=True)
    assert all(start < place < end for found, start, end in inside for place in found)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_explains_itself_and_its_own_exit_codes(name):
    outcome = run(name, "--help")
    codes = CODES.get(name, DONE)
    assert outcome.exit_code == 0
    assert {int(code) for code in re.findall(r"^ +(\d+)  ", outcome.stdout, re.MULTILINE)} == set(
        codes
    )
    assert all(f"{code}  {meaning}" in outcome.stdout for code, meaning in codes.items())


@pytest.mark.parametrize("name", ["inspect", "policy", "redact", "convert", "list", "doctor"])
def test_a_command_that_audits_nothing_speaks_of_no_verdict(name):
    codes = run(name, "--help").stdout.partition("Exit codes:")[2]
    assert "PASS" not in codes
    assert "required check" not in codes


@pytest.mark.parametrize("name", USUAL)
def test_the_usual_options_come_first(name):
    listed = [
        param.name for param in command_of([name])[0].params if isinstance(param, click.Option)
    ]
    assert tuple(listed[: len(USUAL[name])]) == USUAL[name]


@rows("example", [each for some in EXAMPLES.values() for each in some])
def test_an_example_has_options_that_exist(example):
    command, words = command_of(shlex.split(example)[1:])
    known = {text for each in command.params for text in (*each.opts, *each.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= known


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["audti"], "'audit'"),
        (["audit", "--senstive", "x"], "--sensitive"),
        (["policy", "explain", "strct"], "'strict'"),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(words, meant):
    outcome = run(*words)
    assert outcome.exit_code in (2, 4)
    assert "id you mean" in outcome.stderr
    assert meant in outcome.stderr


def test_start_up_loads_nothing_heavy():
    code = f"import sys, treewarden.cli; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "treewarden", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert treewarden.__version__ in done.stdout


def test_inspect_tells_what_is_remarkable_about_a_tree(files):
    text = files.model.read_text(encoding="utf-8").replace(
        'lessThan" value="40', 'lessThan" value="45'
    )
    files.model.write_text(text, encoding="utf-8")
    said = json.loads(run("inspect", files.model, "--format", "jsonl").stdout)
    assert "both take a record with age = " in said["notes"][0]


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("metrics", "measures"),
        ("repairs", "remedies"),
        ("reports", "renderers"),
        ("policies", "packs"),
    ],
)
def test_what_documents_call_a_kind_is_listed_as_what_its_folder_is_called(word, kind):
    shown = run("list", word)
    assert (shown.exit_code, shown.stdout) == (0, run("list", kind).stdout)
    refused = run("list", "colours")
    assert refused.exit_code == 2
    assert word in refused.stderr


def test_the_help_of_an_audit_says_how_a_report_is_written():
    said = " ".join(run("audit", "--help").stdout.split())
    assert "To keep a report, add --format, for example --format html=audit.html" in said

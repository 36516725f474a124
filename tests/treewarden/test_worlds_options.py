"""Exact worlds from the command line: on by default, within a budget, and never a pass where they were not run."""

from __future__ import annotations

import json
from contextlib import contextmanager

import pytest

from tests.kit.run import run_command
from treewarden.audit.options import AuditOptions
from treewarden.audit.run_tree import INFERRING
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.reports.document.packing import unpack

CERTAIN = """name = "certain"
version = "1"
title = "certain"

[[clause]]
id = "certain"
measure = "certain_disclosure"
rule = "at_most"
limit = 0
"""


@pytest.fixture
def certain(files):
    path = files.folder / "certain.toml"
    path.write_text(CERTAIN, encoding="utf-8")
    return "--policy", path


def make_pure(files):
    """Give everybody in the leaf of the older men the same value."""
    text = files.model.read_text(encoding="utf-8")
    for old, new in (
        ('value="no" recordCount="6"', 'value="no" recordCount="8"'),
        ('<ScoreDistribution value="yes" recordCount="2"/>', ""),
        ('value="no" recordCount="9"', 'value="no" recordCount="11"'),
        ('value="yes" recordCount="11"', 'value="yes" recordCount="9"'),
        ('value="no" recordCount="21"', 'value="no" recordCount="23"'),
        ('value="yes" recordCount="19"', 'value="yes" recordCount="17"'),
        ('id="2" score="yes"', 'id="2" score="no"'),
    ):
        assert old in text
        text = text.replace(old, new)
    files.model.write_text(text, encoding="utf-8")
    table = files.table.read_text(encoding="utf-8")
    files.table.write_text(table.replace("60,M,yes", "60,M,no"), encoding="utf-8")


def test_a_tree_that_proves_nothing_passes(files, certain):
    outcome = files.run("audit", *certain, "--verbose")
    assert outcome.exit_code == 0
    assert "for each person, another value is possible" in outcome.stdout


def test_a_value_that_is_proved_fails_with_its_profile_and_line(files, certain):
    make_pure(files)
    said = unpack(json.loads(files.run("audit", *certain, "--format", "json").stdout))
    place = said["findings"][0]["where"][0]
    assert (said["verdict"], said["findings"][0]["value"]["low"]) == ("FAIL", 8)
    assert (place["profile"], place["line"]) == ("age = 60, sex = M", 33)
    assert place["note"] == "8 people proved to have “no”: the counts of its leaf"


def test_a_repair_leaves_nobody_certain(files, certain):
    make_pure(files)
    target = files.folder / "fixed.pmml"
    outcome = files.run("repair", *certain, "-o", target)
    assert outcome.exit_code == 0
    files.model.write_bytes(target.read_bytes())
    assert files.run("audit", *certain).exit_code == 0


@pytest.mark.parametrize("policy", ["certain.toml", "baseline"])
def test_without_worlds_there_is_no_pass_but_how_to_get_one(files, certain, policy):
    named = files.folder / policy if policy.endswith("toml") else policy
    outcome = files.run("audit", "--policy", named, "--no-worlds", "--verbose")
    assert outcome.exit_code == 3
    assert "leave out --no-worlds" in " ".join(outcome.stdout.split())


def test_a_budget_below_nothing_is_wrong_usage(files):
    assert files.run("audit", "--worlds-budget", "-1").exit_code == 2


@pytest.mark.parametrize("option", [["--worlds-budget", "0"], ["--strict-ties"]])
def test_budget_and_ties_change_no_verdict_where_the_leaves_say_it_all(files, certain, option):
    assert files.run("audit", *certain, *option).exit_code == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, "searching for proved values (search limited to 7 s)"),
        ({"worlds": False}, "measuring"),
    ],
)
def test_each_stage_of_an_audit_is_told(files, more, told):
    said = []

    @contextmanager
    def step(doing):
        said.append(doing)
        yield

    options = AuditOptions("flu", worlds_budget=7, **more)
    audit_file(Request(files.model, files.table, options), step)
    stages = list(dict.fromkeys([told, "measuring"]))
    assert said[:3] == ["reading flu.pmml", "reading people.csv", INFERRING]
    assert said[3 : 3 + len(stages)] == stages
    *levels, last = said[3 + len(stages) :]
    assert levels
    assert all(stage.startswith("level: ") for stage in levels)
    assert last == "judging"


def test_what_is_raised_at_a_stage_ends_the_audit(files):
    def step(doing):
        raise InterruptedError(doing)

    with pytest.raises(InterruptedError, match="reading"):
        audit_file(Request(files.model, files.table, AuditOptions("flu")), step)


@pytest.mark.parametrize("command", ["audit", "repair"])
def test_the_default_budget_is_shown(command):
    said = " ".join(run_command(command, "--help").stdout.split())
    assert "--worlds-budget SECONDS" in said
    assert "[default: 20.0" in said


def test_doctor_says_that_the_solver_of_whole_records_works():
    lines = run_command("doctor").stdout.splitlines()
    assert "works: OR-Tools" in next(line for line in lines if line.startswith("exact proofs"))

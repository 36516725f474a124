"""A plan says what an audit would take; it judges nothing, writes nothing, and cannot be taken for a pass."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from tests.kit.schemas import validator_of
from treewarden.audit.options import AuditOptions
from treewarden.commands.audit import COMMAND
from treewarden.jobs import planning
from treewarden.jobs.planning import Sizes
from treewarden.reports.document.gate import PlanDocument, plan_schema
from treewarden.reports.document.schema import PLAN_SCHEMA_FILE
from treewarden.terminal.exits import NO_AUDIT

SIZES = Sizes(
    records=1e5,
    profiles=5000,
    trees=1,
    leaves=500,
    classes=4,
    signatures=4000,
    knowledge_rows=2000,
    candidates=9000,
    touched=500_000,
    adversaries=2,
    releases=1,
)


SLOWNESS = planning.slowness


@pytest.fixture(autouse=True)
def usual_machine(monkeypatch):
    """Take this machine for one of the usual speed: measuring it takes most of the time of a plan."""
    monkeypatch.setattr(planning, "slowness", lambda: 1.0)


@pytest.mark.parametrize("policy", ["lenient", "harsh"])
def test_a_plan_is_no_verdict_whatever_the_audit_would_say(files, policy):
    before = sorted(files.folder.rglob("*"))
    outcome = files.run(
        "audit", "--plan", "--policy", files.policy(policy), "--resume", files.folder / "kept"
    )
    assert outcome.exit_code == NO_AUDIT
    assert "Nothing was judged" in outcome.stdout
    assert "no audit was performed" in outcome.stderr
    assert not re.search("PASS|FAIL|UNDETERMINED", outcome.output)
    assert sorted(files.folder.rglob("*")) == before


def test_a_plan_counts_what_the_audit_deals_with(files):
    words = ("audit", "--plan", "--format", "json")
    plan = json.loads(files.run(*words, "--split", "none").stdout)
    supposed = json.loads(files.run(*words).stdout)["sizes"]
    gini = json.loads(files.run(*words, "--split", "gini").stdout)["sizes"]
    assert supposed["candidates"] == 3 * gini["candidates"] > 0  # by each criterion of any program
    assert (plan["kind"], plan["verdict"]) == ("plan", None)
    sizes = plan["sizes"]
    assert (sizes["records"], sizes["profiles"], sizes["leaves"], sizes["classes"]) == (40, 4, 3, 2)
    assert (sizes["signatures"], sizes["candidates"]) == (3, 0)
    assert plan["expected"]["processor_seconds_total"] > 0
    assert plan["expected"]["memory_mb"] > 10


def test_the_schema_of_plans_is_current():
    assert PLAN_SCHEMA_FILE.read_bytes() == plan_schema(), (
        "run: python -m treewarden.reports.document.schema"
    )


@pytest.mark.parametrize(
    "asked",
    [
        ("--data", "{table}", "--sensitive", "flu"),
        ("--data", "{table}", "--sensitive", "flu", "--no-worlds"),
        ("--data", "{table}", "--sensitive", "flu", "--worlds-budget", "0"),
        ("--no-table",),
    ],
)
def test_a_plan_is_valid_by_its_schema_and_reads_back(files, asked):
    words = [word.format(table=files.table) for word in asked]
    said = files.run_words("audit", files.model, *words, "--plan", "--format", "json").stdout
    validator = validator_of(PLAN_SCHEMA_FILE.read_bytes())
    assert not list(validator.iter_errors(json.loads(said)))
    assert PlanDocument.model_validate_json(said).verdict is None


def test_the_schema_of_plans_has_no_room_for_a_verdict(files):
    plan = json.loads(files.run("audit", "--plan", "--format", "json").stdout)
    validator = validator_of(plan_schema())
    assert not validator.is_valid({**plan, "verdict": "PASS"})
    assert not validator.is_valid({**plan, "columns": ["age"]})


def test_rows_on_splits_tell_kinds_of_people_apart(files):
    asked = ("--plan", "--split", "gini", "--format", "json")
    sizes = json.loads(files.run("audit", *asked).stdout)["sizes"]
    assert (sizes["signatures"], sizes["candidates"]) == (4, 3 + 1 + 1 + 1)


def test_a_plan_names_no_value_of_the_table(files):
    said = files.run("audit", "--plan", "--format", "json").stdout
    assert not re.search('"(F|M|age|sex|yes)"', said)


def test_forms_and_files_of_the_audit_may_stay_in_the_command(files):
    outcome = files.run(
        "audit", "--plan", "--format", "html=page.html", "--posterior", files.folder / "p.csv"
    )
    assert outcome.exit_code == NO_AUDIT
    assert "effect of each published number" in outcome.stdout
    assert not (files.folder / "p.csv").exists()


def test_where_nothing_can_be_said_of_the_time_the_plan_says_why(files):
    outcome = files.run_words("audit", files.model, "--no-table", "--plan")
    assert outcome.exit_code == NO_AUDIT
    assert "cannot be predicted: without a table" in outcome.stdout


def test_what_would_make_it_cheaper_are_options_that_there_are(files):
    every = {text for each in COMMAND.params for text in (*each.opts, *each.secondary_opts)}
    said = files.run("audit", "--plan", "--qi", "age", "--qi", "sex").stdout
    assert "--no-worlds" in said
    assert set(re.findall("--[a-z-]+", said)) <= every


def test_more_work_costs_more_and_a_budget_bounds_what_whole_records_take():
    def cost(**options):
        return planning.costs(SIZES, AuditOptions(**options), "text", 1.0, 200.0, 1.0)

    assert cost(worlds=False).seconds < cost(worlds_budget=1.0).seconds < cost().seconds
    assert cost(worlds_budget=1.0).stages["whole records"] == 1.0
    assert cost(worlds=False).memory_mb < cost().memory_mb


def test_who_knows_some_columns_takes_more_where_there_are_many_splits_and_a_limit_bounds_it():
    def cost(**more):
        limit = more.pop("limit", None)
        options = AuditOptions(time_limit=limit)
        found = planning.costs(replace(SIZES, **more), options, "text", 1.0, 200.0, 1.0)
        return found.stages["adversaries"], found.memory_mb

    few, many = cost(estimates=1, splits=500), cost(estimates=1, splits=2000)
    assert cost(splits=2000) < few < many < cost(estimates=2, splits=2000)
    assert cost(estimates=1, splits=2000, limit=1.0) < few


def test_where_a_column_is_secret_nobody_else_is_asked_about(files):
    asked = ("--plan", "--format", "json", "--split", "gini", "--knows", "age")
    plans = (
        json.loads(files.run("audit", *asked, *more).stdout)
        for more in ((), ("--secret", "sex"), ("--secret", "sex", "--target-known"))
    )
    of_target, of_column, of_classes = plans
    for each in (of_column, of_classes):
        assert each["expected"]["processor_seconds"]["solving"] == 0
        assert each["expected"]["processor_seconds"]["whole records"] == 0
    sizes = [each["sizes"] for each in (of_target, of_column, of_classes)]
    assert [each["splits"] for each in sizes] == [2, 2, 2]
    assert [each["is_of_column"] for each in sizes] == [False, True, True]
    assert [each["adversaries"] for each in sizes] == [2, 2, 2]
    assert [each["estimates"] for each in sizes] == [1, 2 + 1, 2 + 2]


def test_a_slower_machine_takes_longer():
    fast, slow = (planning.costs(SIZES, AuditOptions(), "text", 1.0, 0.0, by) for by in (1.0, 2.0))
    assert fast.seconds < slow.seconds <= 2 * fast.seconds
    assert SLOWNESS() > 0


def test_sampling_weights_and_long_arrays_are_planned_as_they_were_measured():
    large = replace(SIZES, profiles=2_000_000, touched=98_000_000, leaves=300, classes=2)
    plain, weighed = (
        planning.costs(
            large,
            AuditOptions(worlds_budget=5.0, sampling_weights=weights),
            "text",
            5.0,
            910.0,
            1.0,
        )
        for weights in (None, "w")
    )
    # What two audits of 2,000,000 rows took (``benchmarks.weights``): 28 s and 54 s, 1,726 and 2,246 MB.
    for planned, seconds, megabytes in ((plain, 28, 1726), (weighed, 54, 2246)):
        assert 0.5 < planned.seconds / seconds < 2
        assert 0.5 < planned.memory_mb / megabytes < 2
    assert 20 < weighed.seconds - plain.seconds < 35

"""A sound tree in a file that gives more away: no shipped pack passes it, a repair takes it out, the report says so."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from tests.kit import places
from tests.kit.forests import by_sex, forest, stump
from tests.kit.run import on_one_line, run_command
from tests.kit.small_audits import evidence_of, flat_tree
from tests.kit.tiers import cases
from treewarden.audit.measures import measures
from treewarden.audit.reading import Interval
from treewarden.policies.shipped import shipped_packs
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import formats, load_model, read_tree
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

PUBLISH = "Publish exactly this file"
TREE = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header/>
  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double"/>
    <DataField name="flu" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
  </DataDictionary>
  <TreeModel functionName="classification" splitCharacteristic="binarySplit">
    <MiningSchema><MiningField name="age"/><MiningField name="flu" usageType="target"/></MiningSchema>
    <Node id="0" score="no" recordCount="52">
      <True/>
      <ScoreDistribution value="no" recordCount="27"/>
      <ScoreDistribution value="yes" recordCount="25"/>
      <Node id="1" score="no" recordCount="27">
        <SimplePredicate field="age" operator="lessThan" value="40"/>
        <ScoreDistribution value="no" recordCount="16"/>
        <ScoreDistribution value="yes" recordCount="11"/>
      </Node>
      <Node id="2" score="yes" recordCount="25">
        <SimplePredicate field="age" operator="greaterOrEqual" value="40"/>
        <ScoreDistribution value="no" recordCount="11"/>
        <ScoreDistribution value="yes" recordCount="14"/>
      </Node>
    </Node>
  </TreeModel>
</PMML>
"""
PEOPLE = ((30, "no", 16), (30, "yes", 11), (50, "no", 11), (50, "yes", 14))
RECORDS = "".join(
    f"<row><age>{age}</age><flu>{flu}</flu></row>"
    for age, flu in ((30, "yes"), (50, "no"), (50, "yes"))
)
VERIFIED = (
    f'<ModelVerification recordCount="3"><InlineTable>{RECORDS}</InlineTable></ModelVerification>'
)
SIGNED = '<Header copyright="Jo Doe"/>'
RANGE = '<DataField name="age" optype="continuous" dataType="double"><Interval leftMargin="18" rightMargin="99"/>'

PLAIN_PACKS = [name for name in shipped_packs() if name != "differential-privacy"]
"""Policies that a tree without any claim can pass."""


class Case:
    """A model beside its table, in a folder that commands are run in."""

    def __init__(self, folder):
        self.folder = folder
        rows = [f"{age},{flu}" for age, flu, times in PEOPLE for _ in range(times)]
        (folder / "people.csv").write_text("\n".join(["age,flu", *rows, ""]), encoding="utf-8")

    def file(self, *changes, name="flu.pmml"):
        text = TREE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, command, model, policy, *more):
        told = ["--data", "people.csv", "--sensitive", "flu", "--policy", policy, "-q"]
        return run_command(command, model, *told, *more)


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Case(tmp_path)


@pytest.mark.parametrize("policy", cases(PLAIN_PACKS, quick=3))
def test_three_raw_records_fail_every_pack_and_the_repaired_file_passes_it(case, policy):
    case.file(("</TreeModel>", f"{VERIFIED}</TreeModel>"))
    failed = case.run("audit", "flu.pmml", policy)
    assert failed.exit_code == 1
    assert "beside-people" in failed.output
    assert PUBLISH not in on_one_line(failed)
    assert "treewarden redact flu.pmml -o flu-redacted.pmml" in failed.output

    repaired = case.run("repair", "flu.pmml", policy, "-o", "fixed.pmml")
    assert repaired.exit_code == 0, repaired.output
    assert "Publish exactly the repaired file" in on_one_line(repaired)
    fixed = Path("fixed.pmml").read_bytes()
    assert b"ModelVerification" not in fixed
    assert load_model(fixed, "x").nodes == load_model(TREE.encode(), "x").nodes

    passed = case.run("audit", "fixed.pmml", policy)
    assert passed.exit_code == 0
    assert f"{PUBLISH}, fixed.pmml" in on_one_line(passed)


@pytest.mark.parametrize("policy", PLAIN_PACKS)
def test_a_file_that_names_its_author_passes_with_a_warning_and_the_command_that_removes_it(
    case, policy
):
    case.file(("<Header/>", SIGNED))
    outcome = case.run("audit", "flu.pmml", policy)
    assert outcome.exit_code == 0
    assert PUBLISH not in on_one_line(outcome)
    assert "remove what it contains outside its trees (author)" in on_one_line(outcome)
    command = "treewarden redact flu.pmml -o flu-redacted.pmml"
    assert command in outcome.output
    assert run_command(*shlex.split(command)[1:]).exit_code == 0
    assert PUBLISH in on_one_line(case.run("audit", "flu-redacted.pmml", policy))


def test_extremes_fail_where_single_records_may_show_nothing_and_warn_elsewhere(case):
    case.file(
        ('<DataField name="age" optype="continuous" dataType="double"/>', f"{RANGE}</DataField>")
    )
    codes = {name: case.run("audit", "flu.pmml", name).exit_code for name in PLAIN_PACKS}
    failing = {name for name, code in codes.items() if code == 1}
    assert failing == {"accurate", "health", "open-data", "strict"}
    assert {code for name, code in codes.items() if name not in failing} == {0}


def test_the_change_is_listed_and_can_be_applied_by_its_name(case):
    case.file(("</TreeModel>", f"{VERIFIED}</TreeModel>"))
    listed = case.run("repair", "flu.pmml", "strict", "--list")
    assert "* redact_file  PASS" in listed.output
    asked = ("-o", "fixed.pmml", "--apply", "redact_file")
    assert case.run("repair", "flu.pmml", "strict", *asked).exit_code == 0
    assert b"<row>" not in Path("fixed.pmml").read_bytes()


def with_clause(files):
    """Return a policy of leaves of 10 or more and nothing beside the trees."""
    policy = files.folder / "both.toml"
    beside = '\n[[clause]]\nid = "b"\nmeasure = "side_leaks"\nrule = "at_most"\nlimit = 0\n'
    policy.write_text(Path(files.policy("harsh")).read_text("utf-8") + beside, encoding="utf-8")
    return policy


def test_where_leaves_fail_too_both_are_mended_in_one_file(files):
    text = files.model.read_text("utf-8").replace("</TreeModel>", f"{VERIFIED}</TreeModel>")
    files.model.write_text(text.replace("<Header/>", SIGNED), encoding="utf-8")
    policy, target = with_clause(files), files.folder / "fixed.pmml"
    outcome = files.run("repair", "--policy", policy, "-o", target, "--format", "json")
    tried = [each["name"] for each in json.loads(outcome.stdout)["repair"]["attempts"]]
    assert (outcome.exit_code, tried) == (0, ["redact_file+prune_apt", "redact_file"])
    assert b"<row>" not in target.read_bytes()
    assert len(read_tree(target).leaves) == 2
    files.model.write_bytes(target.read_bytes())
    assert files.run("audit", "--policy", policy).exit_code == 0


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_a_change_whose_leaves_fail_anyway_is_reported_without_an_audit_in_full(files, form):
    text = files.model.read_text("utf-8").replace("</TreeModel>", f"{VERIFIED}</TreeModel>")
    files.model.write_text(text, encoding="utf-8")
    policy, sure = with_clause(files), Path(files.policy("truth")).read_text("utf-8")
    hopeless = policy.read_text("utf-8").replace("limit = 10", "limit = 1000")
    policy.write_text(hopeless + sure[sure.index("[[clause]]") :].replace("the-one", "c"), "utf-8")
    outcome = files.run("repair", "--policy", policy, "-o", "fixed.pmml", "--format", form)
    assert outcome.exit_code == 1, outcome.output
    assert "its leaves, or its file, already fail a check" in on_one_line(outcome)
    assert "redact_file: FAIL (the-one)" in outcome.stderr


def test_the_trees_of_an_ensemble_are_pruned_in_a_file_without_its_leaks(files):
    members = forest(stump(40.0, "no", "yes"), stump(55.0, "no", "yes"), by_sex("yes", "no"))
    text = converted(members, "pmml").decode().replace("<Header>", SIGNED.replace("/>", ">"))
    files.model.write_text(text, encoding="utf-8")
    policy, target = with_clause(files), files.folder / "fixed.pmml"
    outcome = files.run("repair", "--policy", policy, "-o", target)
    assert outcome.exit_code == 0, outcome.output
    assert "redact_file+prune_apt" in outcome.stdout
    assert b"Jo Doe" not in target.read_bytes()


def test_a_repair_that_leaves_a_warning_says_what_the_file_still_gives_away(files):
    text = files.model.read_text("utf-8").replace("<Header/>", SIGNED)
    files.model.write_text(text, encoding="utf-8")
    target = files.folder / "fixed.pmml"
    outcome = files.run("repair", "--policy", files.policy("harsh"), "-o", target)
    assert outcome.exit_code == 0
    assert "Publish exactly" not in on_one_line(outcome)
    assert "Never publish the original. Before you publish fixed.pmml, look at" in on_one_line(
        outcome
    )


def test_what_the_format_keeps_is_said_with_what_to_do_and_nothing_is_written(case):
    field = '<MiningField name="age"'
    told = f'{field} missingValueReplacement="41" missingValueTreatment="asMedian"'
    case.file((field, told))
    outcome = case.run("repair", "flu.pmml", "strict", "-o", "fixed.pmml", "--verbose")
    assert outcome.exit_code == 1
    assert "(medians) cannot be removed in its format: export the model again" in on_one_line(
        outcome
    )
    assert not Path("fixed.pmml").exists()
    warned = on_one_line(case.run("audit", "flu.pmml", "standard"))
    assert "The format pmml cannot be written without this: medians. Export" in warned
    assert PUBLISH not in warned


def test_another_format_takes_the_trees_alone(case):
    case.file(("</TreeModel>", f"{VERIFIED}</TreeModel>"), ("<Header/>", SIGNED))
    asked = ("-o", "fixed.json", "--to", "treewarden_json")
    assert case.run("repair", "flu.pmml", "strict", *asked).exit_code == 0
    assert PUBLISH in on_one_line(case.run("audit", "fixed.json", "strict"))


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_no_form_of_the_report_says_publish_of_a_file_that_leaks(case, form):
    case.file(("<Header/>", SIGNED))
    outcome = case.run("audit", "flu.pmml", "strict", "--format", form)
    assert outcome.exit_code == 0
    assert PUBLISH not in on_one_line(outcome)
    assert "treewarden redact flu.pmml -o flu-redacted.pmml" in on_one_line(outcome)


def test_every_kind_is_one_that_redact_can_be_asked_for():
    told = run_command("redact", "--help").output
    assert [kind for kind in LeakKind if str(kind) not in " ".join(told.split())] == []


@pytest.mark.parametrize(
    "hidden",
    [
        '<Extension name="note" value="30,m,Jo Doe,1961-03-04"/>',
        '<x:rows xmlns:x="http://example.org/x">30,m,Jo Doe,1961-03-04</x:rows>',
        "30,m,Jo Doe,1961-03-04",
    ],
)
def test_a_record_hidden_where_no_model_reads_fails_and_the_repaired_file_is_without_it(
    case, hidden
):
    case.file(("</TreeModel>", f"{hidden}</TreeModel>"))
    failed = case.run("audit", "flu.pmml", "baseline")
    assert failed.exit_code == 1
    assert PUBLISH not in on_one_line(failed)
    repaired = case.run("repair", "flu.pmml", "baseline", "-o", "fixed.pmml")
    assert repaired.exit_code == 0, repaired.output
    assert b"Jo Doe" not in Path("fixed.pmml").read_bytes()


def test_our_own_json_passes_unless_the_names_of_its_nodes_say_more(case):
    tree = load_model(TREE.encode(), "flu.pmml")
    data = converted(tree, "treewarden_json")
    Path("flu.json").write_bytes(data)
    assert case.run("audit", "flu.json", "strict").exit_code == 0
    named = json.loads(data)
    named["nodes"][1]["id"] = named["nodes"][1]["id"] + ", Jo Doe, 1961-03-04"
    Path("named.json").write_text(json.dumps(named), encoding="utf-8")
    assert case.run("audit", "named.json", "strict").exit_code == 1


def test_a_file_whose_reader_passes_over_what_it_does_not_need_is_undetermined():
    read = next(name for name, plugin in formats().items() if not plugin.accounts_for_all)
    leak = Leak(LeakKind.UNKNOWN, "anywhere in it", read, is_possible=True)
    evidence = replace(evidence_of(flat_tree([[26, 24]])), leaks=(leak,))
    reading = measures()["side_leaks"].read(evidence, {"kind": "people"}).reading
    assert reading == Interval(0.0, 1.0)


def test_a_leaf_in_which_nobody_of_the_table_falls_is_undetermined(case):
    without = "\n".join(line for line in TREE.splitlines() if "ScoreDistribution" not in line)
    Path("flu.pmml").write_text(re.sub(r' recordCount="\d+"', "", without), encoding="utf-8")
    Path("people.csv").write_text("age,flu\n" + "30,no\n30,yes\n" * 20, encoding="utf-8")
    outcome = case.run("audit", "flu.pmml", "baseline")
    assert outcome.exit_code == 3
    assert "no record of the table reaches it" in on_one_line(outcome)


ASKED_OF_PEOPLE = """
name = "people"
version = "1"
title = "people"
[[clause]]
id = "beside-people"
measure = "side_leaks"
parameters = { kind = "people" }
rule = "at_most"
limit = 0
"""


@pytest.mark.parametrize(("more", "code"), [("", 0), ("note=ann has it\n", 1)])
def test_a_lightgbm_text_file_can_pass_what_is_asked_of_people_beside_its_trees(
    tmp_path, more, code
):
    policy, model = tmp_path / "people.toml", tmp_path / "m.txt"
    policy.write_text(ASKED_OF_PEOPLE)
    text = (places.DATA / "grown" / "lightgbm_two.txt").read_text()
    model.write_text(text.replace("version=v4\n", f"version=v4\n{more}"))
    told = ["--data", places.DATA / "grown" / "two.csv", "--sensitive", "y", "--policy", policy]
    outcome = run_command("audit", model, *told)
    assert outcome.exit_code == code, outcome.output

"""Waivers and baselines of ``treewarden audit``: exit codes, what reports show, and nothing half-written."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

import treewarden as tw
from tests.kit.forests import by_sex, forest, stump
from tests.treewarden.conftest import CLAUSE
from treewarden.api.requests import ArgumentError
from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.ppdm_models.errors import TreewardenError, WaiverError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import read_tree
from treewarden.reports.document.packing import unpack

TODAY = datetime.now(UTC).date()
PACK = """name = "groups"
version = "1"
title = "Groups"
[[clause]]
id = "groups"
measure = "k_anonymity"
rule = "at_least"
limit = {limit}
"""


def pack(files, limit=10):
    path = files.folder / f"groups{limit}.toml"
    path.write_text(PACK.format(limit=limit))
    return path


def audit(files, *more, limit=10):
    return files.run("audit", "-q", "--no-worlds", "--policy", pack(files, limit), *more)


def broken(files, limit=10):
    """Return the fingerprints of the leaves that break the policy."""
    said = unpack(json.loads(audit(files, "--format", "json", limit=limit).stdout))
    return [place["leaf"] for finding in said["findings"] for place in finding["where"]]


def waivers(files, *targets, **changes):
    keys = {
        "clause": '"groups"',
        "reason": '"the eight agreed"',
        "owner": '"A. Owner"',
        "ticket": '"T-1"',
        "expires": (TODAY + timedelta(days=30)).isoformat(),
        **changes,
    }
    path = files.folder / "treewarden-waivers.toml"
    said = "\n".join(f"{key} = {value}" for key, value in keys.items())
    path.write_text("".join(f"[[waiver]]\n{target}\n{said}\n" for target in targets))
    return path


def for_leaf(leaf):
    return f'leaf = "{leaf}"'


def test_a_waived_leaf_passes_and_the_report_says_who_why_and_until_when(files):
    (leaf,) = broken(files)
    given = waivers(files, for_leaf(leaf))
    outcome = audit(files, "--waivers", given, "--verbose")
    assert outcome.exit_code == 0
    until = TODAY + timedelta(days=30)
    said = " ".join(outcome.stdout.split())
    assert "meets the policy, except for the accepted findings" in said
    assert (
        f"accepted by a waiver: the eight agreed (A. Owner, T-1; until {until}; waiver 1 of treewarden-waivers.toml)"
    ) in said


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_waived_finding_stays_in_every_form(files, form):
    given = waivers(files, for_leaf(*broken(files)))
    outcome = audit(files, "--waivers", given, "--format", form)
    assert outcome.exit_code == 0
    assert "the eight agreed (A. Owner, T-1; until" in outcome.stdout


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_a_report_shows_the_fingerprint_by_which_a_leaf_is_waived(files, form):
    (leaf,) = broken(files)
    assert leaf in audit(files, "--format", form).stdout


def test_a_redacted_report_still_says_what_is_wrong_with_a_waiver(files):
    given = waivers(files, for_leaf("f" * 24))
    outcome = audit(files, "--waivers", given, "--redacted")
    assert outcome.exit_code == 1
    assert "no leaf of flu.pmml has the fingerprint ffff" in " ".join(outcome.stdout.split())


def test_the_digest_of_the_file_waives_the_whole_model(files):
    digest = hashlib.sha256(files.model.read_bytes()).hexdigest()
    given = waivers(files, f'digest = "sha256:{digest}"')
    assert audit(files, "--waivers", given, limit=100).exit_code == 0
    assert audit(files, "--waivers", given, limit=10).exit_code == 1


def test_a_waiver_of_the_digest_does_not_outlive_a_change_of_the_file(files):
    digest = hashlib.sha256(files.model.read_bytes()).hexdigest()
    given = waivers(files, f'digest = "sha256:{digest}"')
    files.model.write_text(files.model.read_text() + "\n")
    outcome = audit(files, "--waivers", given, limit=100)
    assert outcome.exit_code == 1
    assert "waiver-unused" in outcome.stdout


def test_a_waiver_survives_the_conversion_of_the_model(files):
    (leaf,) = broken(files)
    given = waivers(files, for_leaf(leaf))
    copy = files.folder / "copy.json"
    copy.write_bytes(converted(read_tree(files.model), "treewarden_json"))
    outcome = audit(replace(files, model=copy), "--waivers", given)
    assert outcome.exit_code == 0


def test_a_waiver_beyond_the_longest_length_is_no_audit(files):
    far = (TODAY + timedelta(days=400)).isoformat()
    given = waivers(files, for_leaf("f" * 24), expires=far)
    outcome = audit(files, "--waivers", given)
    assert outcome.exit_code == 4
    assert "treewarden-waivers.toml: waiver 1: expires: " in outcome.stderr


@pytest.mark.parametrize("option", ["--waivers", "--baseline"])
def test_a_file_that_is_not_there_is_no_audit(files, option):
    outcome = audit(files, option, files.folder / "none")
    assert outcome.exit_code == 4
    assert "none: there is no such file; check the path" in outcome.stderr


@pytest.mark.parametrize("option", ["--waivers", "--baseline"])
def test_a_folder_is_no_audit(files, option):
    assert audit(files, option, files.folder).exit_code == 4


def test_a_failing_audit_writes_its_baseline_and_fails(files):
    path = files.folder / "baseline.json"
    outcome = audit(files, "--write-baseline", path)
    assert outcome.exit_code == 1
    assert list(json.loads(path.read_bytes())["models"]) == ["flu.pmml"]
    again = audit(files, "--baseline", path, "--verbose")
    assert again.exit_code == 0
    assert "accepted by a baseline: in the baseline file, and no worse" in again.stdout


def test_a_baseline_of_another_policy_hides_nothing(files):
    path = files.folder / "baseline.json"
    audit(files, "--write-baseline", path)
    outcome = audit(files, "--baseline", path, limit=11)
    assert outcome.exit_code == 1
    assert "baseline-other-audit" in outcome.stdout


def test_a_baseline_of_another_model_only_is_no_audit(files):
    path = files.folder / "baseline.json"
    audit(files, "--write-baseline", path)
    other = files.model.rename(files.folder / "other.pmml")
    outcome = audit(replace(files, model=other), "--baseline", path)
    assert outcome.exit_code == 4
    assert "has no model 'other.pmml', only 'flu.pmml'" in outcome.stderr


def test_a_baseline_that_cannot_be_written_leaves_no_report_behind(files):
    out = files.folder / "out"
    out.mkdir()
    path = files.folder / "nowhere" / "baseline.json"
    assert audit(files, "--write-baseline", path, "--out", out).exit_code == 4
    assert list(out.iterdir()) == []


@pytest.mark.parametrize("option", ["--waivers", "--baseline"])
def test_a_baseline_never_overwrites_an_input(files, option):
    path = files.folder / "input"
    path.write_text("")
    outcome = audit(files, option, path, "--write-baseline", path)
    assert outcome.exit_code == 4
    assert path.read_text() == ""


def test_two_results_are_never_one_file(files):
    path = files.folder / "same.csv"
    assert audit(files, "--posterior", path, "--write-baseline", path).exit_code == 4
    assert not path.exists()


@pytest.mark.parametrize("option", ["--waivers", "--baseline"])
def test_a_repair_accepts_nothing(files, option):
    outcome = files.run("repair", "--list", option, files.folder / "any")
    assert outcome.exit_code == 2
    assert "a repair searches for a change that needs no accepted findings" in " ".join(
        outcome.stderr.split()
    )


def test_a_call_takes_the_same_files(files):
    (leaf,) = broken(files)
    given = waivers(files, for_leaf(leaf))
    path = files.folder / "baseline.json"
    audit(files, "--write-baseline", path)
    settings = {"sensitive": "flu", "policy": pack(files), "worlds": False}
    for more in ({}, {"waivers": given}, {"baseline": str(path)}):
        result = tw.audit(files.model, files.table, **settings, **more)
        assert result.passed is bool(more)
        assert (result.findings["accepted"][0] != "") is bool(more)
        assert ("<div>Why</div>" in result._repr_html_()) is not bool(more)


def test_a_call_refuses_what_is_no_path(files):
    with pytest.raises(ArgumentError, match="waivers: give the path of a file, not int"):
        tw.audit(files.model, files.table, sensitive="flu", waivers=3)


def request(files, waivers_file, **more):
    options = AuditOptions(sensitive="flu", worlds=False)
    policy = str(pack(files))
    return Request(files.model, files.table, options, policy=policy, waivers=waivers_file, **more)


def test_today_is_what_the_request_says(files):
    given = waivers(files, for_leaf(*broken(files)), expires="2020-01-31")
    on_time = audit_file(request(files, given, today=date(2020, 1, 31)))
    late = audit_file(request(files, given, today=date(2020, 2, 1)))
    assert (on_time.decision.verdict.word, late.decision.verdict.word) == ("pass", "fail")


def test_a_gate_is_told_which_waivers_a_model_needed_and_hears_of_no_other(files):
    given = waivers(files, for_leaf(*broken(files)), for_leaf("f" * 24))
    done = audit_file(request(files, given, name="loan"))
    assert (done.decision.verdict.word, done.uses.needed) == ("pass", {1})


def test_errors_of_waivers_are_errors_of_treewarden():
    assert issubclass(WaiverError, TreewardenError)


def test_each_of_two_equal_leaves_of_an_ensemble_needs_a_waiver_of_its_own(files):
    ensemble = forest(stump(55.0, "no", "yes"), stump(55.0, "yes", "no"), by_sex("yes", "no"))
    files.model.write_bytes(converted(ensemble, "pmml"))
    one, other = sorted(broken(files))
    assert other == f"{one}#2"
    assert audit(files, "--waivers", waivers(files, for_leaf(one))).exit_code == 1
    both = waivers(files, for_leaf(one), for_leaf(other))
    assert audit(files, "--waivers", both).exit_code == 0
    turned = replace(ensemble, members=ensemble.members[::-1])
    files.model.write_bytes(converted(turned, "pmml"))
    assert audit(files, "--waivers", both).exit_code == 0


def test_what_a_waiver_says_reaches_no_terminal_and_no_page_as_it_is(files):
    given = waivers(files, for_leaf(*broken(files)), reason='"\\u001b[31m<script>"')
    for form in ("text", "html"):
        said = audit(files, "--waivers", given, "--format", form).stdout
        assert "\x1b" not in said
        assert ("<script>" in said) is (form == "text")


def test_a_table_with_another_person_in_the_leaf_is_a_table_that_the_file_contradicts(files):
    given = waivers(files, for_leaf(*broken(files)))
    files.table.write_text(files.table.read_text() + "60,M,yes\n")
    assert audit(files, "--waivers", given).exit_code == 4


# More places than a report lists.

MANY = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header/>
  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double"/>
    <DataField name="flu" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
  </DataDictionary>
  <TreeModel functionName="classification" splitCharacteristic="binarySplit">
    <MiningSchema><MiningField name="age"/><MiningField name="flu" usageType="target"/></MiningSchema>
    <Node id="0" score="no"><True/>
      <Node id="1" score="no"><SimplePredicate field="age" operator="lessThan" value="700"/></Node>
      <Node id="2" score="yes"><SimplePredicate field="age" operator="greaterOrEqual" value="700"/></Node>
    </Node>
  </TreeModel>
</PMML>
"""


def test_a_baseline_that_was_just_written_is_green_however_many_places_break_a_clause(files):
    files.model.write_text(MANY)
    people = [f"{age},{'no' if age < 700 else 'yes'}" for age in range(1400) for _ in range(2)]
    files.table.write_text("\n".join(["age,flu", *people, ""]))
    policy = files.folder / "sure.toml"
    clause = {"name": "sure", "measure": "disclosure", "rule": "at_most", "limit": 0.3}
    policy.write_text(CLAUSE.format(**clause))
    baseline = files.folder / "b.json"
    fixed = ("--policy", policy, "--no-worlds", "-q")
    assert files.run("audit", *fixed, "--write-baseline", baseline).exit_code == 1
    found = json.loads(baseline.read_text())["models"][files.model.name]["findings"]
    assert sorted(each["places"] for each in found) == [0, 700, 700]
    assert files.run("audit", *fixed, "--baseline", baseline).exit_code == 0
    files.table.write_text(files.table.read_text() + "5000,yes\n")
    assert files.run("audit", *fixed, "--baseline", baseline).exit_code == 1

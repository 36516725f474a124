"""``audit --no-table``: what the file alone says, told as such in every form."""

from __future__ import annotations

import json
import re

import pytest

import treewarden as tw
from tests.kit.run import run_command
from tests.treewarden.conftest import CLAUSE
from treewarden.reports.building.entry import entry_of
from treewarden.reports.document.packing import read_document


def audit_without_table(files, *arguments):
    asked = ["audit", files.model, "--no-table", *arguments]
    return run_command(*asked)


def test_a_leaf_that_is_too_small_fails(files):
    outcome = audit_without_table(files, "--policy", files.policy("harsh"))
    assert outcome.exit_code == 1
    assert re.search(r"1 to 8 +>= 10 +1 leaf, perhaps more", outcome.stdout)


def test_counts_that_may_be_weights_do_not_pass(files):
    outcome = audit_without_table(files, "--policy", files.policy("lenient"))
    assert outcome.exit_code == 3
    assert "  No table was given, so the numbers in the file were not checked." in outcome.stdout


def test_nothing_beside_the_trees_passes(files):
    path = files.folder / "beside.toml"
    said = CLAUSE.format(name="beside", measure="side_leaks", rule="at_most", limit=0)
    path.write_text(said, encoding="utf-8")
    outcome = audit_without_table(files, "--policy", path)
    assert outcome.exit_code == 0
    assert "if the numbers in its file are correct" in outcome.stdout


@pytest.mark.parametrize("form", ["html", "json", "text"])
@pytest.mark.parametrize("redacted", [(), ("--redacted",)])
def test_every_form_says_first_what_it_rests_on(files, form, redacted):
    outcome = audit_without_table(files, "--format", form, *redacted)
    assert outcome.exit_code == 1
    assert "No table was given" in " ".join(outcome.stdout.split())


def test_the_document_has_no_table_and_a_gate_is_told(files):
    document = read_document(audit_without_table(files, "--format", "json").stdout.encode())
    assert (document.basis, document.provenance.table) == ("file", None)
    assert entry_of(document).basis == "file"


def test_an_audit_with_its_table_rests_on_that(files):
    outcome = files.run("audit", "--format", "json", "--policy", files.policy("lenient"))
    said = json.loads(outcome.stdout)
    assert (said["basis"], said["rests_on"]) == ("table", "")


def test_whether_there_is_a_table_is_said_once(files):
    both = audit_without_table(files, "--data", files.table)
    neither = run_command("audit", files.model)
    assert (both.exit_code, neither.exit_code) == (2, 2)
    assert "--no-table" in neither.stderr


@pytest.mark.parametrize(
    "named", [("--qi", "age"), ("--weights", "w"), ("--sampling-weights", "w")]
)
def test_columns_of_no_table_are_refused(files, named):
    outcome = audit_without_table(files, *named)
    assert outcome.exit_code == 4
    assert "names columns of a table" in outcome.stderr


def test_another_sensitive_column_is_refused(files):
    assert audit_without_table(files, "--sensitive", "age").exit_code == 4
    assert audit_without_table(files, "--sensitive", "flu").exit_code == 1


def test_no_estimate_is_written(files):
    path = files.folder / "estimate.csv"
    outcome = audit_without_table(files, "--posterior", path)
    assert not path.exists()
    assert "is not written" in outcome.stderr


def test_python_audits_without_data(files):
    found = tw.audit(files.model, None, policy=files.policy("harsh"))
    assert found.verdict == tw.Verdict.FAIL
    assert tw.audit(files.model, None, policy=files.policy("truth")).verdict != tw.Verdict.PASS


def test_python_repairs_nothing_without_data(files):
    with pytest.raises(tw.TreewardenError):
        tw.repair(files.model, None, policy=files.policy("harsh"))

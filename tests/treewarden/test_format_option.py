"""--format KIND=FILE: any number of forms at once, each in its place, and a slip shows before any work."""

from __future__ import annotations

import json
import os

import click
import pytest

from treewarden.api.result import form_of
from treewarden.commands._reporting import OutputRequest, reporting
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.building.entry import gate_of, unaudited
from treewarden.reports.renderers import GateRenderer, names, renderer

QUICK = ("--no-worlds", "--quiet")


def audited(files, *arguments):
    return files.run("audit", "--policy", files.policy("harsh"), *QUICK, *arguments)


def told(outcome):
    return " ".join((outcome.output + outcome.stderr).split())


def test_several_forms_go_into_files_of_their_own(files):
    sarif, page = files.folder / "a.sarif", files.folder / "b.html"
    outcome = audited(files, "--format", f"sarif={sarif}", "--format", f"html={page}")
    assert outcome.exit_code == 1
    assert outcome.stdout.startswith("FAIL: Do not publish flu.pmml.")
    assert f"Read the full report: {sarif}, {page}" in told(outcome)
    assert json.loads(sarif.read_bytes())["version"] == "2.1.0"
    assert page.read_bytes().startswith(b"<!DOCTYPE html>")


def test_every_form_of_a_gate_is_written_at_once(files):
    forms = [name for name in names() if isinstance(renderer(name), GateRenderer)]
    asked = [word for name in forms for word in ("--format", f"{name}={files.folder / name}")]
    assert audited(files, *asked).exit_code == 1
    assert all((files.folder / name).stat().st_size for name in forms)


def test_one_form_goes_to_stdout_beside_files(files):
    file = files.folder / "a.csv"
    outcome = audited(files, "--format", "github=-", "--format", f"csv={file}")
    assert outcome.stdout.startswith("treewarden: FAIL: 1 model fails")
    assert file.read_text().startswith("model,file,line")


def test_a_form_without_a_file_goes_into_the_folder_beside_those_with_one(files):
    out, file = files.folder / "out", files.folder / "a.xml"
    out.mkdir()
    asked = ("--out", out, "--format", "json", "--format", "gitlab", "--format", f"junit={file}")
    assert audited(files, *asked).exit_code == 1
    assert sorted(os.listdir(out)) == ["audit.gitlab.json", "audit.json"]
    assert file.exists()


def test_a_folder_for_which_nothing_is_left_gets_the_page(files):
    out = files.folder / "out"
    out.mkdir()
    audited(files, "--out", out, "--format", f"csv={files.folder / 'a.csv'}")
    assert os.listdir(out) == ["audit.html"]


@pytest.mark.parametrize(
    ("asked", "code", "words"),
    [
        (("word",), 2, f"unknown format 'word'; choose {names()[0]}, {names()[1]}, "),
        (("sarif=",), 2, "names no file; use sarif=FILE, or sarif=-"),
        (("csv", "json"), 2, "several reports on stdout (csv, json)"),
        (("csv=-", "json=-"), 2, "several reports on stdout (csv, json)"),
        (("csv={}/a", "json={}/a"), 4, "two results would go into this file"),
        (("csv={}/a", "json={}/./a"), 4, "two results would go into this file"),
        (("csv={}/a", "json={}/x/../a"), 4, "two results would go into this file"),
        (("csv={}/nowhere/a",), 4, "there is no such folder"),
        (("csv={}",), 4, "is a folder; name a file"),
        (("csv={}/people.csv",), 4, "is an input, and inputs are never overwritten"),
    ],
)
def test_a_slip_is_an_error_before_any_work(files, asked, code, words):
    (files.folder / "x").mkdir()
    before = sorted(os.listdir(files.folder))
    given = [word for each in asked for word in ("--format", each.format(files.folder))]
    outcome = files.run("audit", "--policy", "no such policy", *given)
    assert outcome.exit_code == code
    assert words in told(outcome)
    assert sorted(os.listdir(files.folder)) == before


def test_a_report_and_the_posterior_cannot_have_one_path(files):
    path = files.folder / "p.csv"
    outcome = files.run("audit", "--posterior", path, "--format", f"csv={path}")
    assert outcome.exit_code == 4
    assert "two results would go into this file" in told(outcome)


def test_a_report_and_the_repaired_model_cannot_have_one_path(files):
    path = files.folder / "new"
    outcome = files.run("repair", "-o", path, "--format", f"csv={path}")
    assert outcome.exit_code == 4
    assert "two results would go into this file" in told(outcome)
    assert not path.exists()


def test_a_repair_writes_forms_beside_the_model(files):
    model, issues = files.folder / "new.pmml", files.folder / "issues.json"
    asked = ("-o", model, "--policy", files.policy("harsh"), *QUICK)
    outcome = files.run("repair", *asked, "--format", f"gitlab={issues}")
    assert outcome.exit_code == 0
    assert model.exists()
    assert json.loads(issues.read_bytes()) == []


def test_an_annotation_names_the_model_by_its_path_from_the_folder_of_the_command(files):
    outcome = audited(files, "--format", "gitlab")
    (issue,) = json.loads(outcome.stdout)
    assert issue["location"]["path"] == os.fspath(files.model)


def test_a_device_is_not_replaced_by_a_file(files):
    pipe = files.folder / "pipe"
    os.mkfifo(pipe)
    outcome = audited(files, "--format", f"csv={pipe}")
    assert outcome.exit_code == 4
    assert "exists and is not a regular file" in told(outcome)


def test_the_forms_of_a_gate_go_where_those_of_an_audit_go(tmp_path, capsys):
    gate = gate_of([unaudited("a", "a.pmml", "gone")], "error")
    places = [OutputRequest("csv", str(tmp_path / "a.csv")), OutputRequest("text", "-")]
    report = reporting("gate", places, None, is_gate=True)
    assert report.paths == (tmp_path / "a.csv",)
    assert report.gate_files(gate)[tmp_path / "a.csv"].startswith(b"model,file")
    report.show_gate(gate, {})
    assert capsys.readouterr().out.startswith("NO AUDIT: 1 model has no audit")


def test_two_forms_that_are_one_file_of_a_folder_are_refused(tmp_path):
    here = [OutputRequest("csv"), OutputRequest("json", str(tmp_path / "gate.csv"))]
    with pytest.raises(OutputError, match="two results would go into this file"):
        reporting("gate", here, tmp_path, is_gate=True)


def test_two_forms_cannot_both_be_shown(tmp_path):
    with pytest.raises(click.UsageError, match="several reports on stdout"):
        reporting("gate", [OutputRequest("csv"), OutputRequest("json", "-")], None)


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("a.sarif", "sarif"),
        ("a.HTML", "html"),
        ("a.json", "json"),
        ("a.gitlab.json", "gitlab"),
        ("a.junit.xml", "junit"),
        ("a.txt", "text"),
        ("a.github.txt", "github"),
        ("a.md", "markdown"),
        ("a.csv", "csv"),
    ],
)
def test_a_suffix_stands_for_a_form(file, form, tmp_path):
    assert form_of(tmp_path / file) == form


def test_a_suffix_that_stands_for_no_form_is_refused_with_those_there_are(tmp_path):
    with pytest.raises(OutputError, match=r"is not that of a report format; use \."):
        form_of(tmp_path / "a.docx")

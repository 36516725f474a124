"""Reports that are filed, from the command line: page and PDF, with a purpose, in full and for other readers."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import subprocess
import sys

import pytest

from tests.treewarden.conftest import PMML

pypdf = pytest.importorskip("pypdf")
pytest.importorskip("typst", reason="typst is not installed: treewarden[pdf]")

BOTH = ("--format", "compliance", "--format", "pdf")
PLANTED = {
    '"F"': '"Zorblat"',
    '"M"': '"Quimby"',
    '"no"': '"Wellish"',
    '"yes"': '"Poorly"',
    '"40"': '"41.7323"',
}
"""Categories, a class and a threshold that stand nowhere else."""
IN_THE_TABLE = {",F,": ",Zorblat,", ",M,": ",Quimby,", ",no\n": ",Wellish\n", ",yes\n": ",Poorly\n"}
SMALL = re.compile(r"(?<![\d.,])[1-9] (?:records?|people|person|profiles?)")


def pdf_text(path):
    read = pypdf.PdfReader(io.BytesIO(path.read_bytes()))
    return " ".join(" ".join(page.extract_text() for page in read.pages).split())


def page_text(path):
    said = re.sub(r"<style>.*?</style>", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", said).split())


@pytest.fixture
def planted(files):
    """The small model and its table, with values that stand out, and a policy that asks for groups of ten."""
    model, table = PMML, files.table.read_text(encoding="utf-8")
    for plain, odd in PLANTED.items():
        model = model.replace(plain, odd)
    for plain, odd in IN_THE_TABLE.items():
        table = table.replace(plain, odd)
    files.model.write_text(model, encoding="utf-8")
    files.table.write_text(table, encoding="utf-8")
    return files


def test_page_and_pdf_go_into_a_folder_beside_the_report_for_reading(files):
    out = files.folder / "out"
    out.mkdir()
    lenient = ("--policy", files.policy("lenient"))
    outcome = files.run("audit", *lenient, *BOTH, "--format", "html", "--out", out)
    assert outcome.exit_code == 0
    assert sorted(os.listdir(out)) == ["audit.compliance.html", "audit.html", "audit.pdf"]


@pytest.mark.parametrize("command", ["audit", "repair"])
def test_a_purpose_is_in_the_document_and_in_what_is_filed(files, command):
    out, said = files.folder / "out", "To triage calls at night."
    out.mkdir()
    where = ("--out", out) if command == "audit" else ("-o", files.folder / "new.pmml")
    more = () if command == "audit" else ("--report", out)
    harsh = ("--policy", files.policy("harsh"), "--purpose", said, "--format", "json")
    files.run(command, *harsh, *BOTH, *where, *more)
    assert json.loads((out / f"{command}.json").read_bytes())["purpose"] == said
    assert said in page_text(out / f"{command}.compliance.html")
    assert said in pdf_text(out / f"{command}.pdf")


def test_the_verdict_is_the_same_whatever_the_purpose(files):
    codes = {
        files.run("audit", "--policy", files.policy(name), *more).exit_code
        for name, more in (("harsh", ()), ("harsh", ("--purpose", "PASS")))
    }
    assert codes == {1}


def test_a_repair_names_the_file_that_it_wrote_with_its_digest(files):
    out, target = files.folder / "out", files.folder / "new.pmml"
    out.mkdir()
    harsh = ("--policy", files.policy("harsh"), "--format", "json", *BOTH)
    assert files.run("repair", *harsh, "-o", target, "--report", out).exit_code == 0
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    told = json.loads((out / "repair.json").read_bytes())["provenance"]["written"]
    assert told == {"name": "new.pmml", "sha256": digest}
    assert digest in page_text(out / "repair.compliance.html")
    assert "Repair made" in pdf_text(out / "repair.pdf")


@pytest.mark.parametrize("command", ["audit", "repair"])
def test_a_public_form_tells_no_category_no_number_of_the_table_and_no_small_count(
    planted, command
):
    out = planted.folder / "out"
    out.mkdir()
    where = ("--out", out) if command == "audit" else ("-o", planted.folder / "new.pmml")
    more = () if command == "audit" else ("--report", out)
    asked = ("--policy", planted.policy("harsh"), *BOTH, *where, *more)
    planted.run(command, *asked)
    page, pdf = out / f"{command}.compliance.html", out / f"{command}.pdf"
    full = page_text(page)
    assert "Wellish" in full
    assert SMALL.search(full) or command == "repair"
    planted.run(command, *asked, "--redacted", *(("--force",) if command == "repair" else ()))
    odd = [value.strip('"') for value in PLANTED.values()]
    digest = hashlib.sha256(planted.table.read_bytes()).hexdigest()
    for said in (page_text(page), pdf_text(pdf)):
        assert "Redacted" in said
        assert [value for value in (*odd, digest) if value in said] == []
        assert SMALL.findall(said) == []


def test_a_pdf_is_refused_where_text_is_expected_before_any_work(files):
    outcome = files.run("audit", "--format", "pdf")
    assert outcome.exit_code == 2
    assert "pdf is not text" in outcome.stderr


def test_without_the_package_no_audit_begins_and_the_way_to_install_it_is_told(files):
    code = "import sys; sys.modules['typst'] = None; from treewarden.cli import main; main()"
    asked = ("audit", files.model, "--data", files.folder / "not-there.csv", "--format", "pdf")
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, asked), "--out", str(files.folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4
    assert "pip install 'treewarden[pdf]'" in done.stderr
    assert "not-there" not in done.stderr

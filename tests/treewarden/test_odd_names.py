"""Names that strangers chose: they are shown, and do nothing."""

from __future__ import annotations

import csv
import io
import json
from xml.sax.saxutils import quoteattr

import pytest

ODD = [
    "yes, sir",
    'the "yes"',
    "it's",
    "<script>alert(1)</script>",
    "two\nlines",
    "ja ≠ nein, あ",
    "\u202eyes",
    "{{ 7 * 7 }}",
    "=1+1",
    " yes",
]


@pytest.fixture(params=ODD)
def odd(request, files):
    """Call the class "yes" and the column "flu" by an odd name, in the model and in the table."""
    name = request.param
    attribute = quoteattr(name, {"\n": "&#10;"})
    model = files.model.read_text(encoding="utf-8")
    model = model.replace('"yes"', attribute)
    files.model.write_text(model.replace('"flu"', attribute), encoding="utf-8")
    rows = list(csv.reader(io.StringIO(files.table.read_text(encoding="utf-8"))))
    changed = [[name if cell in ("yes", "flu") else cell for cell in row] for row in rows]
    with files.table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(changed)
    return files, name


def run_on(files, name, command, *arguments):
    return files.run(command, "--sensitive", name, *arguments, sensitive=False)


def test_a_page_holds_no_name_as_markup(odd):
    files, name = odd
    outcome = run_on(files, name, "audit", "--format", "html")
    assert outcome.exit_code == 1
    assert "<script" not in outcome.stdout


def test_the_terminal_gets_no_control_character(odd):
    files, name = odd
    outcome = run_on(files, name, "audit", "--format", "text")
    assert outcome.exit_code == 1
    assert all(line.isprintable() for line in outcome.stdout.splitlines())


def test_json_holds_the_name_as_it_is(odd):
    files, name = odd
    said = json.loads(run_on(files, name, "audit", "--format", "json").stdout)
    assert said["model"]["target"] == name
    assert sorted(said["model"]["classes"]) == sorted(["no", name])


def test_the_posterior_holds_the_name_as_it_is(odd):
    files, name = odd
    run_on(files, name, "audit", "--posterior", files.folder / "posterior.csv")
    with (files.folder / "posterior.csv").open(encoding="utf-8", newline="") as file:
        assert {row["class"] for row in csv.DictReader(file)} == {"no", name}


def test_a_repair_keeps_the_name(odd):
    files, name = odd
    target = files.folder / "fixed.pmml"
    outcome = run_on(files, name, "repair", "--policy", files.policy("harsh"), "-o", target)
    assert outcome.exit_code == 0
    files.model.write_bytes(target.read_bytes())
    assert run_on(files, name, "audit", "--policy", files.policy("harsh")).exit_code == 0

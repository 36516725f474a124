"""``treewarden randomize``: what is written for which verdict, and what is refused before anything is."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.kit import places
from tests.kit.run import run_command
from tests.kit.tiers import cases
from treewarden.ppdm_models.methods.randomised.manifest import read_manifest
from treewarden.ppdm_models.tables.batches import Batches
from treewarden.terminal.exits import INTERRUPTED

RECORDS = 5_000
DOMAINS = """[columns.age]
low = 0
high = 100
whole = true
[columns.salary]
low = 0
high = 1000
[columns.school]
values = ["none", "school", "degree"]
"""
SECRET = "98765"
MILD = """name = "mild"
version = "1"
title = "mild"
[[clause]]
id = "some"
measure = "randomisation_width"
rule = "at_least"
limit = 0.1
[[clause]]
id = "more"
measure = "randomisation_level"
rule = "at_least"
limit = 9
severity = "warning"
"""


@pytest.fixture(scope="module")
def rows():
    """Return the cells of people whose columns have nothing to do with each other."""
    random = np.random.default_rng(0)
    ages = random.integers(0, 101, RECORDS)
    salaries = random.uniform(0, 1000, RECORDS)
    schools = random.choice(["none", "school", "degree"], RECORDS)
    flu = random.choice(["yes", "no"], RECORDS)
    cells = zip(ages, salaries, schools, flu, strict=True)
    return [[f"{n:05}", f"{a}", f"{s:.3f}", e, f] for n, (a, s, e, f) in enumerate(cells)]


@pytest.fixture
def folder(tmp_path, rows):
    """Write a table and domains of three of its columns."""
    write(tmp_path / "t.csv", rows)
    (tmp_path / "d.toml").write_text(DOMAINS)
    return tmp_path


def write(path, rows):
    lines = [",".join(row) for row in (["id", "age", "salary", "school", "flu"], *rows)]
    path.write_text("\n".join([*lines, ""]))


def randomize(folder, *words, table="t.csv", output="o.csv", domains=True, level="2", held=True):
    told = ["--domains", folder / "d.toml"] if domains else []
    asked = ["randomize", folder / table, "--level", level, "--noise", "gaussian", *told]
    asked += ["--class", "flu", "-o", folder / output, "--manifest", folder / "m.json", *words]
    asked += ["--only-if-pass"] if held else []
    return run_command(*asked)


def left(folder):
    return sorted(path.name for path in folder.iterdir())


NOTHING = ["d.toml", "t.csv"]


def test_a_pass_writes_the_table_and_its_manifest(folder):
    outcome = randomize(folder, "--drop", "id")
    assert outcome.exit_code == 0, outcome.output
    assert left(folder) == ["d.toml", "m.json", "o.csv", "t.csv"]
    header, *lines = (folder / "o.csv").read_text().splitlines()
    assert (header, len(lines)) == ("age,salary,school,flu", RECORDS)
    manifest = read_manifest((folder / "m.json").read_bytes(), "m.json")
    assert manifest.sha256 == hashlib.sha256((folder / "o.csv").read_bytes()).hexdigest()
    assert (manifest.file, manifest.records, manifest.label) == ("o.csv", RECORDS, "flu")
    assert [each.name for each in manifest.columns] == ["age", "salary", "school"]
    assert {each.domain for each in manifest.columns} == {"declared"}
    assert manifest.columns[2].values == ("none", "school", "degree")


def test_the_table_may_be_parquet(folder):
    table = pa.table(
        {"age": np.random.default_rng(2).integers(0, 101, RECORDS), "n": ["007"] * RECORDS}
    )
    pq.write_table(table, folder / "t.parquet")
    (folder / "d.toml").write_text("[columns.age]\nlow = 0\nhigh = 100\n")
    outcome = randomize(
        folder, "--clear", "n", "--class", "", table="t.parquet", output="o.parquet"
    )
    assert outcome.exit_code == 0, outcome.output
    found = pq.read_table(folder / "o.parquet")
    assert found["n"].to_pylist() == table["n"].to_pylist()
    assert found.schema.field("age").type == pa.float64()


@pytest.mark.parametrize("seen", [2, 3])
def test_a_table_that_changes_between_two_passes_is_refused(folder, monkeypatch, seen):
    """Tell of another time at which the file was written, when it is looked at for the second or third time."""
    told = []

    def stamp(table):
        told.append(table.path.stat().st_size)
        return told[0], int(len(told) >= seen), 0

    monkeypatch.setattr(Batches, "stamp", stamp)
    outcome = randomize(folder, "--drop", "id", "--report", str(folder / "r.json"))
    assert outcome.exit_code == 4
    assert "t.csv: the file changed while it was read" in outcome.output
    assert left(folder) == NOTHING


def test_a_fail_writes_nothing_and_says_what_to_do(folder):
    outcome = randomize(folder, "--drop", "id", level="0.01")
    assert outcome.exit_code == 1, outcome.output
    assert left(folder) == NOTHING
    assert "FAIL: " in outcome.stdout
    assert "raise --level" in outcome.stdout


def test_a_fail_keeps_what_was_there(folder):
    (folder / "o.csv").write_text("kept")
    assert randomize(folder, "--drop", "id", "--force", level="0.01").exit_code == 1
    assert (folder / "o.csv").read_text() == "kept"


def test_a_class_that_tells_a_hidden_column_is_no_pass(folder, rows):
    """Write whose age is in which tenth beside the noisy age."""
    write(folder / "t.csv", [[*row[:4], f"{int(row[1]) // 10}"] for row in rows])
    outcome = randomize(folder, "--drop", "id")
    assert outcome.exit_code == 1, outcome.output
    assert left(folder) == NOTHING


def test_more_classes_than_are_reckoned_with_are_undetermined(folder, rows):
    write(folder / "t.csv", [[*row[:4], f"{place % 21}"] for place, row in enumerate(rows)])
    outcome = randomize(folder, "--drop", "id")
    assert outcome.exit_code == 3, outcome.output
    assert "the unchanged class column has more than 20 values" in outcome.stdout


def test_a_column_in_clear_that_nobody_said_may_be_is_undetermined(folder):
    outcome = randomize(folder, "--columns", "age,salary", "--drop", "id")
    assert outcome.exit_code == 3, outcome.output
    assert left(folder) == NOTHING
    assert "not listed in --clear: 'school'" in outcome.stderr


def test_a_column_that_may_be_in_clear_is_no_hindrance(folder):
    outcome = randomize(folder, "--columns", "age,salary", "--drop", "id", "--clear", "school")
    assert outcome.exit_code == 0, outcome.output
    assert json.loads((folder / "m.json").read_bytes())["harmless"] == ["school"]


def test_records_in_the_order_of_a_column_are_undetermined(folder, rows):
    write(folder / "t.csv", sorted(rows, key=lambda row: float(row[2])))
    outcome = randomize(folder, "--drop", "id")
    assert outcome.exit_code == 3, outcome.output
    assert "UNDETERMINED: record-order: The order of the records discloses" in outcome.stdout
    assert left(folder) == NOTHING


@pytest.mark.parametrize(("level", "code"), [("0.01", 1), ("2", 0)])
def test_for_a_study_the_table_is_written_and_the_exit_code_is_the_verdict(folder, level, code):
    outcome = randomize(folder, "--drop", "id", level=level, held=False)
    assert outcome.exit_code == code, outcome.output
    assert left(folder) == ["d.toml", "m.json", "o.csv", "t.csv"]


def test_what_is_left_is_shown_for_each_column(folder):
    said = randomize(folder, "--drop", "id", "--columns", "age,salary", "--clear", "school").stdout
    heading, age, salary, *_ = said.splitlines()
    assert heading.split("  ")[0] == "column"
    assert age.split()[:3] == ["age", "200", "%"]
    assert salary.split()[:3] == ["salary", "200", "%"]


@pytest.mark.parametrize(
    ("suffix", "level", "verdict"),
    cases(
        [
            ("html", "0.01", "FAIL"),
            ("json", "2", "PASS"),
            ("csv", "0.01", "FAIL"),
            ("txt", "2", "PASS"),
            ("html", "2", "PASS"),
            ("json", "0.01", "FAIL"),
            ("csv", "2", "PASS"),
            ("txt", "0.01", "FAIL"),
        ],
        quick=4,
    ),
)
def test_a_report_is_written_whatever_the_verdict(folder, suffix, level, verdict):
    randomize(folder, "--drop", "id", "--report", folder / f"r.{suffix}", level=level)
    assert (folder / "o.csv").exists() == (verdict == "PASS")
    said = (folder / f"r.{suffix}").read_text()
    assert "salary" in said
    assert suffix == "csv" or verdict in said


def test_a_report_is_of_few_records_too(folder, rows):
    write(folder / "t.csv", rows[:300])
    randomize(folder, "--drop", "id", "--report", folder / "r.json")
    columns = json.loads((folder / "r.json").read_bytes())["columns"]
    assert [column["distribution"] for column in columns] == [None] * 3


def test_a_domain_of_the_data_is_told_and_warned_of(folder):
    words = ["--columns", "age,salary", "--domain-from-data", "--drop", "id,school"]
    outcome = randomize(folder, *words, domains=False, output="o.parquet")
    assert outcome.exit_code == 0, outcome.output
    found = read_manifest((folder / "m.json").read_bytes(), "m.json")
    assert [(each.domain, each.is_whole) for each in found.columns] == [
        ("data", True),
        ("data", False),
    ]
    assert (found.columns[0].low, found.columns[0].high) == (0, 100)
    assert "smallest and the largest value" in outcome.stderr


def test_warnings_are_of_what_the_figures_do_not_say(folder, rows):
    write(
        folder / "t.csv",
        [[n, a, f"{float(a) * 10:.0f}", e, f] for n, a, _, e, f in rows]
        + [["x", "", "5", "none", "no"]],
    )
    warned = randomize(folder, "--drop", "id").stderr
    assert "are correlated (1.00)" in warned
    assert "the class 'flu' is published unchanged" in warned
    assert "differential privacy" in warned
    assert "'age' has no value in 1 record" in warned


def test_few_records_are_warned_of(folder, rows):
    write(folder / "t.csv", rows[:300])
    assert "300 records, fewer than the 1,000 needed" in randomize(folder, "--drop", "id").stderr


def test_a_clause_that_does_not_count_says_so(folder):
    (folder / "p.toml").write_text(MILD)
    outcome = randomize(folder, "--drop", "id", "--policy", folder / "p.toml")
    assert outcome.exit_code == 0, outcome.output
    assert "FAIL: more (warning, does not count): " in outcome.stdout


def test_a_policy_about_models_alone_is_undetermined(folder):
    outcome = randomize(folder, "--drop", "id", "--policy", "baseline")
    assert outcome.exit_code == 3, outcome.output
    assert left(folder) == NOTHING


def test_quiet_says_no_warning(folder):
    assert randomize(folder, "--drop", "id", "-q").stderr == ""


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (
            [],
            4,
            "column 'id' has no declared domain; declare the domain with --domains",
        ),
        (["--columns", "id"], 4, "--domain-from-data"),
        (["--columns", "nowhere"], 4, "no column 'nowhere' (--columns); the table has 'id'"),
        (["--columns", "age", "--drop", "age"], 4, "is in --columns and in --drop"),
        (["--columns", "flu"], 4, "is in --columns and in --class"),
        (["--level", "0"], 2, "0.001"),
        (["--level", "11"], 2, "0.001 to 10"),
        (["--level", "nan"], 2, "not a number"),
        (["--noise", "laplace"], 2, "discretize"),
        (["--confidence", "1"], 2, "0.999"),
        (["--policy", "nowhere"], 4, "unknown policy"),
        (["--report", "r.pdf"], 4, "does not end in one of .html"),
        (["--manifest", "{folder}/t.csv"], 4, "is an input"),
        (["--manifest", "{folder}/d.toml", "--force"], 4, "is an input"),
        (["--manifest", "{folder}/o.csv"], 4, "two results"),
        (["--manifest", "{folder}/nowhere/m.json"], 4, "no such folder"),
        (["-o", "{folder}/o.txt"], 4, "neither in .csv nor in .parquet"),
        (["-o", "{folder}"], 4, "is a folder"),
        (["--domains", "{folder}/nowhere.toml"], 4, "check the path"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_written(folder, words, code, message):
    outcome = randomize(folder, *(word.format(folder=folder) for word in words))
    assert (outcome.exit_code, message in outcome.stderr) == (code, True), outcome.output
    assert left(folder) == NOTHING


def test_a_column_without_a_name_is_refused(folder, rows):
    (folder / "t.csv").write_text(",age\n0,5\n1,6\n")
    outcome = randomize(folder, "--class", "")
    assert (outcome.exit_code, "column 1 has no name" in outcome.stderr) == (4, True)


def test_a_text_column_needs_its_values(folder):
    outcome = randomize(folder, "--columns", "school", "--domain-from-data", domains=False)
    assert (outcome.exit_code, "[columns.school] values" in outcome.stderr) == (4, True)


def test_a_domain_of_a_column_that_is_not_there_is_refused(folder):
    (folder / "d.toml").write_text(DOMAINS + "[columns.height]\nlow = 0\nhigh = 3\n")
    outcome = randomize(folder, "--drop", "id")
    assert (
        outcome.exit_code,
        "d.toml: columns.height: t.csv has no such column" in outcome.stderr,
    ) == (4, True)


@pytest.mark.parametrize("cell", [SECRET, f"{SECRET}x", "inf", "NaN"])
def test_a_cell_at_fault_is_named_but_not_shown_and_nothing_is_left(folder, rows, cell):
    write(folder / "t.csv", [*rows, ["x", cell, "1", "none", "no"]])
    outcome = randomize(folder, "--drop", "id")
    assert outcome.exit_code == 4
    assert f"t.csv, record {RECORDS + 1}: column 'age'" in outcome.stderr
    assert SECRET not in outcome.output
    assert left(folder) == NOTHING


def test_files_that_are_there_stay(folder):
    (folder / "m.json").write_text("kept")
    outcome = randomize(folder, "--drop", "id")
    assert (outcome.exit_code, "already exists" in outcome.stderr) == (4, True)
    assert (folder / "m.json").read_text() == "kept"


def test_the_same_table_twice_has_other_noise(folder):
    for name in ("a.csv", "b.csv"):
        assert randomize(folder, "--drop", "id", "--force", output=name).exit_code == 0
    assert (folder / "a.csv").read_bytes() != (folder / "b.csv").read_bytes()


@pytest.mark.processes
def test_an_interrupt_leaves_nothing(tmp_path):
    ages = np.random.default_rng(0).uniform(0, 100, 4_000_000)
    pq.write_table(pa.table(dict.fromkeys("abc", ages)), tmp_path / "t.parquet")
    words = ["randomize", "t.parquet", "--level", "1", "--noise", "gaussian", "--domain-from-data"]
    process = subprocess.Popen(
        [sys.executable, "-m", "treewarden", *words, "-o", "o.csv", "--manifest", "m.json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(places.ROOT)},
    )
    while left(tmp_path) == ["t.parquet"]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate()
    assert process.returncode == INTERRUPTED, errors
    assert b"Traceback" not in output + errors
    assert left(tmp_path) == ["t.parquet"]

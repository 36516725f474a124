"""Names that strangers chose: they are shown, and do nothing."""

from __future__ import annotations

import csv
import io
import json
from xml.sax.saxutils import quoteattr

import pytest

import treewarden
from tests.kit import places
from tests.kit.run import on_one_line, run_command

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


# Names that a file does not hold: what is f0 there is a column of the table.

GROWN = places.DATA / "grown"
PAIRS = {"f0": "age", "f1": "income", "f2": "visits"}
MAPPED = ("--columns", "f0=age,f1=income", "--columns", "f2=visits")


@pytest.fixture
def unnamed(tmp_path):
    """Return a model whose file calls its columns f0, f1, f2, beside the same with their names."""
    said = json.loads((GROWN / "plain.json").read_text())
    (tmp_path / "named").mkdir()
    (tmp_path / "named" / "model.json").write_text(json.dumps(said))
    said["learner"]["feature_names"] = []
    (tmp_path / "model.json").write_text(json.dumps(said))
    return tmp_path / "model.json"


def audited(model, *words, table=GROWN / "two.csv", command="audit"):
    return run_command(command, model, "--data", table, "--sensitive", "y", "--quiet", *words)


def told_of(outcome):
    """Return what a report says of the people and the trees; neither the file nor the time."""
    document = json.loads(outcome.stdout)
    for key in ("provenance", "solver", "next_steps"):
        document.pop(key, None)
    return document


def test_a_model_without_names_is_audited_as_the_one_that_has_them(unnamed):
    named = audited(unnamed.parent / "named" / "model.json", "--format", "json")
    mapped = audited(unnamed, *MAPPED, "--format", "json")
    assert (named.exit_code, mapped.exit_code) == (1, 1)
    assert told_of(mapped) == told_of(named)
    asked = json.loads(mapped.stdout)["provenance"]["asked"]["options"]
    assert asked["columns"] == [f"{name}={column}" for name, column in PAIRS.items()]


def test_a_model_without_names_is_audited_in_python_and_its_report_repeats_it(unnamed, tmp_path):
    table = GROWN / "two.csv"
    result = treewarden.audit(unnamed, table, sensitive="y", columns=PAIRS)
    assert str(result.verdict) == "FAIL"
    report = tmp_path / "audit.json"
    outcome = audited(unnamed, *MAPPED, "--format", f"json={report}")
    assert outcome.exit_code == 1
    verified = run_command("verify", report, "--model", unnamed, "--data", table)
    assert verified.exit_code == 0, verified.output


def test_earlier_releases_have_the_same_names(unnamed):
    older = unnamed.with_name("older.json")
    older.write_text(unnamed.read_text())
    words = ("--data", GROWN / "two.csv", "--sensitive", "y", "--quiet", "--format", "json")
    outcome = run_command("audit", older, unnamed, *MAPPED, *words)
    assert outcome.exit_code in (1, 3), outcome.output


@pytest.mark.parametrize(
    ("pairs", "code", "problem"),
    [
        ("f9=age", 4, "model.json: no feature 'f9'"),
        ("f0=agee,f1=income,f2=visits", 4, "two.csv: no column 'agee' (did you mean 'age'?)"),
        ("f0=age,f1=age", 2, "--columns: the features 'f0' and 'f1' both are the column 'age'"),
        ("f0=f1", 4, "'f0' and 'f1' would both be the column 'f1'; map each"),
        ("f0=y", 2, "--columns: the feature 'f0' cannot be the column of --sensitive"),
        ("f0=visits,f1=income,f2=age", 4, "nobody of this table falls there"),
    ],
)
def test_columns_that_cannot_be_the_features_are_refused(unnamed, pairs, code, problem):
    outcome = audited(unnamed, "--columns", pairs)
    assert (outcome.exit_code, problem in on_one_line(outcome)) == (code, True), outcome.output


def test_a_column_that_the_table_lacks_is_named_whatever_an_adversary_knows(unnamed):
    outcome = audited(unnamed, "--columns", "f0=age,f1=income,f2=visit_days", "--qi", "age")
    assert outcome.exit_code == 4
    assert "no column 'visit_days'" in on_one_line(outcome)


def test_no_model_is_repaired_under_names_that_its_file_does_not_have(unnamed, tmp_path):
    fixed = tmp_path / "fixed.json"
    outcome = audited(unnamed, *MAPPED, "-o", fixed, command="repair")
    assert outcome.exit_code == 4
    assert "save the model with the table's names" in on_one_line(outcome)
    assert not fixed.exists()


def test_columns_of_no_table_are_what_its_features_are_called(unnamed):
    outcome = run_command("audit", unnamed, "--no-table", "--columns", "f0=age")
    assert outcome.exit_code in (1, 3)
    assert "age" in on_one_line(outcome)

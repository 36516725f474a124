"""A verdict names the tested columns that were assumed known; a column that was is judged where it is the secret."""

import json

import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

import treewarden as tw
from tests.kit.places import DATA
from tests.kit.run import run_command

MODEL = DATA / "forests" / "column-proved-by-a-leaf.pmml"
TABLE = MODEL.with_suffix(".csv")
LINE = (
    "assumed known to adversaries, so not judged: over70, region, hiv. "
    "For some people, the leaf sizes disclose over70, hiv"
)
GATE = """policy = "standard"

[[model]]
path = "{model}"
table = "{table}"
sensitive = "outcome"
{more}
"""


def audit(*words):
    return run_command("audit", MODEL, "--data", TABLE, "--sensitive", "outcome", "-q", *words)


def gate(folder, *words, more=""):
    config = folder / "treewarden.toml"
    for each in (MODEL, TABLE):
        (folder / each.name).write_bytes(each.read_bytes())
    config.write_text(GATE.format(model=MODEL.name, table=TABLE.name, more=more))
    return run_command("gate", "--config", config, *words)


def test_a_pass_names_what_it_did_not_judge_and_what_sizes_of_leaves_prove():
    done = audit()
    said = " ".join(done.stdout.split())
    assert done.exit_code == 0
    assert (
        "knows these columns of everyone: over70, sex, region and hiv. Not covered: disclosure "
        "of these columns" in said
    )
    assert "hiv (24 people)" in said
    assert "--secret over70" in said
    assert "; ." not in said
    assert ";." not in said
    full = " ".join(audit("--verbose").stdout.split())
    assert "Assumed known to adversaries, so not judged: over70, region, hiv." in full
    assert "leaf sizes disclose hiv for 24 people" in full
    assert "(hiv > 0.5 and over70 > 0.5)" in full
    assert "audit again with --secret" in full


def test_the_document_holds_each_column_with_how_many_people():
    said = json.loads(audit("--format", "json").stdout)["assumed_known"]
    assert said["columns"] == ["over70", "region", "hiv"]
    assert {each["column"]: each["people"] for each in said["proved"]} == {"over70": 68, "hiv": 24}
    assert said["incomplete"] == []


def test_reports_in_files_leave_it_in_the_terminal(tmp_path):
    done = audit("--format", f"html={tmp_path / 'report.html'}", "--out", tmp_path)
    assert "hiv (24 people)" in " ".join(done.stdout.split())


def test_the_file_alone_names_them_too():
    done = run_command("audit", MODEL, "--no-table", "-q", "--format", "json")
    said = json.loads(done.stdout)["assumed_known"]
    assert said["columns"] == ["over70", "region", "hiv"]
    assert said["incomplete"] == ["no table was given"]


@pytest.mark.parametrize("form", ["text", "markdown", "sarif", "github", "junit", "json", "html"])
def test_a_gate_says_it_in_every_form(tmp_path, form):
    done = gate(tmp_path, "--format", form)
    assert done.exit_code == 0, done.output
    assert LINE in " ".join(done.stdout.split()).replace("Assumed", "assumed")


def test_a_notebook_shows_it():
    result = tw.audit(MODEL, TABLE, sensitive="outcome")
    assert result.passed
    for said in (repr(result), result._repr_html_()):
        assert "ssumed known to adversaries, so not judged: over70, region, hiv" in said


def test_a_secret_that_a_leaf_proves_fails_on_the_command_line_in_a_gate_and_in_python(tmp_path):
    done = audit("--secret", "hiv", "--format", "json")
    said = json.loads(done.stdout)
    certain = next(each for each in said["findings"] if each["clause"] == "certain")
    assert (done.exit_code, certain["verdict"], certain["value"]["low"]) == (1, "FAIL", 24)
    assert said["assumed_known"]["columns"] == ["over70", "region"]
    assert gate(tmp_path, "--no-cache", more='secret = "hiv"').exit_code == 1
    assert tw.audit(MODEL, TABLE, sensitive="outcome", secret="hiv").verdict is tw.Verdict.FAIL


def test_a_secret_that_nothing_is_proved_of_is_not_decided_and_no_pass():
    done = audit("--secret", "sex", "--format", "json")
    said = json.loads(done.stdout)
    certain = next(each for each in said["findings"] if each["clause"] == "certain")
    assert certain["value"]["low"] == 0
    assert done.exit_code in (0, 3)
    region = audit("--secret", "region", "--format", "json")
    assert region.exit_code == 3
    assert "not computed" in region.stdout


@pytest.mark.parametrize(
    ("model", "verdict", "said"),
    [
        (RandomForestClassifier(4, bootstrap=True), "UNDETERMINED", "are not computed"),
        (RandomForestClassifier(6, bootstrap=False), "FAIL", ""),
        (GradientBoostingClassifier(n_estimators=3, max_depth=2), "FAIL", ""),
    ],
)
def test_a_fitted_forest_is_asked_or_names_what_is_missing(model, verdict, said):
    people = pd.read_csv(TABLE)
    model.set_params(min_samples_leaf=12, random_state=0)
    model.fit(people.drop(columns="outcome"), people["outcome"])
    result = tw.audit(model, people, sensitive="outcome", secret="hiv")
    assert result.verdict == verdict
    assert said in result.to_json()


def test_of_several_releases_all_tested_columns_are_named():
    words = ("audit", MODEL, MODEL, "--data", TABLE, "--sensitive", "outcome", "-q")
    said = json.loads(run_command(*words, "--format", "json").stdout)["assumed_known"]
    assert said["columns"] == ["over70", "region", "hiv"]

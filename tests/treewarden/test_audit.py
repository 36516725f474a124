"""``treewarden audit``: verdicts as exit codes, reports where they were asked for, and nothing half-written."""

from __future__ import annotations

import csv
import json
import os
import shlex
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.kit.run import run_command
from treewarden.audit.ipopt.backends import doors
from treewarden.terminal.exits import NO_AUDIT

NEEDS_A_SOLVER = ("--split", "none", "--marginal", "--no-worlds", "-q")
"""Knowledge under which no estimate has a closed form."""
TAKES_NO_FILES = Path("/proc/self")


def test_a_tree_that_meets_the_policy_exits_with_0(files):
    outcome = files.run("audit", "-q", "--policy", files.policy("lenient"))
    assert (outcome.exit_code, outcome.stdout[:5], outcome.stderr) == (0, "PASS:", "")


def test_a_tree_that_breaks_the_policy_exits_with_1(files):
    outcome = files.run("audit", "--policy", files.policy("harsh"))
    assert (outcome.exit_code, outcome.stdout[:5]) == (1, "FAIL:")


def test_what_cannot_be_told_without_the_sensitive_column_exits_with_3(files):
    text = files.table.read_text(encoding="utf-8").replace("age,sex,flu", "age,sex,ill")
    files.table.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", files.policy("truth"), sensitive=False)
    assert outcome.exit_code == 3
    said = " ".join(outcome.stdout.split())
    assert (
        "The table has no column 'flu', which the model predicts; give the table that has it"
        in said
    )


def test_the_leaves_are_judged_without_the_sensitive_column(files):
    assert files.run("audit", "--policy", files.policy("lenient"), sensitive=False).exit_code == 0


def test_the_standard_pack_is_the_default(files):
    outcome = files.run("audit", "--format", "json")
    assert json.loads(outcome.stdout)["policy"]["name"] == "standard"


@pytest.mark.parametrize("form", ["text", "json", "html"])
def test_one_report_goes_to_stdout_whatever_its_format(files, form):
    outcome = files.run("audit", "--policy", files.policy("lenient"), "--format", form)
    assert outcome.exit_code == 0
    assert "PASS" in outcome.stdout


def test_several_reports_go_into_a_folder(files):
    out = files.folder / "out"
    out.mkdir()
    outcome = files.run("audit", "--format", "json", "--format", "html", "--out", out)
    assert outcome.exit_code == 1
    assert sorted(os.listdir(out)) == ["audit.html", "audit.json"]
    assert json.loads((out / "audit.json").read_bytes())["verdict"] == "FAIL"


def test_several_reports_without_a_folder_are_wrong_usage(files):
    assert files.run("audit", "--format", "json", "--format", "html").exit_code == 2


def test_the_reading_of_the_model_is_in_the_report(files):
    said = json.loads(files.run("audit", "--format", "json").stdout)
    assert said["readings"]["k_anonymity"]["low"] == 8
    assert said["population"] | {"records": 40, "profiles": 4, "classes": 2} == said["population"]
    assert (said["model"]["file"], said["model"]["leaves"]) == ("flu.pmml", 3)
    assert said["solver"]["max_violation"] <= 1e-6


UNNAMED = """|--- age <= 40.00
|   |--- weights: [12.00, 8.00] class: no
|--- age >  40.00
|   |--- weights: [9.00, 11.00] class: yes
"""


@pytest.mark.parametrize(
    ("sensitive", "target", "words"), [(True, "flu", "“flu”"), (False, "", "the target")]
)
def test_the_sensitive_column_is_the_target_where_the_file_names_none(
    files, sensitive, target, words
):
    files.model.write_text(UNNAMED)
    asked = ["--policy", files.policy("harsh"), "--marginal", "--format", "json"]
    document = files.run("audit", *asked, sensitive=sensitive).stdout
    assert json.loads(document)["model"]["target"] == target
    assert (
        f"How common each value of {words} is overall."
        in json.loads(document)["knowledge"]["sentences"]
    )


def test_the_same_input_gives_the_same_document_but_for_time(files):
    def document():
        said = json.loads(files.run("audit", "--format", "json").stdout)
        del said["provenance"], said["solver"]["seconds"]
        return said

    assert document() == document()


def test_the_posterior_is_a_table_of_profiles_and_classes(files):
    target = files.folder / "posterior.csv"
    files.run("audit", "--posterior", target, "--split", "none")
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 2
    young = [row for row in rows if row["age"] == "30" and row["class"] == "yes"]
    assert float(young[0]["probability"]) == pytest.approx(8 / 20)
    assert (young[0]["sex"], young[0]["records"], young[0]["decided"]) == ("F", "10", "true")


def test_the_posterior_is_the_same_in_parquet(files):
    for name in ("posterior.csv", "posterior.parquet"):
        files.run("audit", "--posterior", files.folder / name)
    table = pyarrow.parquet.read_table(files.folder / "posterior.parquet")
    with (files.folder / "posterior.csv").open(encoding="utf-8", newline="") as file:
        from_csv = [float(row["probability"]) for row in csv.DictReader(file)]
    assert table["probability"].to_pylist() == from_csv


def test_withheld_levels_of_knowledge_are_taken_from_the_options(files):
    asked = ["--leaf", "labels", "--split", "none", "--marginal", "--accuracy", "--format", "json"]
    said = json.loads(files.run("audit", *asked).stdout)["knowledge"]
    assert (said["leaf"], said["split"]) == ("labels", "none")
    assert said["marginal"] is True
    assert said["accuracy"] is True


def test_a_knowledge_file_may_state_facts(files):
    knowledge = files.folder / "known.toml"
    knowledge.write_text('[[fact]]\nsays = "P(yes | sex = F, age < 40) = 0.3"\n', encoding="utf-8")
    said = json.loads(files.run("audit", "--knowledge", knowledge, "--format", "json").stdout)
    assert said["knowledge"]["facts"]


def test_quasi_identifiers_come_as_a_list_or_one_by_one(files):
    as_list = files.run("audit", "--qi", "age,sex", "--format", "json").stdout
    one_by_one = files.run("audit", "--qi", "age", "--qi", "sex", "--format", "json").stdout
    names = [json.loads(said)["population"]["quasi_identifiers"] for said in (as_list, one_by_one)]
    assert names == [["age", "sex"], ["age", "sex"]]


@pytest.mark.parametrize(
    ("asked", "door"), [("auto", "casadi"), *((name, name) for name in doors())]
)
def test_the_solver_that_is_chosen_is_the_one_that_solves_or_is_said_to_be_missing(
    files, asked, door
):
    outcome = files.run("audit", "--solver", asked, *NEEDS_A_SOLVER, "--format", "json")
    if doors()[door].probe().works:
        assert json.loads(outcome.stdout)["solver"]["door"] == door
    else:
        assert outcome.exit_code == NO_AUDIT
        assert door in outcome.stderr


def test_the_second_door_gives_the_same_verdict(files):
    if not doors()["cyipopt"].probe().works:
        pytest.skip("cyipopt is not installed: make ipopt")
    codes = [files.run("audit", "--solver", d, *NEEDS_A_SOLVER).exit_code for d in doors()]
    assert codes == [1, 1]


def test_a_knowledge_file_and_levels_at_once_are_wrong_usage(files):
    knowledge = files.folder / "known.toml"
    knowledge.write_text('leaf = "labels"\n', encoding="utf-8")
    outcome = files.run("audit", "--knowledge", knowledge, "--marginal")
    assert outcome.exit_code == 2
    assert "--marginal cannot be combined with --knowledge; leave it out" in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "nowhere"], "no such folder"),
        (["--out", "flu.pmml"], "not a folder"),
        (["--posterior", "nowhere/p.csv"], "no such folder"),
        (["--posterior", "p.xlsx"], ".csv or .parquet"),
        (
            ["--policy", "nope"],
            "unknown policy; built-in: accurate, baseline, differential-privacy, health, official-statistics, "
            "open-data, research-output, standard, strict",
        ),
        (["--qi", "age,sex,height"], "'flu'; correct --qi"),
        (["--weights", "height"], "correct --weights"),
        (["--sampling-weights", "height"], "correct --sampling-weights"),
        (["--knowledge", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (
            ["--sensitive", "cough"],
            "no column 'cough', and flu.pmml predicts 'flu'; use --sensitive flu",
        ),
        (["--sensitive", "sex"], "use --sensitive flu, or add --secret sex"),
    ],
)
def test_what_cannot_be_audited_is_said_and_nothing_is_written(
    files, monkeypatch, arguments, message
):
    monkeypatch.chdir(files.folder)
    before = sorted(os.listdir())
    outcome = files.run("audit", *arguments)
    assert outcome.exit_code == 4
    assert outcome.stderr.startswith("no audit was performed: ")
    assert message in outcome.stderr
    assert (outcome.stdout, sorted(os.listdir())) == ("", before)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("nowhere.csv", "nowhere.csv: there is no such file"),
        (
            "flu.pmml",
            "flu.pmml: not a table, but a model or another document; did you swap MODEL and --data?",
        ),
    ],
)
def test_a_table_that_cannot_be_read_is_said(files, monkeypatch, table, message):
    monkeypatch.chdir(files.folder)
    outcome = run_command("audit", "flu.pmml", "--data", table, "--sensitive", "flu")
    assert outcome.exit_code == 4
    assert message in outcome.stderr


@pytest.mark.skipif(not TAKES_NO_FILES.is_dir(), reason="no /proc on this system")
def test_a_folder_that_takes_no_files_is_refused_before_any_work(files):
    files.model.write_text("not a model", encoding="utf-8")
    outcome = files.run("audit", "--out", TAKES_NO_FILES)
    assert outcome.exit_code == 4
    assert "cannot be written into" in outcome.stderr


@pytest.mark.parametrize("content", ["", "not XML", "<html/>", "<PMML version='4.4'/>", '{"a": 1}'])
def test_a_file_without_a_tree_is_no_audit(files, content):
    files.model.write_text(content, encoding="utf-8")
    outcome = files.run("audit")
    assert outcome.exit_code == 4
    assert outcome.stderr.startswith("no audit was performed: flu.pmml")


def test_a_table_of_other_data_is_no_audit(files):
    lines = files.table.read_text(encoding="utf-8").splitlines()
    files.table.write_text("\n".join(lines[:-3]) + "\n", encoding="utf-8")
    outcome = files.run("audit")
    assert outcome.exit_code == 4
    assert "node '4'" in outcome.stderr


@pytest.mark.parametrize(
    "arguments", [["audit"], ["audit", "x.pmml"], ["nope"], ["audit", "--nope"]]
)
def test_a_command_line_that_is_not_understood_exits_with_2(arguments):
    assert run_command(*arguments).exit_code == 2


def test_quiet_says_nothing_on_stderr(files):
    assert files.run("audit", "-q").stderr == ""


def test_numbers_that_the_table_contradicts_are_never_a_pass_whatever_the_adversary_uses(files):
    swapped = files.table.read_text(encoding="utf-8").replace(",yes", ",?").replace(",no", ",yes")
    files.table.write_text(swapped.replace(",?", ",no"), encoding="utf-8")
    for level in ("as-published", "labels", "rates"):
        outcome = files.run("audit", "--policy", files.policy("lenient"), "--leaf", level)
        assert outcome.exit_code == 3
        assert "the file contradicts this table" in outcome.stdout.lower()


def test_a_pass_that_leaves_published_numbers_out_does_not_say_publish(files):
    lenient = ("--policy", files.policy("lenient"))
    assert "Publish exactly this file" in files.run("audit", *lenient).stdout
    outcome = files.run("audit", *lenient, "--leaf", "labels")
    assert "Do not publish flu.pmml yet: it contains class numbers" in outcome.stdout
    assert "Publish exactly this file" not in outcome.stdout


def test_a_policy_of_warnings_alone_demands_nothing_and_clears_nothing(files):
    pack = Path(files.policy("lenient"))
    pack.write_text(pack.read_text(encoding="utf-8") + 'severity = "warning"\n', encoding="utf-8")
    outcome = files.run("audit", "--policy", pack)
    assert outcome.exit_code == 3
    assert "has no required check for this model" in outcome.stdout


def test_a_table_that_does_not_fit_a_tree_with_a_gap_is_told_of_the_gap(files):
    text = files.model.read_text(encoding="utf-8").replace(
        'lessThan" value="40', 'lessThan" value="32'
    )
    files.model.write_text(text, encoding="utf-8")
    outcome = files.run("audit")
    assert outcome.exit_code == 4
    assert "\nnote: flu.pmml:15: node '0': no child takes a record with age = " in outcome.stderr
    quiet = files.run("audit", "-q")
    assert quiet.stderr == outcome.stderr.partition("\nnote: ")[0] + "\n"


def test_an_untested_feature_may_be_left_out_of_the_quasi_identifiers(files):
    text = files.model.read_text(encoding="utf-8")
    for old, new in (
        (
            "  </DataDictionary>",
            '<DataField name="zip" optype="continuous" dataType="double"/></DataDictionary>',
        ),
        ('<MiningField name="sex"/>', '<MiningField name="sex"/><MiningField name="zip"/>'),
    ):
        text = text.replace(old, new)
    files.model.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--qi", "age,sex", "--split", "gini", "--format", "json")
    assert json.loads(outcome.stdout)["population"]["quasi_identifiers"] == ["age", "sex"]


@pytest.mark.parametrize("option", ["--policy", "--waivers", "--baseline"])
def test_links_in_a_circle_are_no_file_to_read(files, option):
    one, other = files.folder / "one", files.folder / "other"
    one.symlink_to(other)
    other.symlink_to(one)
    outcome = files.run("audit", option, one)
    assert outcome.exit_code == NO_AUDIT
    assert "its links lead in a circle" in " ".join(outcome.stderr.split())


def test_the_command_that_is_advised_repairs_when_it_is_pasted(files, monkeypatch):
    folder = files.model.parent
    monkeypatch.chdir(folder)
    table = folder / "the people's table.csv"
    table.write_bytes((folder / "people.csv").read_bytes())
    words = ["audit", files.model.name, "--data", table.name, "--policy", files.policy("harsh")]
    words += ["--split", "gini", "--sensitive", "flu"]
    audited = run_command(*words, "--qi", "sex", "--qi", "age")
    (command,) = [
        line.strip() for line in audited.stdout.splitlines() if "treewarden repair" in line
    ]
    program, *pasted = shlex.split(command)
    assert program == "treewarden"
    assert pasted[-2:] == ["-o", "flu-repaired.pmml"]
    repaired = run_command(*pasted)
    assert repaired.exit_code == 0, repaired.output
    assert (folder / "flu-repaired.pmml").is_file()
    again = run_command(*words)
    assert "-o flu-repaired-2.pmml" in again.stdout

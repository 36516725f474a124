"""Facts of a knowledge file that the table contradicts: not among what is known, said everywhere, never a pass."""

from __future__ import annotations

import json

import pytest
from sklearn.tree import DecisionTreeClassifier

import treewarden
from tests.kit.places import DATA
from tests.kit.run import audit_files, run_command

FOLDER = DATA / "facts"
FALSE = "P(yes | sex = F) = 0.9"
TRUE = "P(yes | sex = F) >= 0.5"
POLICY = """name = "sure"
version = "1"
title = "sure"

[[clause]]
id = "sure"
measure = "disclosure"
rule = "at_most"
limit = {limit}
"""


@pytest.fixture
def folder(tmp_path):
    for name in ("flu.pmml", "people.csv"):
        (tmp_path / name).write_bytes((FOLDER / name).read_bytes())
    (tmp_path / "sure.toml").write_text(POLICY.format(limit=0.8))
    write(tmp_path, FALSE)
    return tmp_path


def write(folder, *facts, before='leaf = "labels"\nsplit = "none"\n'):
    said = "".join(f'\n[[fact]]\nsays = "{each}"\n' for each in facts)
    (folder / "known.toml").write_text(before + said)


def audited(folder, *words):
    more = ("--knowledge", folder / "known.toml", "--quiet", *words)
    files, tables = [folder / "flu.pmml"], [folder / "people.csv"]
    return audit_files(files, tables, "flu", folder / "sure.toml", *more)


def test_nothing_passes_where_a_fact_is_not_true(folder):
    assert audited(folder).exit_code == 3
    write(folder, TRUE)
    assert audited(folder).exit_code == 0
    write(folder)
    assert audited(folder).exit_code == 0


def test_what_fails_without_the_fact_fails_still(folder):
    (folder / "sure.toml").write_text(POLICY.format(limit=0.2))
    assert audited(folder).exit_code == 1


def test_text_lists_it_apart_from_what_is_known(folder):
    write(folder, FALSE, TRUE)
    said = audited(folder, "--verbose").stdout
    known, _, rest = said.partition("Knowledge assumed")[2].partition("Not assumed")
    assert TRUE in known
    assert FALSE not in known
    assert FALSE in rest.partition("What an adversary can infer")[0]
    flat = " ".join(said.split())
    assert "UNDETERMINED facts-agree: A fact of the knowledge file contradicts this table" in flat
    assert "The table contradicts 1 statement of the assumed knowledge" in flat


def test_json_counts_it_as_dropped_and_not_as_known(folder):
    write(folder, FALSE, TRUE)
    document = json.loads(audited(folder, "--format", "json").stdout)
    assert document["verdict"] == "UNDETERMINED"
    assert document["knowledge"]["facts"] == [TRUE]
    assert FALSE not in " ".join(document["knowledge"]["sentences"])
    assert [each["where"] for each in document["dropped"]] == [FALSE]
    assert FALSE in document["meaning"]


@pytest.mark.parametrize(("form", "name"), [("html", "facts-agree"), ("compliance", "Facts agree")])
def test_pages_say_it_too(folder, form, name):
    page = audited(folder, "--format", form).stdout
    assert name in page
    known = page.partition("Knowledge assumed</h2>")[2].partition("</ul>")[0]
    assert FALSE not in known


@pytest.mark.parametrize("form", ["sarif", "markdown", "junit", "csv", "gitlab"])
def test_forms_of_findings_have_one_about_it_and_quote_no_fact(folder, form):
    said = audited(folder, "--format", form).stdout
    assert "facts-agree" in said
    assert "0.9" not in said


def test_a_redacted_report_has_the_finding_and_no_fact(folder):
    said = audited(folder, "--redacted", "--format", "json").stdout
    assert json.loads(said)["verdict"] == "UNDETERMINED"
    assert FALSE not in said


def test_a_notebook_says_the_same(folder):
    found = treewarden.audit(
        folder / "flu.pmml",
        folder / "people.csv",
        sensitive="flu",
        policy=folder / "sure.toml",
        knowledge={"leaf": "labels", "split": "none", "fact": [{"says": FALSE}]},
    )
    assert found.verdict is treewarden.Verdict.UNDETERMINED
    assert [each["clause"] for each in found.to_dict()["findings"]] == ["facts-agree", "sure"]


def test_a_gate_says_the_same(folder):
    (folder / "treewarden.toml").write_text(
        '[[model]]\npath = "flu.pmml"\ntable = "people.csv"\nsensitive = "flu"\npolicy = "sure.toml"\n'
        'knowledge = "known.toml"\n'
    )
    asked = ["gate", "--config", str(folder / "treewarden.toml"), "--quiet"]
    outcome = run_command(*asked)
    assert outcome.exit_code == 3
    assert "facts-agree" in outcome.stdout


def test_a_baseline_cannot_accept_it(folder):
    path = str(folder / "known.json")
    assert audited(folder, "--write-baseline", path).exit_code == 3
    assert audited(folder, "--baseline", path).exit_code == 3


def test_splits_that_another_criterion_chose_are_not_said_to_be_known(folder):
    write(folder, before='split = "entropy"\n')
    document = json.loads(audited(folder, "--format", "json").stdout)
    assert {each["constraint"] for each in document["dropped"]} == {"split_choice"}
    assert "except where the table contradicts it" in " ".join(document["knowledge"]["sentences"])
    assert "The table contradicts 2 statements of the assumed knowledge" in document["meaning"]
    assert document["solver"]["dropped"] == len(document["dropped"])


def test_facts_need_a_table(folder):
    asked = ["audit", str(folder / "flu.pmml"), "--no-table"]
    asked += ["--knowledge", str(folder / "known.toml")]
    outcome = run_command(*asked)
    assert outcome.exit_code == 4
    assert "facts can be judged only with the table; add --data TABLE" in " ".join(
        outcome.output.split()
    )


def test_slips_are_found_before_anything_is_worked_out(folder):
    write(folder, "P(yes | height = 3) = 0.5")
    outcome = audited(folder)
    assert outcome.exit_code == 4
    said = " ".join(outcome.output.split())
    assert (
        "known.toml: [[fact]] number 1: fact 'P(yes | height = 3) = 0.5': 'height' is not a quasi-identifier"
        in said
    )


@pytest.mark.parametrize(("least", "code"), [(8, 0), (9, 4)])
def test_leaves_that_were_too_small_to_be_allowed_are_an_error(folder, least, code):
    write(folder, before=f'split = "gini"\nmin_leaf = {least}\n')
    outcome = audited(folder)
    assert outcome.exit_code == code
    says = "min_leaf = 9, but flu.pmml:33: node '4' has 8 records; lower --min-leaf to what the file allows"
    assert (says in " ".join(outcome.output.split())) is (code == 4)


def test_a_learner_that_the_file_names_otherwise_is_an_error():
    data = {"age": [1.0, 2.0, 3.0, 4.0] * 5, "flu": ["no", "no", "yes", "yes"] * 5}
    ages = [[age] for age in data["age"]]
    model = DecisionTreeClassifier().fit(ages, data["flu"])
    given = {"data": data, "sensitive": "flu", "knowledge": {"learner": "rpart"}}
    with pytest.raises(
        treewarden.TreewardenError, match="learner = rpart, but .*; remove learner="
    ):
        treewarden.audit(model, **given)


def test_facts_of_a_forest_are_held_against_the_table_too(folder):
    tree = (folder / "flu.pmml").read_text()
    start, end = tree.index("<TreeModel"), tree.index("</TreeModel>") + len("</TreeModel>")
    one = tree[start:end]
    schema = one[one.index("<MiningSchema") : one.index("</MiningSchema>") + len("</MiningSchema>")]
    forest = (
        f'<MiningModel functionName="classification">{schema}<Segmentation multipleModelMethod="majorityVote">'
        + f"<Segment><True/>{one}</Segment>" * 2
        + "</Segmentation></MiningModel>"
    )
    (folder / "flu.pmml").write_text(tree[:start] + forest + tree[end:])
    write(folder, FALSE, TRUE, before="")
    document = json.loads(audited(folder, "--format", "json").stdout)
    assert document["verdict"] == "UNDETERMINED"
    assert [each["where"] for each in document["dropped"]] == [FALSE]
    assert "facts-agree" in [each["clause"] for each in document["findings"]]
    assert FALSE not in " ".join(document["knowledge"]["sentences"])


def test_facts_are_held_against_the_table_where_another_column_is_the_secret(folder):
    asked = ("--knows", "age", "--format", "json")
    write(folder, FALSE, before='secret = "sex"\n')
    document = json.loads(audited(folder, *asked).stdout)
    assert document["verdict"] != "PASS"
    assert [each["where"] for each in document["dropped"]] == [FALSE]

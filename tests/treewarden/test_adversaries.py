"""Adversaries who know some columns only, from the command line, in reports and files."""

import csv
import json
from importlib import import_module

import pytest

from tests.kit.run import run_command
from treewarden.audit.partial.tree_context import leaf_table
from treewarden.reports.document.packing import unpack


def test_each_adversary_has_readings_of_his_own_by_hand(files, told):
    _, said = files.report("--knowledge", told)
    by = {each["name"]: each for each in said["adversaries"]}
    assert list(by) == ["knows all", "neighbour", "register"]
    assert by["neighbour"]["knows"] == ["sex"]
    assert not by["neighbour"]["target_known"]
    assert {each["secret"] for each in by.values()} == {"flu"}
    # All 12 and all 8 below the right side are of one sex, so ten of each are on the left, where 12 of 20 have none.
    sure = by["neighbour"]["readings"]["confidence"]
    assert (sure["low"], sure["high"]) == pytest.approx((12 / 18, 12 / 18))
    assert sure["unit"] == "share"
    assert by["register"]["knows"] == ["age", "sex"]
    assert by["register"]["readings"]["confidence"]["high"] == pytest.approx(0.75)
    assert by["neighbour"]["readings"]["certain_disclosure"]["high"] == 0
    assert said["readings"]["confidence"]["high"] == pytest.approx(0.75)
    assert any("Sweeney" in each for each in said["warnings"])


def test_leaves_are_looked_at_once_for_all_adversaries(files, told, monkeypatch):
    asked = []

    def looked_at(*about):
        asked.append(about)
        return leaf_table(*about)

    monkeypatch.setattr(
        import_module("treewarden.audit.partial.tree_context"), "leaf_table", looked_at
    )
    files.report("--knowledge", told)
    assert len(asked) == 1


def test_a_posterior_has_the_rows_of_each_and_says_whose_they_are(files, told):
    path = files.folder / "posterior.csv"
    files.run("audit", "--knowledge", told, "--posterior", path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[0] == "adversary"
    assert {row["adversary"] for row in rows} == {"knows all", "neighbour", "register"}
    own = [row for row in rows if row["adversary"] == "neighbour"]
    assert {(row["sex"], row["age"]) for row in own} == {("F", ""), ("M", "")}
    assert sum(float(row["probability"]) for row in own) == pytest.approx(2)


def test_a_policy_passes_only_where_each_adversary_passes(files, told):
    pack = files.folder / "sure.toml"
    pack.write_text(
        'name = "sure"\nversion = "1"\ntitle = "sure"\n[[clause]]\nid = "sure"\n'
        'measure = "confidence"\nrule = "at_most"\nlimit = 0.7\n'
    )
    done = files.run("audit", "--policy", pack, "--knowledge", told, "--format", "json")
    said = unpack(json.loads(done.stdout))
    assert done.exit_code == 1
    assert {each["of"] for each in said["findings"]} == {"", "the adversary “register”"}
    verdicts = {each["name"]: each["verdict"] for each in said["adversaries"]}
    assert verdicts == {"knows all": "FAIL", "neighbour": "PASS", "register": "FAIL"}
    place = next(each for each in said["findings"] if each["of"])["where"][0]
    assert (place["kind"], place["path"], place["node"]) == ("profile", "", "")
    assert place["profile"].startswith("age = ")


def test_reports_show_the_adversaries_and_what_each_column_is_worth(files, told):
    _, said = files.report("--knowledge", told)
    register = said["adversaries"][2]
    assert [each["column"] for each in register["lacking"]] == ["age", "sex"]
    without_age = register["lacking"][0]["confidence"]
    assert without_age["high"] == pytest.approx(12 / 18)
    page = files.run("audit", "--knowledge", told, "--format", "html").stdout
    assert 'href="#adversaries"' not in files.run("audit", "--format", "html").stdout
    assert page.count("Adversaries with partial knowledge") == 1
    assert '<a href="#adversaries">Adversaries</a>' in page
    assert "“register” without one of the columns" in page
    assert "What “neighbour” cannot know" in page
    text = files.run("audit", "--knowledge", told, "--verbose").stdout
    assert "Adversaries with partial knowledge" in text
    assert "who knows more may not" in " ".join(text.split())


def test_a_redacted_report_names_adversaries_and_no_readings(files, told):
    done = files.run("audit", "--knowledge", told, "--format", "json", "--redacted")
    said = json.loads(done.stdout)
    assert [each["readings"] for each in said["adversaries"]] == [{}, {}, {}]
    assert [each["worst"] + each["shown"] for each in said["adversaries"]] == [[], [], []]


def test_a_table_that_fits_shows_what_somebody_cannot_know(files):
    _, said = files.report("--knows", "sex")
    shown = said["adversaries"][1]["shown"]
    assert [each["name"] for each in shown] == ["sex = F", "sex = M"]
    assert all("in a table that fits, no more than" in each["text"] for each in shown)


def test_a_feature_is_secret_of_who_knows_the_rest_and_the_outcome(files):
    _, said = files.report("--secret", "sex")
    (alone,) = said["adversaries"]
    assert (alone["name"], alone["secret"]) == ("who knows all else", "sex")
    assert (alone["knows"], alone["target_known"]) == (["age"], True)
    # Of 50 and 60 the leaf says the sex only by F or M, and each age has one sex: the class is no help.
    sure = alone["readings"]["confidence"]
    assert sure["low"] > 0.5
    assert said["readings"]["confidence"] == sure
    assert said["readings"]["k_anonymity"]["low"] == 8
    assert said["model"]["target"] == "flu"


def test_clauses_about_the_target_are_not_judged_where_the_secret_is_a_feature(files):
    done = files.run(
        "audit", "--policy", files.policy("truth"), "--secret", "sex", "--format", "json"
    )
    said = json.loads(done.stdout)
    assert done.exit_code == 3  # age says what sex is
    assert {each["clause"] for each in said["findings"]} == {"the-one"}
    pack = files.folder / "label.toml"
    pack.write_text(
        'name = "l"\nversion = "1"\ntitle = "l"\n[[clause]]\nid = "k"\nmeasure = "k_anonymity"\n'
        'rule = "at_least"\nlimit = 5\n[[clause]]\nid = "label"\nmeasure = "label_disclosure"\n'
        'rule = "at_most"\nlimit = 0.9\n[[clause]]\nid = "sure"\nmeasure = "confidence"\n'
        'rule = "at_most"\nlimit = 0.99\n'
    )
    done = files.run("audit", "--policy", pack, "--secret", "sex", "--format", "json")
    said = json.loads(done.stdout)
    assert done.exit_code == 3
    assert said["not_judged"][0]["text"].startswith("applies to what the model predicts only")


def test_bins_part_the_numbers_of_a_secret(files):
    _, said = files.report("--secret", "age", "--bins", "40")
    path = files.folder / "posterior.csv"
    files.run("audit", "--secret", "age", "--bins", "40", "--posterior", path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["class"] for row in rows} == {"below 40", "40 or more"}
    assert {row["adversary"] for row in rows} == {"who knows all else"}
    assert all(row["flu"] in ("no", "yes") for row in rows)
    assert said["adversaries"][0]["secret"] == "age"


def test_a_repair_is_judged_under_all_adversaries(files, told):
    pack = files.folder / "sure.toml"
    pack.write_text(
        'name = "sure"\nversion = "1"\ntitle = "sure"\n[[clause]]\nid = "sure"\n'
        'measure = "confidence"\nrule = "at_most"\nlimit = 0.66\n[[clause]]\nid = "label"\n'
        'measure = "label_disclosure"\nrule = "at_most"\nlimit = 0.66\n'
    )
    words = ("--policy", pack, "--knowledge", told, "--format", "json")
    done = files.run("repair", *words, "-o", files.folder / "fixed.pmml")
    said = json.loads(done.stdout)
    assert done.exit_code == 0
    assert [each["verdict"] for each in said["adversaries"]] == ["PASS"] * 3
    sure = [each["readings"]["confidence"]["high"] for each in said["adversaries"]]
    assert max(sure) <= 0.66


def test_several_releases_are_judged_for_an_adversary_with_some_columns_and_estimated_for_none(
    files,
):
    files.run("audit", "--knows", "sex")
    other = files.folder / "flu2.pmml"
    other.write_text(files.model.read_text())
    done = files.run("audit", other, "--knows", "sex", "--format", "json")
    said = json.loads(done.stdout)
    known = next(each for each in said["adversaries"] if each["name"] == "who knows sex")
    assert "probabilities from several releases" in known["readings"]["confidence"]["reason"]
    assert known["readings"]["certain_disclosure"]["high"] < 9
    assert known["verdict"] == "UNDETERMINED"
    done = files.run("audit", other, "--secret", "sex", "--format", "json")
    (alone,) = json.loads(done.stdout)["adversaries"]
    assert "not computed" in alone["readings"]["confidence"]["reason"]
    assert alone["readings"]["certain_disclosure"]["low"] == 0


def test_the_same_from_a_notebook(files):
    import treewarden as tw

    asked = {"sensitive": "flu", "policy": files.policy("lenient"), "jobs": 1}
    result = tw.audit(files.model, files.table, knows=["sex"], **asked)
    _, said = files.report("--knows", "sex", "--jobs", "1")
    assert result.to_dict()["adversaries"] == said["adversaries"]
    frame = result.posterior()
    assert set(frame["adversary"]) == {"knows all", "who knows sex"}
    result = tw.audit(files.model, files.table, secret="age", bins=[40], **asked)
    assert result.to_dict()["adversaries"][0]["secret"] == "age"


@pytest.mark.parametrize(
    "words", [("--knowledge", "known.toml"), ("--secret", "age", "--bins", "40")]
)
def test_a_report_of_adversaries_is_verified_by_doing_it_again(files, told, words):
    words = [told if word == "known.toml" else word for word in words]
    done = files.run("audit", "--policy", "strict", *words, "--format", "json")
    path = files.folder / "report.json"
    path.write_text(done.stdout)
    asked = ["verify", path, "--model", files.model, "--data", files.table]
    again = run_command(*asked)
    assert again.exit_code == 0, again.output
    assert "items agree" in again.stdout


def test_what_a_tested_column_says_of_the_secret_counts_as_if_the_secret_were_tested(files):
    rows = files.table.read_text().splitlines()
    named = [f"{rows[0]},woman", *(f"{row},{'yes' if ',F,' in row else 'no'}" for row in rows[1:])]
    files.table.write_text("\n".join([*named, ""]))
    done = files.run("audit", "--secret", "woman", "--knows", "age", "--format", "json")
    said = json.loads(done.stdout)
    assert said["adversaries"][0]["verdict"] == "UNDETERMINED"
    assert any("determine woman, for 40 people" in each for each in said["warnings"])
    by = {each["name"]: each["readings"] for each in said["adversaries"]}
    certain = by["who knows all else"]["certain_disclosure"]
    assert (certain["low"], certain["high"]) == (0, 40)
    done = files.run("audit", "--secret", "sex", "--knows", "age", "--format", "json")
    tested = {each["name"]: each["readings"] for each in json.loads(done.stdout)["adversaries"]}
    name = "who knows age"
    assert by[name]["confidence"]["high"] == tested[name]["confidence"]["high"]


def with_code(files, code):
    """Write the table with a column more, what a flu says or its absence in each row."""
    rows = files.table.read_text().splitlines()
    at = rows[0].split(",").index("flu")
    flu = [row.split(",")[at] for row in rows[1:]]
    more = [
        f"{row},{code(each, n)}" for n, (row, each) in enumerate(zip(rows[1:], flu, strict=True))
    ]
    files.table.write_text("\n".join([f"{rows[0]},code", *more, ""]))


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(lambda flu, _: {"yes": "J10", "no": "Z00"}[flu], id="all"),
        pytest.param(lambda flu, n: "J10" if flu == "yes" and n % 39 else "", id="some"),
        pytest.param(lambda flu, n: n + (1000 if flu == "yes" else 0), id="numbers"),
    ],
)
def test_who_knows_a_code_of_what_the_tree_predicts_never_passes(files, code):
    with_code(files, code)
    words = ("audit", "--policy", files.policy("truth"), "--format", "json", "--knows", "code")
    done = files.run(*words)
    said = json.loads(done.stdout)
    assert done.exit_code == 3, done.output
    assert said["adversaries"][-1]["verdict"] == "UNDETERMINED"
    assert any("flu, for" in each for each in said["warnings"])
    words = (*words, "--secret", "sex")
    known, told = (
        json.loads(files.run(*words, *more).stdout) for more in ((), ("--target-known",))
    )
    found, wanted = (each["adversaries"][-1]["readings"]["confidence"] for each in (known, told))
    assert any("flu, for" in each for each in known["warnings"])
    assert found["high"] == pytest.approx(wanted["high"], rel=0.1)


def test_a_policy_that_asks_nothing_of_the_secret_passes_nothing(files):
    done = files.run("audit", "--policy", files.policy("lenient"), "--secret", "sex")
    assert done.exit_code == 3
    assert "nothing-judged" in done.stdout


def test_a_policy_that_asks_nothing_of_what_somebody_can_infer_passes_no_declared_adversary(files):
    asked = ("audit", "--policy", files.policy("lenient"))
    assert files.run(*asked).exit_code == 0
    done = files.run(*asked, "--knows", "sex")
    assert done.exit_code == 3
    assert "limits what an adversary like “who knows sex” can infer" in " ".join(
        done.stdout.split()
    )
    page = files.run(*asked, "--knows", "sex", "--format", "html").stdout
    assert "whether the policy covers what is to be judged" in page
    assert "can be believed" not in page


def test_a_repair_is_advised_under_the_same_adversaries(files, told):
    done = files.run("audit", "--adversary", told, "--policy", files.policy("harsh"))
    assert done.exit_code == 1
    assert f"--adversary {told}" in done.output


OPEN_PACK = """name = "o"
version = "1"
title = "o"
[[clause]]
id = "certain"
measure = "certain_disclosure"
rule = "at_most"
limit = 0
"""


@pytest.mark.parametrize("command", ["audit", "repair"])
def test_no_budget_is_advised_where_time_was_not_lacking(files, command):
    pack = files.folder / "certain.toml"
    pack.write_text(OPEN_PACK)
    words = ["--policy", pack, "--secret", "sex", "--knows", "age"]
    words += ["-o", files.folder / "fixed.pmml"] if command == "repair" else []
    done = files.run(command, *words, "--verbose")
    assert done.exit_code == 3, done.output
    assert "not decided" in done.output
    assert "--worlds-budget" not in done.output


def test_a_budget_is_advised_of_an_adversary_where_the_time_was_over(files):
    pack = files.folder / "bounds.toml"
    asked = OPEN_PACK.replace("certain_disclosure", "world_bounds").replace("= 0\n", "= 0.5\n")
    pack.write_text(asked)
    words = ("--policy", pack, "--knows", "sex", "--worlds-budget", "1e-9", "--split", "none")
    said = json.loads(files.run("audit", *words, "--format", "json").stdout)
    (found,) = (each for each in said["findings"] if each["of"])
    assert found["verdict"] == "UNDETERMINED"
    assert "a larger --worlds-budget may decide it" in found["message"]


def test_a_summary_says_of_other_adversaries_that_they_break_a_clause_too(files, told):
    pack = files.folder / "sure.toml"
    pack.write_text(OPEN_PACK.replace("certain_disclosure", "confidence"))
    page = files.run("audit", "--policy", pack, "--knowledge", told, "--format", "html").stdout
    assert "The verdict is the same for other adversaries." in page
    assert "other releases" not in page


def test_the_help_says_of_a_secret_what_the_audit_says_of_it(files):
    help_text = " ".join(run_command("audit", "--help").stdout.split())
    assert "about this column instead of the one that the model predicts" in help_text
    _, said = files.report("--secret", "sex")
    assert any("protects “sex” only" in warning for warning in said["warnings"]), said["warnings"]

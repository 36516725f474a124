"""The command line on models that predict a number: what is proved of people, in every form."""

import csv
import json

import pytest

from tests.kit.grown_models import FOLDER
from tests.kit.run import run_command

TABLE = FOLDER / "numbers_whole.csv"


def audited(name, *more):
    given = ["audit", FOLDER / f"numbers_{name}", "--data", TABLE, "--sensitive", "y", *more]
    return run_command(*given)


def document(name, *more):
    return json.loads(audited(name, "--format", "json", *more).stdout)


def test_a_model_that_determines_everybody_fails_and_says_who_they_are():
    made = audited("many.json", "--policy", "standard", "--format", "json")
    said = json.loads(made.stdout)
    values = said["values"]
    assert made.exit_code == 1
    assert (values["exact"], values["narrowest"], values["median_width"]) == (60, 0, 0)
    assert values["step"] == 1
    assert len(values["known"]) == 20
    assert all(each["exact"] and each["low"] == each["high"] for each in values["known"])
    assert "determine the number of 60 of 60 people exactly" in values["summary"]
    assert said["ensemble"] is None
    assert said["worlds"] is None
    facts = {row["name"]: row["text"] for row in values["facts"]}
    assert facts["Learning rate (eta)"] == "0.3: follows from the file's numbers"


def test_a_tree_says_the_widths_of_its_intervals():
    values = document("tree.skops")["values"]
    low, high = values["range"]
    assert values["exact"] == 0
    assert 0 < values["narrowest"] <= values["median_width"] < high - low
    assert "The narrowest interval is" in values["summary"]


def test_what_could_not_be_told_has_no_figures_and_a_reason():
    values = document("dart.json")["values"]
    assert (values["exact"], values["narrowest"], values["range"]) == (None, None, None)
    assert "raining dropped trees (dart)" in values["summary"]


@pytest.mark.parametrize("form", ["text", "html"])
def test_every_form_says_it(form):
    said = audited("many.json", "--format", form).stdout
    assert "determine the number of 60 of 60 people exactly" in " ".join(said.split())


def test_a_redacted_report_says_nothing_of_anybodys_number():
    assert document("many.json", "--redacted")["values"] is None


def test_the_posterior_of_numbers_is_an_interval_for_each_profile(tmp_path):
    target = tmp_path / "numbers.csv"
    audited("many.json", "--posterior", target)
    with target.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    with TABLE.open(encoding="utf-8", newline="") as file:
        true = {(row["x0"], row["x1"], row["x2"]): float(row["y"]) for row in csv.DictReader(file)}
    assert len(rows) == 60
    for row in rows:
        assert row["exact"] == "true"
        assert float(row["low"]) == pytest.approx(true[row["x0"], row["x1"], row["x2"]])


def test_a_setting_that_no_leaf_depends_on_is_refused(tmp_path):
    knowledge = tmp_path / "knows.toml"
    knowledge.write_text("[training]\ndepth = 3.0\n", encoding="utf-8")
    made = audited("xgboost.json", "--knowledge", knowledge)
    assert made.exit_code == 4
    assert "'depth' does not affect the leaf values" in made.stderr


@pytest.mark.parametrize("form", ["text", "html", "json"])
def test_a_posterior_that_is_not_written_is_told_of_in_the_report(tmp_path, form):
    target = tmp_path / "posterior.csv"
    made = audited("dart.json", "--posterior", target, "-q", "--format", form)
    assert made.stderr == ""
    assert not target.exists()
    assert "posterior.csv is not written: " in " ".join(made.stdout.split())

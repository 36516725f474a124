"""``--weights`` and ``--sampling-weights``: who stands for many, and who is one person that a survey weighs."""

from __future__ import annotations

import json

import pytest

from tests.kit.run import on_one_line, run_command

PMML = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header/>
  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double"/>
    <DataField name="flu" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
  </DataDictionary>
  <TreeModel functionName="classification" splitCharacteristic="binarySplit">
    <MiningSchema><MiningField name="age"/><MiningField name="flu" usageType="target"/></MiningSchema>
    <Node id="0" score="no" recordCount="200">
      <True/>
      <ScoreDistribution value="no" recordCount="110"/>
      <ScoreDistribution value="yes" recordCount="90"/>
    </Node>
  </TreeModel>
</PMML>
"""
ROWS = (
    "age,flu,w",
    "30,no,60",
    "35,no,50",
    "40,yes,40",
    "45,yes,50",
)


@pytest.fixture
def survey(tmp_path):
    """Write a tree of 200 and the four people that a survey weighs with 200 in all; return a way to audit it."""
    (tmp_path / "flu.pmml").write_text(PMML, encoding="utf-8")
    (tmp_path / "people.csv").write_text("\n".join([*ROWS, ""]), encoding="utf-8")

    def run(*options, rows=None, command="audit", policy="strict"):
        if rows is not None:
            (tmp_path / "people.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
        files = [tmp_path / "flu.pmml", "--data", tmp_path / "people.csv"]
        asked = [command, *files, "--sensitive", "flu", "--policy", policy, *options]
        return run_command(*asked)

    return run


def test_four_people_whom_a_survey_weighs_are_four_people(survey):
    report = json.loads(survey("--sampling-weights", "w", "--format", "json").stdout)
    smallest = next(f for f in report["findings"] if f["measure"] == "k_anonymity")
    assert (report["verdict"], smallest["verdict"], smallest["value"]["low"]) == ("FAIL", "FAIL", 4)
    assert (report["population"]["records"], report["population"]["weights"]) == (4, "sampling")


def test_the_report_says_how_many_people_few_rows_stand_for(survey):
    outcome = survey("--weights", "w", "--format", "json")
    report = json.loads(outcome.stdout)
    assert (report["population"]["records"], report["population"]["weights"]) == (
        200,
        "frequencies",
    )
    assert any("4 rows stand for 200 people" in warning for warning in report["warnings"])


def test_the_report_says_that_the_adversary_knows_the_weights(survey):
    assert "sampling weight of everyone" in on_one_line(
        survey("--sampling-weights", "w", "--format", "html")
    )


def test_where_no_weights_are_named_the_column_that_would_match_is(survey):
    outcome = survey()
    assert outcome.exit_code == 4
    assert "column 'w' matches as weights" in on_one_line(outcome).lower()
    assert "--weights w if" in on_one_line(outcome)
    assert "or --sampling-weights w for survey weights" in on_one_line(outcome)


@pytest.mark.parametrize(
    ("options", "rows", "message"),
    [
        (
            [],
            [row.rpartition(",")[0] for row in ROWS],
            "--sampling-weights COLUMN",
        ),
        (["--weights", "w"], [*ROWS[:4], "45,yes,"], "column 'w', record 4: the weight is missing"),
        (["--sampling-weights", "w"], [*ROWS[:4], "45,yes,"], "record 4: the weight is missing"),
        (["--weights", "w"], [*ROWS[:4], "45,yes,49.5"], "use --sampling-weights w"),
        (
            ["--sampling-weights", "w"],
            [*ROWS[:4], "45,yes,49.5"],
            "The model was trained with other weights",
        ),
        (["--sampling-weights", "w"], [*ROWS[:4], "45,yes,-1"], "the weight is negative"),
    ],
)
def test_weights_that_do_not_fit_end_the_audit(survey, options, rows, message):
    outcome = survey(*options, rows=rows)
    assert outcome.exit_code == 4
    assert message in on_one_line(outcome)


def test_a_table_whose_rows_match_needs_no_sampling_weights(survey):
    rows = [ROWS[0], *[ROWS[1]] * 110, *[ROWS[3]] * 90]
    outcome = survey("--sampling-weights", "w", rows=rows)
    assert outcome.exit_code == 4
    assert "remove --sampling-weights" in on_one_line(outcome)


def test_both_kinds_of_weights_at_once_are_refused(survey):
    outcome = survey("--weights", "w", "--sampling-weights", "w")
    assert outcome.exit_code == 2
    assert "for survey weights" in on_one_line(outcome)


def test_no_table_is_sanitised_beside_a_weighed_tree(survey, tmp_path):
    beside = ["-o", tmp_path / "new.pmml", "--with-table", tmp_path / "new.csv"]
    outcome = survey("--sampling-weights", "w", *beside, command="repair")
    assert outcome.exit_code == 2
    assert "leave out --with-table" in on_one_line(outcome)


def test_a_row_of_weight_0_is_nobody(survey):
    outcome = survey("--sampling-weights", "w", "--format", "json", rows=[*ROWS, "50,yes,0"])
    assert json.loads(outcome.stdout)["population"]["records"] == 4


def test_no_fraction_of_a_person_is_told_of(survey):
    told = on_one_line(survey("--sampling-weights", "w", "--verbose"))
    assert (
        "50.0 % to 55.0 % of the people in the worst leaf, or of their weights, have the value"
        in told
    )

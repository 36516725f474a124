"""Audits of PMML trees over computed fields: who ends where decides, and what is not known is never a pass."""

from pathlib import Path

import pytest

from tests.kit.run import run_command

FOLDER = Path(__file__).parents[1] / "data" / "derived"


def audit(model, table, *more, sensitive="ill"):
    arguments = [
        "audit",
        str(FOLDER / model),
        "--data",
        str(table),
        "--sensitive",
        sensitive,
        *more,
    ]
    return run_command(*arguments)


@pytest.mark.parametrize(
    "model", ["default_value.pmml", "bins_with_gaps.pmml", "no_logarithm.pmml"]
)
def test_the_one_person_whom_a_computed_field_parts_from_all_is_found(model):
    outcome = audit(model, FOLDER / "incomes.csv", "--verbose")
    assert outcome.exit_code == 1
    assert "Fewest people in a leaf: 1 person" in " ".join(outcome.stdout.split())


def test_categories_that_begin_with_a_blank_are_compared_as_written(tmp_path):
    policy = tmp_path / "ten.toml"
    policy.write_text(
        'name = "ten"\nversion = "1.0.0"\ntitle = "ten"\ndescription = "groups of ten"\n[[clause]]\nid = "k"\n'
        'measure = "k_anonymity"\nrule = "at_least"\nlimit = 10\nwhy = "x"\nsource = "x"\n'
    )
    table = FOLDER / "blank_categories.csv"
    words = ("--policy", str(policy), "--verbose")
    outcome = audit("blank_categories.pmml", table, *words, sensitive="income")
    assert outcome.exit_code == 1
    assert "Fewest people in a leaf: 7 people" in " ".join(outcome.stdout.split())


def test_without_the_column_that_the_model_computes_there_is_no_audit_and_the_way_is_said():
    outcome = audit("guarded_ratio.pmml", FOLDER / "guarded_ratio.csv")
    assert outcome.exit_code == 4
    assert (
        "no column 'ratio', which the model computes in a way that is not repeated here"
        in outcome.stderr
    )
    assert "guarded_ratio.pmml:6: Apply of 'months', 'amount'" in outcome.stderr
    assert "add a column 'ratio'" in outcome.stderr


def test_with_the_computed_column_the_person_alone_in_a_leaf_is_found(tmp_path):
    header, *lines = (FOLDER / "guarded_ratio.csv").read_text().splitlines()
    table = tmp_path / "with_ratio.csv"
    rows = [line.split(",") for line in lines]
    ratios = [float(row[1]) / float(row[0]) if float(row[0]) > 0 else -1 for row in rows]
    added = [f"{ratio},{','.join(row)}" for ratio, row in zip(ratios, rows, strict=True)]
    table.write_text("\n".join([f"ratio,{header}", *added]) + "\n")
    outcome = audit("guarded_ratio.pmml", table, "--verbose")
    assert outcome.exit_code == 1
    assert "1 person at node 3" in outcome.stdout

"""What a file proves of its records without any table, from the command line and in Python."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import treewarden as tw
from tests.kit.run import run_command

io = pytest.importorskip("skops.io", reason="writes a forest")
run = partial(run_command, "inspect")
BITS = "[columns.x0]\nvalues = [0, 1]\n[columns.x1]\nlow = 0\nhigh = 2\nwhole = true\n"


@pytest.fixture
def forest_file(tmp_path):
    """Return a forest on all of six records with a column of two values and one of three."""
    values = np.array([[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]], dtype=float)
    learner = RandomForestClassifier(12, bootstrap=False, random_state=0, max_features=1)
    learner.fit(values, np.array(["no", "no", "yes", "yes", "yes", "no"]))
    path = tmp_path / "forest.skops"
    io.dump(learner, path)
    return path


@pytest.fixture
def domain_file(tmp_path):
    path = tmp_path / "public.toml"
    path.write_text(BITS, "utf-8")
    return path


def test_a_file_that_is_its_table_says_so(forest_file, domain_file):
    text = run(forest_file, "--domain", domain_file).stdout
    assert "6 records of 6 by its numbers alone, 6 with every tested column" in text
    assert "exactly one table fits the file" in text


def test_without_a_domain_values_are_ranges(forest_file):
    said = json.loads(run(forest_file, "--format", "jsonl").stdout)["rebuilt"]
    assert (said["records_proved"], said["whole_records"], said["tables"]) == (6, 0, "infinite")


def test_no_record_stands_in_the_output(forest_file, domain_file):
    said = json.loads(run(forest_file, "--domain", domain_file, "--format", "jsonl").stdout)
    assert set(said["rebuilt"]) == {
        *("records", "records_proved", "whole_records", "columns", "tables", "decided"),
    }


def test_of_draws_it_says_why_nothing_is_proved(tmp_path):
    learner = RandomForestClassifier(3, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    io.dump(learner, tmp_path / "forest.skops")
    text = run(tmp_path / "forest.skops").stdout
    assert "proves         unknown: each tree saw a sample of the records" in text


def test_python_inspects_with_a_domain_too(forest_file, domain_file):
    assert tw.inspect(forest_file, domain=domain_file).to_dict()["rebuilt"]["tables"] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[columns.x0]\nvalues = [0, 'a']\n", "one kind"),
        ("[columns.x0]\nlow = 3\nhigh = 1\n", "low is above high"),
        ("[columns.x0]\nwhole = true\n", "whole numbers need low and high"),
        ("[columns.age]\nvalues = [1]\n", "'age' is no column of the model"),
        ("[columns.x0]\nvalues = ['a']\n", "are to be numbers"),
        ("[columns.x0]\ncolour = 1\n", "columns.x0.colour"),
        ("[[one_of]]\ncolumns = ['x0', 'x9']\n", "'x9' is no column"),
        ("[columns.x0]\nlow = 0\n[[one_of]]\ncolumns = ['x0', 'x1']\n", "declared twice"),
        ("not toml", "not TOML"),
    ],
)
def test_a_domain_that_is_not_understood_is_an_error(forest_file, tmp_path, text, problem):
    (tmp_path / "bad.toml").write_text(text, "utf-8")
    outcome = run(forest_file, "--domain", tmp_path / "bad.toml")
    assert outcome.exit_code == 4
    assert problem in outcome.stdout + outcome.stderr

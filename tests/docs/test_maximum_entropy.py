"""The worked example of docs/maximum-entropy.md is what the program finds, and what brute force finds."""

from __future__ import annotations

import csv
import itertools
import json
import re

import pytest

from docs._ext.console import replayed
from tests.docs import pages
from tests.kit.run import run_command

PAGE = (pages.DOCS / "maximum-entropy.md").read_text("utf-8")
GROUPS = {
    ("young", "F"): "young women",
    ("young", "M"): "young men",
    ("old", "F"): "old women",
    ("old", "M"): "old men",
}
ROWS = {
    cells[0]: cells[1:]
    for line in PAGE.splitlines()
    if (cells := [cell.strip() for cell in line.strip("|").split("|")])[0] in GROUPS.values()
}
ASKED = ["--data", "people.csv", "--sensitive", "flu", "--qi", "age,sex"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("example")
    replayed(PAGE, made)
    return made


def audited(folder, *more):
    files = [str(folder / word) if "." in word else word for word in ("tree.pmml", *ASKED, *more)]
    return run_command("audit", *files, "--format", "json", "-q").stdout


def shares(file):
    with file.open(encoding="utf-8") as lines:
        rows = [row for row in csv.DictReader(lines) if row["class"] == "yes"]
    return {
        GROUPS[row["age"], row["sex"]]: f"{100 * float(row['probability']):.1f} %" for row in rows
    }


@pytest.mark.parametrize(("more", "column"), [([], 0), (["--knowledge", "heard.toml"], 1)])
def test_the_estimates_shown_are_those_of_the_program(folder, more, column):
    audited(folder, *more, "--posterior", "estimate.csv")
    assert shares(folder / "estimate.csv") == {name: row[column] for name, row in ROWS.items()}
    (folder / "estimate.csv").unlink()


def test_the_truth_shown_is_that_of_the_table(folder):
    with (folder / "people.csv").open(encoding="utf-8") as lines:
        people = [(GROUPS[row["age"], row["sex"]], row["flu"]) for row in csv.DictReader(lines)]
    for name, row in ROWS.items():
        of_group = [flu for group, flu in people if group == name]
        assert row[2] == f"{of_group.count('yes')} of {len(of_group)}"


def test_the_ranges_told_are_those_of_all_tables_that_fit(folder):
    fitting = [
        (a, b, c, d)
        for a, b, c, d in itertools.product(range(4), range(4), range(3), range(6))
        if (a + b, c + d, a + c) == (3, 2, 3)
    ]
    assert {a for a, _, _, _ in fitting} == {1, 2, 3}
    assert min(5 - d for _, _, _, d in fitting) == 3
    document = json.loads(audited(folder, "--knowledge", "heard.toml"))
    assert document["readings"]["world_bounds"]["low"] == pytest.approx(3 / 5)
    assert document["worlds"]["profiles_certain"] == 0


def test_odds_are_four_times_as_high_in_both_leaves():
    def odds(name):
        share = float(re.match(r"[\d.]+", ROWS[name][1])[0]) / 100
        return share / (1 - share)

    for age in ("young", "old"):
        assert odds(f"{age} women") / odds(f"{age} men") == pytest.approx(4, rel=0.01)

"""``treewarden inspect``: what a data steward reads about a file."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest

from tests.kit.forests import forest, stump
from tests.kit.run import run_command
from treewarden.jobs.inspecting import leaf_lines, lines
from treewarden.ppdm_models.semantics.describe import describe, leaf_entries
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Feature

COUNTED = stump(40.0, "no", "yes", counts=(3.0, 7.0))


run = partial(run_command, "inspect")


def said(model, leaks=()):
    facts = {"format": "pmml", "producer": None, **describe(model, leaks)}
    return "\n".join(lines(facts))


def test_the_main_facts_stand_one_to_a_line(files):
    text = run(files.model).stdout
    for line in (
        "  what           one classification tree (pmml)",
        "  size           5 nodes, 3 leaves, depth 2",
        "  splits on      2 of 2 features: age, sex",
        "  people         40 in all; the leaf counts sum to those of the nodes above (exact)",
        "  smallest leaf  8 people",
    ):
        assert line in text.splitlines()


def test_values_of_a_column_that_no_node_tests_are_told():
    street = Feature("street", numeric=False, values=("Elm", "Oak", "12 Rue Morgue"))
    model = replace(COUNTED, features=(*COUNTED.features, street))
    text = " ".join(said(model).split())
    listed = "the file also lists the values of 2 features that no node tests: sex (2), street (3)"
    assert listed in text
    assert "also lists" not in said(replace(COUNTED, features=COUNTED.features[:1]))


def test_leaves_are_listed_when_asked_for(files):
    text = run(files.model, "--leaves").stdout
    assert "1/4   no        8 exact   age ≥ 40 and sex = M" in text
    rows = json.loads(run(files.model, "--leaves", "--format", "jsonl").stdout)["leaf"]
    assert [row["records"] for row in rows] == [20, 12, 8]


@pytest.mark.parametrize(
    ("model", "line"),
    [
        (forest(COUNTED, COUNTED, resampled=True), "count draws of a random sample, not people"),
        (forest(COUNTED, COUNTED), "the smallest number of a leaf is 3"),
        (forest(COUNTED, COUNTED, resampled=False), "smallest leaf  3 people"),
        (stump(40.0, "no", "yes"), "unknown; audit the file with its training table"),
        (stump(40.0, "no", "yes", counts=(0.0, 7.0)), "7 people; 1 leaf holds none"),
    ],
)
def test_a_number_that_is_not_of_people_is_never_called_a_leaf_of_so_many(model, line):
    assert line in said(model)


def test_leaks_are_told_by_kind_the_one_of_the_fewest_people_first():
    leaks = [
        Leak(LeakKind.HISTOGRAM, "/a", "ages", 5),
        Leak(LeakKind.HISTOGRAM, "/b", "incomes", 1),
        Leak(LeakKind.PERSON, "/c", "a name", removable=True),
    ]
    text = said(COUNTED, leaks)
    assert "3 findings outside the trees, 1 removable with “treewarden redact”" in text
    assert "- histogram: incomes [1 person] (/b); and 1 more" in text
    assert "- person: a name (/c)" in text


def test_no_name_can_act_on_the_terminal():
    nasty = "\x1b[31m\n\u202e"
    model = stump(40.0, nasty, "yes", classes=(nasty, "yes"), target=nasty, notes=(nasty,))
    leaks = [Leak(LeakKind.PERSON, nasty, nasty)]
    text = said(model, leaks) + "\n".join(leaf_lines(leaf_entries(model)))
    assert all(sign.isprintable() for sign in text.replace("\n", ""))
    assert "\\x1b[31m\\n\\u202e" in text


def test_a_file_that_is_no_tree_says_why(tmp_path):
    (tmp_path / "odd.txt").write_text("hello", encoding="utf-8")
    outcome = run(tmp_path / "odd.txt")
    assert outcome.exit_code == 4
    assert "  not read       not a model format that treewarden can read; " in outcome.stdout
    assert outcome.stdout.count("odd.txt") == 1


def test_a_folder_without_a_model_is_an_answer_too(tmp_path):
    assert run(tmp_path).exit_code == 4

"""A pass says on its first screen what the file proves although no check of the policy limits that."""

import json

import pandas as pd
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from tests.kit.run import run_command
from treewarden.reports.building.redacted import UNCOUNTED

HEAD = 'name = "ours"\nversion = "1"\ntitle = "Ours"\n'
SURE = '[[check]]\nid = "sure"\nmeasure = "disclosure"\nrule = "at_most"\nlimit = 1\n'
LIMITED = '[[check]]\nid = "none"\nmeasure = "certain_disclosure"\nrule = "at_most"\nlimit = 99\n'
OUTSIDE = LIMITED + 'when = { model = ["boosted"] }\n'
PEOPLE = pd.DataFrame({"age": [30] * 20 + [50] * 20 + [70] * 2})
PEOPLE["ill"] = (["yes", "no"] * 20) + ["yes"] * 2


@pytest.fixture
def audit(tmp_path, monkeypatch):
    """Return what audits a tree of which two people are alone in a leaf, under a policy of these checks."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    tree = DecisionTreeClassifier(max_leaf_nodes=2, random_state=0).fit(PEOPLE[["age"]], PEOPLE.ill)
    (tmp_path / "tree.skops").write_bytes(skops.io.dumps(tree))
    run_command("redact", "tree.skops", "-o", "alone.skops")

    def run(checks, *more):
        (tmp_path / "ours.toml").write_text(HEAD + checks, encoding="utf-8")
        words = ("audit", "alone.skops", "--data", "people.csv", "--sensitive", "ill")
        outcome = run_command(*words, "--policy", "ours.toml", *more)
        assert outcome.exit_code == 0, outcome.output
        return outcome.stdout

    return run


@pytest.mark.parametrize(
    ("checks", "is_told"), [(SURE, True), (SURE + LIMITED, False), (SURE + OUTSIDE, True)]
)
def test_what_is_proved_is_told_where_no_check_that_applies_limits_it(audit, checks, is_told):
    words = "No check of this policy limits what is proved: the value of 2 people follows"
    first = " ".join(audit(checks).split())
    assert (words in first) is is_told
    document = json.loads(audit(checks, "--format", "json"))
    assert document["readings"]["certain_disclosure"]["low"] == 2
    assert document["unlimited"].startswith(words) is is_told
    for form in ("html", "text", "compliance"):
        assert (words in " ".join(audit(checks, "--format", form).split())) is is_told


def test_a_pipeline_and_a_redacted_report_hear_of_it_without_the_number(audit):
    line = "no check of this policy limits what the file proves about people"
    for form in ("markdown", "sarif"):
        told = audit(SURE, "--format", form)
        assert line in told
        assert "2 people" not in told
    shown = json.loads(audit(SURE, "--format", "json", "--redacted"))
    assert shown["unlimited"] == UNCOUNTED

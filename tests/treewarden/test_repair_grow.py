"""``treewarden repair --grow``: a tree grown under the policy where no change of the model passes."""

import json
import re
import sys
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.kit.run import run_command
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import silent
from treewarden.jobs.audit_request import Request
from treewarden.jobs.read_inputs import read_subject
from treewarden.learn.replacement_trees import grown_file
from treewarden.ppdm_models.errors import RemedyError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.files.load import open_model
from treewarden.reports.building.steps import train_again_step
from treewarden.reports.document.document import Document
from treewarden.reports.document.packing import unpack
from treewarden.reports.figures.curve import curve_of


def small_leaf(table):
    """Return a tree of two leaves, one of a few people: all that pruning can do is to leave none of its splits."""
    for seed in range(1000):
        tree = DecisionTreeClassifier(
            max_depth=1, splitter="random", max_features=1, random_state=seed
        ).fit(table[["age", "noise"]], table["ill"])
        if tree.tree_.feature[0] == 1 and tree.tree_.n_node_samples.min() < 30:
            return tree
    raise AssertionError("no seed draws a small leaf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tree of leaves of one value, on a table of a number, a category with gaps, and a class."""
    folder = tmp_path_factory.mktemp("grow")
    draw = np.random.default_rng(0)
    age = draw.integers(20, 80, 300).astype(float)
    city = draw.choice(np.array(["Aachen", "Bonn", ""], dtype=object), 300)
    ill = np.where((age > 50) ^ (draw.random(300) < 0.2), "yes", "no")
    table = pd.DataFrame({"age": age, "noise": draw.random(300), "city": city, "ill": ill})
    table.to_csv(folder / "people.csv", index=False)
    data = converted(open_fitted(small_leaf(table), target="ill").model, "pmml")
    (folder / "tree.pmml").write_bytes(data)
    clause = 'measure = "{}"\nrule = "{}"\nlimit = {}\n'
    text = 'name = "few"\nversion = "1"\ntitle = "few"\n[[clause]]\nid = "k"\n'
    text += clause.format("k_anonymity", "at_least", 30)
    text += '[[clause]]\nid = "two"\n' + clause.format("distinct_diversity", "at_least", 2)
    text += '[[clause]]\nid = "label"\n' + clause.format("label_disclosure", "at_most", 0.9)
    (folder / "few.toml").write_text(text)
    return folder


def arguments(folder, *more):
    paths = [folder / "tree.pmml", "--data", folder / "people.csv"]
    return [*paths, "--sensitive", "ill", "--policy", folder / "few.toml", *more]


def test_a_grown_tree_is_written_where_no_change_leaves_a_split(folder):
    output = folder / "grown.pmml"
    without = run_command("repair", *arguments(folder, "-o", output))
    assert without.exit_code == 1
    assert "Train a new tree under the policy" in without.output
    command = next(line for line in without.output.splitlines() if "--grow -o" in line)
    assert command.strip().startswith("treewarden repair")
    assert command.endswith("--to pmml --grow -o tree-grown.pmml")
    assert not output.exists()
    asked = ("--grow", "-o", output, "--utility", "auc", "--report", folder)
    outcome = run_command("repair", *arguments(folder, *asked))
    assert outcome.exit_code == 0, outcome.output
    told = " ".join(outcome.output.split())
    assert "was grown under the policy" in told
    assert re.search(r"AUC [\d.]+ % in cross-validation", told)
    page = (folder / "repair.html").read_text("utf-8")
    assert "A new tree meets the policy. No change of the old tree does." in page
    assert "No repair was found" not in page
    assert "Publish only the new tree, never the old tree." in page
    assert "After: the new tree" in page
    assert b"policy-tree" in output.read_bytes()
    asked = ["--data", folder / "people.csv", "--sensitive", "ill", "--policy", folder / "few.toml"]
    assert run_command("audit", output, *asked).exit_code == 0


@pytest.mark.parametrize("utility", ["accuracy", "auc", "log-loss"])
def test_the_grown_tree_is_the_chosen_point_of_the_curve(folder, utility):
    asked = ("--grow", "-o", folder / f"{utility}.pmml", "--utility", utility)
    outcome = run_command("repair", *arguments(folder, *asked, "--format", "json"))
    document = Document.model_validate(unpack(json.loads(outcome.stdout)))
    assert document.verdict == "PASS"
    grown = next(attempt for attempt in document.repair.attempts if attempt.name == "grow")
    assert grown.is_applied
    assert grown.leaves > 1
    assert grown.leaves_lost == 0
    curve = curve_of(document.repair)
    by_name = {point.name: point for point in curve.points}
    assert by_name["grow"].is_chosen
    assert [point.name for point in curve.points if point.is_chosen] == ["grow"]
    assert by_name["grow"].is_on_curve
    assert by_name["grow"].privacy >= 100 > by_name["original"].privacy
    assert curve.label.endswith("cross-validated")
    assert "trained again in each fold" in document.repair.utility


def test_a_tree_is_grown_from_a_table_whose_names_are_spelled_differently(folder):
    table = pd.read_csv(folder / "people.csv", keep_default_na=False)
    other = folder / "spelled.csv"
    table.rename(columns={"age": "AGE", "ill": "Ill"}).to_csv(other, index=False)
    output = folder / "spelled.pmml"
    asked = ["--data", other, "--sensitive", "ill", "--policy", folder / "few.toml"]
    outcome = run_command("repair", folder / "tree.pmml", *asked, "--grow", "-o", output)
    assert outcome.exit_code == 0, outcome.output
    assert run_command("audit", output, *asked).exit_code == 0


def test_the_summary_says_that_a_grown_tree_passes_even_where_progress_is_quiet(folder):
    outcome = run_command("repair", *arguments(folder, "--grow", "-q", "-o", folder / "q.pmml"))
    assert outcome.exit_code == 0
    shown = " ".join(outcome.stdout.split())
    assert "PASS: The new tree in q.pmml meets the policy" in shown
    assert "The change (grow): train a new tree of" in shown


def test_what_a_grown_tree_is_worth_is_said_and_weights_are_refused_by_name(folder):
    options = AuditOptions(sensitive="ill")
    request = Request(
        folder / "tree.pmml", folder / "people.csv", options, policy=str(folder / "few.toml")
    )
    subject = read_subject(request)
    told = []

    @contextmanager
    def listening(doing):
        yield lambda *share: told.append((doing, *share))

    grown = grown_file(request, subject, None, "accuracy", listening)
    growing = [share[1:] for share in told if share[0] == "growing a tree under the policy"]
    assert growing == [(done, 6, "trees") for done in range(1, 7)]
    assert grown.data is not None
    assert "its file passes" in grown.message
    assert re.search(r"accuracy [\d.]+ % in cross-validation", grown.message)
    weighed = Request(
        folder / "tree.pmml", folder / "people.csv", AuditOptions(sensitive="ill", weights="age")
    )
    with pytest.raises(RemedyError, match="remove --grow"):
        grown_file(weighed, subject, None, "accuracy", silent)


@pytest.mark.parametrize("option", [("--grow",), ("--private", "1")])
def test_without_scikit_learn_that_is_said_before_anything_is_tried(folder, monkeypatch, option):
    monkeypatch.setitem(sys.modules, "treewarden.learn.replacement_trees", None)
    output = folder / "not-written.pmml"
    outcome = run_command("repair", *arguments(folder, *option, "-o", output))
    assert outcome.exit_code == 4
    assert f"{option[0]}: needs scikit-learn 1.6 or newer" in outcome.output
    assert "trying" not in outcome.output


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ("rpart_json", "(minbucket)"),
        ("r_forest_json", "max.depth in ranger"),
        ("pmml", "In Python"),
    ],
)
def test_what_to_train_next_is_said_in_the_words_of_the_tool(folder, form, words):
    model = open_model((folder / "tree.pmml").read_bytes(), "tree.pmml").model
    step = train_again_step(replace(model, format=form))
    assert words in step
    assert ("treewarden.search" in step) == (form == "pmml")

"""A file that says how each split was chosen is held to it: its own table never has a better split, another may."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import treewarden as tw
from tests.kit.run import run_command
from tests.kit.tiers import cases, seeds

LENIENT = """name = "lenient"
version = "1"
title = "lenient"

[[check]]
id = "small"
measure = "k_anonymity"
rule = "at_least"
limit = 2
"""
SETTINGS = (
    {"max_depth": 4},
    {"max_depth": 3, "criterion": "entropy", "min_samples_leaf": 7},
    {"max_leaf_nodes": 6, "min_impurity_decrease": 0.004},
    {"ccp_alpha": 0.01, "min_samples_split": 30},
    {"max_depth": 3, "min_weight_fraction_leaf": 0.05, "max_features": 1.0},
    {"max_depth": 3, "monotonic_cst": [1, 0, 0]},
    {"max_depth": 3, "splitter": "random"},
)


def people(seed, size=150):
    """A table whose columns are small whole numbers, prices, and floats that 32 bits round; some lack a value."""
    draw = np.random.default_rng(seed)
    columns = {
        "few": draw.integers(0, 6, size).astype(float),
        "price": np.round(draw.gamma(2, size=size), 2) * 1000,
        "float": draw.normal(size=size) * 1e6,
    }
    if seed % 2:
        columns["price"][draw.random(size) < 0.05] = np.nan
    label = np.where(columns["few"] + 2 * draw.normal(size=size) > 3, "yes", "no")
    return pd.DataFrame(columns), label


@pytest.mark.parametrize("seed", seeds(20, quick=1, second=5))
def test_no_split_is_better_in_the_table_that_the_tree_was_trained_on(seed):
    table, label = people(seed)
    for settings in SETTINGS:
        if "monotonic_cst" in settings and seed % 2:
            continue  # scikit-learn refuses it where values are missing
        model = DecisionTreeClassifier(random_state=seed, **settings).fit(table, label)
        data = table.assign(label=label)
        said = json.loads(tw.audit(model, data, sensitive="label", worlds=False).to_json())
        broken = [each for each in said["dropped"] if each["constraint"] == "split_choice"]
        assert broken == [], settings


@pytest.fixture
def files(tmp_path):
    """A tree in PMML with its own table, and another one in which the column ``later`` splits better."""
    draw = np.random.default_rng(3)
    table = pd.DataFrame({"age": draw.integers(20, 60, 200), "later": draw.integers(0, 9, 200)})
    label = np.where(table["age"] + draw.normal(0, 15, 200) > 40, "yes", "no")
    model = DecisionTreeClassifier(max_leaf_nodes=3, min_samples_leaf=20, random_state=0)
    model.fit(table, label)
    own = table.assign(label=label)
    tw.audit(model, own, sensitive="label").save_model(tmp_path / "tree.pmml")
    own.to_csv(tmp_path / "own.csv", index=False)
    own.assign(later=(label == "yes") * 8).to_csv(tmp_path / "other.csv", index=False)
    (tmp_path / "lenient.toml").write_text(LENIENT, encoding="utf-8")
    return tmp_path


def audit(folder, table, *words, policy="lenient.toml"):
    files = [folder / "tree.pmml", "--data", folder / table, "--sensitive", "label"]
    return run_command("audit", *files, "--policy", folder / policy, "-q", *words)


def test_a_table_that_has_a_better_split_never_passes_and_the_first_lines_say_why_in_full(files):
    assert audit(files, "own.csv").exit_code == 0
    outcome = audit(files, "other.csv")
    assert outcome.exit_code == 3
    first, *after = outcome.stdout.splitlines()
    assert first.startswith("UNDETERMINED: ")
    said = " ".join(" ".join(after).split())
    assert said.startswith(
        "The file contradicts this table, so no metric of the two can be trusted: "
    )
    told = said.partition("1 of 1 required check")[0]
    assert (
        "1 other split on 'later' would have been better in this table, though the file says"
        in told
    )
    assert told.rstrip().endswith("audit with the table that the tree was trained on.")
    assert "…" not in told
    assert (
        "1 of 1 required check of the policy “lenient” passed, but the files leave a doubt." in said
    )


def test_what_fails_as_well_asks_for_the_right_table_and_offers_no_repair(files):
    strict = LENIENT.replace("limit = 2", "limit = 199")
    (files / "hard.toml").write_text(strict, encoding="utf-8")
    outcome = audit(files, "other.csv", policy="hard.toml")
    assert outcome.exit_code == 1
    assert "The file contradicts this table" in " ".join(outcome.stdout.split())
    assert "1. Find out first whether the file or the table is wrong" in outcome.stdout
    assert "treewarden repair" not in outcome.stdout
    assert "treewarden repair" in audit(files, "own.csv", policy="hard.toml").stdout


@pytest.mark.parametrize(
    "form", cases(["json", "sarif", "html", "markdown", "junit", "csv"], quick=2)
)
def test_every_form_says_it(files, form):
    said = audit(files, "other.csv", "--format", form).stdout
    assert "table-agrees" in said
    assert "table-agrees" not in audit(files, "own.csv", "--format", form).stdout


def test_a_gate_says_it(files):
    entry = 'path = "tree.pmml"\ntable = "other.csv"\nsensitive = "label"\n'
    text = f'policy = "lenient.toml"\n\n[[model]]\n{entry}'
    (files / "treewarden.toml").write_text(text, encoding="utf-8")
    outcome = run_command("gate", "--config", files / "treewarden.toml", "--no-cache")
    assert outcome.exit_code == 3, outcome.output
    assert "table-agrees" in outcome.stdout

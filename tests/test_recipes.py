"""The recipes in docs/recipes: each block is run by its tool, and the file it leaves is audited as the page says."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.kit import places
from tests.kit.run import run_command
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tree import Task

BLOCK = re.compile(r"^## (?P<title>.+?)\n(?P<text>.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
FENCE = re.compile(
    r"^```(?P<kind>r|python|sh|console)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
WEKA = Path("/usr/share/java/weka.jar")
MUST_HAVE_R = os.environ.get("TREEWARDEN_REQUIRE_R") == "1"
SAID = {
    ("r", "rpart"): 'predict(model, loans, type = "class")',
    ("r", "rpart, as it prints"): 'predict(model, loans, type = "class")',
    ("r", "partykit"): "predict(model, loans)",
    ("r", "party"): "predict(model, loans)",
    ("r", "randomForest"): "predict(model, loans)",
    (
        "r",
        "ranger",
    ): 'with(predict(model, loans), colnames(predictions)[max.col(predictions, "first")])',
    ("r", "gbm"): "as.numeric(predict(model, loans, n.trees = 5) > 0)",
    ("python", "scikit-learn"): "model.predict(features)",
    ("python", "XGBoost"): "model.predict(features)",
    ("python", "LightGBM"): "model.predict(features)",
    ("python", "CatBoost"): "model.predict(features)",
    ("python", "CatBoost with categories"): "model.predict(features)",
    ("python", "ONNX"): "model.predict(features)",
}
"""What the tool predicts for the table, in its own language; it is appended to the block."""
NEEDS = {
    "scikit-learn": ("sklearn", "skops"),
    "XGBoost": ("xgboost",),
    "LightGBM": ("lightgbm",),
    "CatBoost": ("catboost",),
    "CatBoost with categories": ("catboost",),
    "ONNX": ("sklearn", "skl2onnx"),
    "Decision tree": ("pyspark",),
    "One tree": ("h2o",),
}


def recipes():
    for page in sorted((places.ROOT / "docs" / "recipes").glob("*.md")):
        for found in BLOCK.finditer(page.read_text(encoding="utf-8")):
            yield pytest.param(
                page.stem,
                found["title"],
                found["text"],
                id=f"{page.stem}-{found['title']}",
                marks=() if page.stem == "python" else pytest.mark.tools,
            )


def write_loans(folder):
    """Write 240 people; the name of one column has a blank, as tables do."""
    chance = random.Random(3)
    rows = []
    for _ in range(240):
        age, income = chance.randint(18, 80), chance.randint(8, 90) * 500
        job = chance.choice(["clerk", "nurse", "cook"])
        owner, debt = (
            chance.randint(0, 1),
            chance.randint(0, 30) * 100 + (900 if job == "cook" else 0),
        )
        score = income / 500 + age / 2 + 30 * owner - debt / 100 + chance.gauss(0, 12)
        rows.append([age, income, job, owner, debt, "no" if score > 60 else "yes"])
    write_rows(folder, rows)


def command(page, title, code, folder):
    """Return how a block is run, and what it lacks here: "" for nothing."""
    if page == "r":
        (folder / "recipe.R").write_text(code, encoding="utf-8")
        package = title.partition(",")[0]
        lacks = "R" if shutil.which("Rscript") is None else ""
        if not lacks:
            asked = f'quit(status = !all(c("{package}", "jsonlite") %in% rownames(installed.packages())))'
            lacks = f"R's {package}" if subprocess.run(["Rscript", "-e", asked]).returncode else ""
        return ["Rscript", "--vanilla", "recipe.R"], lacks
    if page == "weka":
        lacks = "" if WEKA.exists() and shutil.which("java") else "Weka and Java"
        return ["sh", "-c", code.replace("weka.jar", str(WEKA))], lacks
    (folder / "recipe.py").write_text(code, encoding="utf-8")
    lacks = [name for name in NEEDS[title] if find_spec(name) is None]
    if page in ("spark", "h2o") and not shutil.which("java"):
        lacks.append("Java")
    words = [] if page == "python" else [sys.executable, "-W", "ignore"]
    return [*words, "recipe.py"], ", ".join(lacks)


def carry_out(words, folder):
    """Run a block in its folder: a script alone in this process, where what it imports is loaded once."""
    if len(words) > 1:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return
    code = compile((folder / words[0]).read_text(encoding="utf-8"), words[0], "exec")
    with chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, {"__name__": "__main__"})


def judged(page, title, code):
    """Return the block with a line that writes what the tool itself predicts."""
    said = SAID.get((page, title))
    if said is None:
        return code
    if page == "r":
        return f'{code}\nwriteLines(as.character({said}), "said.txt")\n'
    return f'{code}\nopen("said.txt", "w").write("\\n".join(map(str, {said})) + "\\n")\n'


@pytest.mark.parametrize(("page", "title", "text"), list(recipes()))
def test_a_recipe_leaves_a_file_that_is_audited_as_the_page_says(page, title, text, tmp_path):
    fences = [(found["kind"], found["code"]) for found in FENCE.finditer(text)]
    (kind, code), (console, typed) = fences
    assert kind != "console" == console
    write_loans(tmp_path)
    run, lacks = command(page, title, judged(page, title, code), tmp_path)
    if lacks:
        assert not (MUST_HAVE_R and page == "r"), f"{lacks} is not installed, and must be"
        pytest.skip(f"{lacks} is not installed")
    carry_out(run, tmp_path)

    words, outcome = follow(typed, tmp_path, "--no-worlds")
    assert outcome.exit_code in (0, 1, 3), outcome.output

    if (tmp_path / "said.txt").exists():
        model = read_model(Path(words[1]))
        told = (tmp_path / "said.txt").read_text(encoding="utf-8").split()
        assert own_labels(model, Path(words[3])) == told


@pytest.mark.parametrize(("page", "title", "text"), list(recipes()))
def test_the_published_file_of_a_harmless_model_passes(page, title, text, tmp_path):
    (_, code), (_, typed) = [(found["kind"], found["code"]) for found in FENCE.finditer(text)]
    write_harmless_loans(tmp_path, DEBTS.get(title, (0, 500, 1500)))
    run, lacks = command(page, title, code, tmp_path)
    if lacks:
        pytest.skip(f"{lacks} is not installed")
    carry_out(run, tmp_path)
    outcome = follow(typed, tmp_path)[1]
    assert outcome.exit_code == 0, outcome.output


@pytest.mark.tools
@pytest.mark.parametrize("title", ["randomForest", "ranger", "party", "partykit"])
def test_levels_of_a_factor_that_no_tree_tests_are_not_in_the_file(title, tmp_path):
    text = next(case.values[2] for case in recipes() if case.values[:2] == ("r", title))
    code = next(found["code"] for found in FENCE.finditer(text) if found["kind"] == "r")
    write_harmless_loans(tmp_path, (0, 500, 1500))
    table = pd.read_csv(tmp_path / "loans.csv").assign(country=["Here", "There"] * 2000)
    table.to_csv(tmp_path / "loans.csv", index=False)
    few = code.replace("maxnodes = 8", "maxnodes = 2").replace("max.depth = 3", "max.depth = 1")
    run, lacks = command("r", title, few, tmp_path)
    if lacks:
        pytest.skip(f"{lacks} is not installed")
    carry_out(run, tmp_path)
    model = read_model(tmp_path / "model.json")
    tests = [node.test for tree in trees_of(model) for node in tree.nodes]
    assert "country" not in {name for test in tests for name in features_of(test)}
    asked = ("--data", str(tmp_path / "loans.csv"), "--sensitive", "default", "--format", "json")
    outcome = run_command("audit", str(tmp_path / "model.json"), *asked, "--no-worlds")
    assert json.loads(outcome.stdout)["readings"]["side_leaks[kind=people]"]["high"] == 0


@pytest.mark.tools
def test_the_redacted_object_of_rpart_passes_as_the_pmml_of_it_does(tmp_path):
    text = next(case.values[2] for case in recipes() if case.values[1] == "rpart")
    code = next(found["code"] for found in FENCE.finditer(text) if found["kind"] == "r")
    write_harmless_loans(tmp_path, (0, 500, 1500))
    run, lacks = command("r", "rpart", code, tmp_path)
    if lacks:
        pytest.skip(f"{lacks} is not installed")
    carry_out(run, tmp_path)
    assert redacted_and_audited(tmp_path, "model.json", "loans.csv") == (0, 0)


TREELITE = """
import pandas
import treelite
from sklearn.ensemble import RandomForestClassifier

loans = pandas.read_csv("loans.csv")
features = loans[["age", "income"]]
target = (loans["default"] == "yes").astype(int)
model = RandomForestClassifier(1, bootstrap=False, max_features=None, max_leaf_nodes=5)
model.fit(features, target)
with open("model.json", "w") as file:
    file.write(treelite.sklearn.import_model(model).dump_as_json())
features.set_axis(["f0", "f1"], axis="columns").assign(default=target).to_csv("numbers.csv")
"""


def test_the_redacted_tree_of_treelite_passes(tmp_path):
    pytest.importorskip("treelite", reason="makes the model")
    write_harmless_loans(tmp_path, (0, 500, 1500))
    (tmp_path / "recipe.py").write_text(TREELITE, encoding="utf-8")
    carry_out(["recipe.py"], tmp_path)
    assert redacted_and_audited(tmp_path, "model.json", "numbers.csv") == (0, 0)


def redacted_and_audited(folder, model, table):
    """Return the exit codes of ``redact``, and of the audit of what it wrote."""
    clean, model, table = str(folder / f"published-{model}"), str(folder / model), folder / table
    redacted = run_command("redact", model, "-o", clean)
    audited = run_command("audit", clean, "--data", str(table), "--sensitive", "default")
    return redacted.exit_code, audited.exit_code


STEPPED = """
import pandas
import skops.io
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

loans = pandas.read_csv("loans.csv")
steps = make_column_transformer(
    (OneHotEncoder(), ["job"]), (StandardScaler(), ["age", "income"]), remainder="passthrough"
)
last = ESTIMATOR
model = make_pipeline(steps, last).fit(loans.drop(columns="default"), loans["default"])
skops.io.dump(model, "model.skops")
"""


@pytest.mark.parametrize(
    "estimator",
    ["DecisionTreeClassifier(max_depth=2)", "GradientBoostingClassifier(n_estimators=3)"],
)
def test_a_harmless_pipeline_passes_once_it_is_redacted(estimator, tmp_path):
    write_harmless_loans(tmp_path, (0, 500, 1500))
    code = STEPPED.replace("ESTIMATOR", estimator)
    run, lacks = command("python", "scikit-learn", code, tmp_path)
    if lacks:
        pytest.skip(f"{lacks} is not installed")
    carry_out(run, tmp_path)
    model, clean = tmp_path / "model.skops", tmp_path / "published.skops"
    redacted = run_command("redact", str(model), "-o", str(clean))
    assert redacted.exit_code == 1
    assert "averages" in redacted.output
    table = str(tmp_path / "loans.csv")
    assert (
        run_command("audit", str(clean), "--data", table, "--sensitive", "default").exit_code == 0
    )
    assert (
        run_command("audit", str(model), "--data", table, "--sensitive", "default").exit_code != 0
    )


DEBTS = {"One tree": range(0, 3050, 50)}
"""What people may owe, where that is the target: a number of fewer than ten values is a class in all but name."""


def follow(typed, folder, *more):
    """Run the commands of a block in its folder; return the words and the outcome of the last, an audit."""
    start = "$ treewarden "  # other lines are what a command prints
    *first, last = [
        line.removeprefix(start) for line in typed.splitlines() if line.startswith(start)
    ]
    for line in first:
        words = placed(line, folder)
        assert run_command(*words).exit_code == 0, line
    words = placed(last, folder)
    return words, run_command(*words, *more)


def placed(line, folder):
    """Return the words of a command, its files in a folder."""
    return [
        str(folder / word) if "." in word or (folder / word).exists() else word
        for word in shlex.split(line)
    ]


def write_harmless_loans(folder, debts):
    """Write 4,000 people of few kinds, each kind with many of both answers."""
    chance = random.Random(3)
    rows = []
    for _ in range(4000):
        age, income, owner = (
            chance.choice((20, 30, 40, 50)),
            chance.choice((1000, 2000, 3000)),
            chance.randint(0, 1),
        )
        job, debt = chance.choice(("clerk", "nurse", "cook")), chance.choice(debts)
        share = 0.25 + 0.2 * (age > 30) + 0.2 * (income > 1500) + 0.1 * owner
        rows.append([age, income, job, owner, debt, "no" if chance.random() < share else "yes"])
    write_rows(folder, rows)


def write_rows(folder, rows):
    with (folder / "loans.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(
            [["age", "income", "job", "home owner", "debt", "default"], *rows]
        )


def own_labels(model, data):
    table = matched(model, read_table(data)).table
    scores = predict(model, {feature.name: table.column(feature) for feature in model.features})
    assert model.task is Task.CLASSIFICATION
    assert not np.isnan(scores).all(axis=1).any()
    return list(labels(model, scores))

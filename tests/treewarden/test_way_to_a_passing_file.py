"""Where a file cannot pass for what it may hold beside its trees, the audit prints the commands of one that can."""

import csv
import shlex
import shutil
from pathlib import Path

import pandas as pd
import pytest
import skops.io
from sklearn.ensemble import BaggingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tests.kit import places
from tests.kit.run import run_command
from treewarden.ppdm_models.files.convert import first_writable
from treewarden.ppdm_models.files.load import formats, read_model

GOOD = places.ROOT / "tests" / "data" / "formats"
CONVERTED = ("weka_stump/good/stump_numeric.weka",)


def write_table(model, path):
    """Write a few people who have the columns of a model, and an answer; return what that is called."""
    tree = read_model(model)
    answers = tree.classes or ("1", "2")
    columns = [feature.values[:2] or ("1", "50") for feature in tree.features]
    rows = [[*(values[0] for values in columns), answers[0]]] * 20
    rows += [[*(values[-1] for values in columns), answers[-1]]] * 20
    names = [*(feature.name for feature in tree.features), tree.target or "answer"]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])
    return names[-1]


@pytest.mark.parametrize("name", CONVERTED)
def test_an_audit_prints_how_the_trees_alone_are_written_and_audited(name, tmp_path, monkeypatch):
    file = GOOD / name
    monkeypatch.chdir(tmp_path)
    model = tmp_path / f"model{file.suffix}"
    shutil.copy(file, model)
    answer = write_table(model, tmp_path / "people.csv")
    options = ("--data", "people.csv", "--sensitive", answer, "--no-worlds")
    output = run_command("audit", model.name, *options).output
    (line,) = [line.strip() for line in output.splitlines() if "treewarden convert" in line]
    convert, audit = (shlex.split(part)[1:] for part in line.split(" && "))
    assert run_command(*convert).exit_code == 0
    published = tmp_path / convert[-1]
    assert published.exists()
    told = run_command(*audit, "--verbose").output
    report = run_command("audit", model.name, *options, "--verbose").output
    assert f"treewarden convert {convert[1]}" in " ".join(report.split())
    assert "0 to 1 item" in report
    assert "0 to 1 item" not in told


def test_more_time_is_no_step_where_only_the_rest_of_the_file_is_not_decided(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check = '[[check]]\nid = "{}"\nmeasure = "{}"\nrule = "{}"\nlimit = {}\n'
    head = 'name = "rest"\nversion = "1"\ntitle = "rest"\n'
    rest = check.format("rest", "side_leaks", "at_most", 0) + 'parameters = { kind = "people" }\n'
    Path("rest.toml").write_text(head + rest, encoding="utf-8")
    table = pd.DataFrame({"age": range(60), "ill": ["no", "yes", "no"] * 10 + ["yes"] * 30})
    table.to_csv("people.csv", index=False)
    learner = BaggingClassifier(DecisionTreeClassifier(max_depth=2), 3, random_state=0)
    pipeline = make_pipeline(StandardScaler(), learner).fit(table[["age"]], table["ill"])
    skops.io.dump(pipeline, "model.skops")
    options = ("--data", "people.csv", "--sensitive", "ill", "--policy", "rest.toml")
    outcome = run_command("audit", "model.skops", *options)
    assert outcome.exit_code == 3, outcome.output
    assert "Write only the trees" in outcome.output
    assert "more time" not in outcome.output


def test_each_format_that_cannot_pass_has_a_way_to_a_file_that_can():
    for name, plugin in formats().items():
        if plugin.accounts_for_all or plugin.publish_instead or name == "ebm_json":
            continue  # a file of the last has no trees: only its claim is judged
        models = [read_model(path) for path in sorted((GOOD / name / "good").iterdir())]
        assert models, name
        assert all(first_writable(model) is not None for model in models), name


def test_a_mojo_names_the_file_of_h2o_that_can_pass(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOOD / "h2o_mojo" / "good" / "details.zip", tmp_path / "m.zip")
    way = "write one tree as JSON from H2O (docs/recipes/h2o.md)"
    for words in (("audit", "m.zip", "--no-table"), ("redact", "m.zip", "-o", "n.zip")):
        told = run_command(*words)
        assert told.exit_code in (1, 3)
        assert way in " ".join(told.output.split()), told.output


def test_a_file_with_things_to_remove_is_redacted_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOOD / "catboost_json" / "good" / "numbers.json", tmp_path / "m.json")
    output = run_command("audit", "m.json", "--no-table", "--policy", "strict").output
    assert "treewarden redact m.json -o m-redacted.json" in output
    assert "treewarden convert" not in output

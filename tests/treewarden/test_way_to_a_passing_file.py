"""Where a file cannot pass for what it may hold beside its trees, the audit prints the commands of one that can."""

import csv
import shlex
import shutil

import pytest

from tests.kit import places
from tests.kit.run import run_command
from treewarden.ppdm_models.files.load import read_model

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
    assert "0 to 1 leak" in report
    assert "0 to 1 leak" not in told


def test_a_file_with_things_to_remove_is_redacted_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(GOOD / "catboost_json" / "good" / "numbers.json", tmp_path / "m.json")
    output = run_command("audit", "m.json", "--no-table", "--policy", "strict").output
    assert "treewarden redact m.json -o m-redacted.json" in output
    assert "treewarden convert" not in output

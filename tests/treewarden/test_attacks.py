"""Attacks on membership on demand: beside the exact answer, never a verdict, at the doors that offer them."""

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit.run import run_command
from treewarden.audit.options import AuditOptions
from treewarden.jobs.attacking import read_estimator
from treewarden.jobs.attesting.attesting import unstated_options
from treewarden.jobs.audit_request import Request
from treewarden.jobs.gate.config import read_configuration
from treewarden.ppdm_models.errors import TreewardenError

sklearn_tree = pytest.importorskip("sklearn.tree")
TEXT = "sklearn.tree.DecisionTreeClassifier(max_depth=3)"


def people(size=80, seed=3):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"age": random.integers(20, 70, size), "income": random.integers(10, 90, size)}
    )
    return frame.assign(
        ill=np.where(random.random(size) < 0.2 + 0.5 * (frame.age > 50), "yes", "no")
    )


REGISTER = people()
TABLE = REGISTER.iloc[:40].reset_index(drop=True)


@pytest.fixture(scope="module")
def tree():
    return sklearn_tree.DecisionTreeClassifier(max_depth=3).fit(TABLE[["age", "income"]], TABLE.ill)


def audited(model, register=REGISTER, **more):
    return tw.audit(
        model,
        TABLE,
        sensitive="ill",
        policy="standard",
        population=register,
        worlds_budget=3.0,
        **more,
    )


def attacks(result):
    return {each["name"]: each["metrics"] for each in result.to_dict()["attacks"]["results"]}


@pytest.fixture(scope="module")
def tried(tree):
    return audited(tree, attack=TEXT)


def test_attacks_stand_beside_the_exact_answer_and_change_no_verdict(tree, tried):
    plain = audited(tree)
    assert plain.to_dict()["attacks"] is None
    assert plain.verdict == tried.verdict
    assert plain.to_dict()["findings"] == tried.to_dict()["findings"]
    found = attacks(tried)
    assert list(found) == ["LiRA", "RMIA", "worst case"]
    assert set(found["LiRA"]) == {"AUC", "TPR@0.001", "TPR@0.01", "Advantage"}


def test_an_estimator_in_memory_finds_the_same_and_every_time(tree, tried):
    assert attacks(
        audited(tree, attack=sklearn_tree.DecisionTreeClassifier(max_depth=3))
    ) == attacks(tried)


def test_the_model_itself_can_be_given_as_it_is(tree, tried):
    assert attacks(audited(tree, attack=tree)) == attacks(tried)


def test_every_report_shows_them_but_the_redacted_one(tried, tmp_path):
    for name in ("report.html", "report.txt", "report.md"):
        tried.save(tmp_path / name)
        assert ("TPR@0.001" in (tmp_path / name).read_text("utf-8")) == (name != "report.md")


def test_the_command_line_tries_them_too(tree, tried, tmp_path):
    tried.save_model(tmp_path / "tree.json")
    TABLE.to_csv(tmp_path / "table.csv", index=False)
    REGISTER.to_csv(tmp_path / "register.csv", index=False)
    files = [str(tmp_path / name) for name in ("tree.json", "table.csv", "register.csv")]
    words = [files[0], "--data", files[1], "--population", files[2], "--worlds-budget", "2"]
    done = run_command("audit", *words, "--attack", TEXT, "--format", "text")
    assert "TPR@0.001" in done.output
    assert "treewarden repair" in done.output
    assert "--attack" not in done.output
    refused = run_command("repair", *words, "--attack", TEXT, "--list")
    assert "a repair runs no attacks" in refused.output


def test_an_attestation_and_a_gate_say_that_they_try_no_attacks(tmp_path):
    request = Request(tmp_path / "m.json", None, options=AuditOptions(attack=TEXT))
    assert [option.flag for option in unstated_options(request)] == ["attack"]
    path = tmp_path / "treewarden.toml"
    path.write_text(f'[[model]]\npath = "m.json"\ntable = "none"\nattack = "{TEXT}"\n')
    with pytest.raises(TreewardenError, match="cannot be set for a gate"):
        read_configuration(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("__import__('os').system('true')", "names no estimator"),
        ("sklearn.tree.DecisionTreeClassifier(max_depth=int('3'))", "names no estimator"),
        ("os.system()", "names no library"),
        ("sklearn.tree.NoTree()", "not found"),
        ("sklearn.tree.DecisionTreeClassifier(depth=3)", "check its settings"),
        ("sklearn.tree.DecisionTreeClassifier(3)", "names no estimator"),
        ("sklearn.datasets.load_iris()", "is not an estimator class"),
        ("", "names no estimator"),
        ("(" * 4000, "names no estimator"),
    ],
)
def test_what_is_no_estimator_is_refused(text, problem):
    with pytest.raises(TreewardenError, match=problem):
        read_estimator(text).make()


@pytest.mark.parametrize(
    ("register", "attack", "problem"),
    [
        (None, TEXT, "register"),
        (REGISTER.drop(columns="ill"), TEXT, "class of each person"),
        (TABLE, TEXT, "not in the table"),
        (REGISTER, "sklearn.linear_model.LinearRegression()", "not a classifier"),
        (REGISTER, "sklearn.datasets.load_iris()", "is not an estimator class"),
        (REGISTER, "sklearn.tree.DecisionTreeClassifier(max_depth='a')", "could not be trained"),
        (REGISTER, 3, "classifier"),
    ],
)
def test_what_cannot_be_attacked_is_refused(tree, register, attack, problem):
    with pytest.raises(TreewardenError, match=problem):
        audited(tree, register, attack=attack)

"""What is printed after an audit or a repair, followed as it stands: R's forests, gbm, forests of samples."""

from __future__ import annotations

import json
import re
import shlex
import sys
from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest
from click import UsageError

import treewarden as tw
from tests.kit import places
from tests.kit.run import run_command
from treewarden.audit.consistent_tables.result import IN_DOUBT, OUT_OF_TIME
from treewarden.audit.options import AuditOptions
from treewarden.commands._reporting import OutputRequest, reporting
from treewarden.jobs.audit_request import Request
from treewarden.jobs.next_steps import _past_time, repair_next_steps
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import load_model, open_model, read_model
from treewarden.ppdm_models.tree.side_channels import LeakKind
from treewarden.reports.building.steps import train_again_step

SHARES = ((2 / 5, 3 / 5), (0.5, 0.5), (0.5, 0.5))
GBM = places.DATA / "gbm_people"


def node(number, **cells):
    empty = dict.fromkeys(("leftChild", "rightChild", "splitvarID", "splitvarName", "splitval"))
    return {"nodeID": number, **empty, "terminal": "leftChild" not in cells, **cells}


def ranger(sampled):
    """Two trees that part 5, 40 and 40 people by their age, as treeInfo prints them."""
    split = {"splitvarID": 0, "splitvarName": "age"}
    leaves = [{"pred.no": no, "pred.yes": yes} for no, yes in SHARES]
    tree = [
        node(0, leftChild=1, rightChild=2, splitval=2.5, **split),
        node(1, leftChild=3, rightChild=4, splitval=1.5, **split),
        node(2, **leaves[2]),
        node(3, **leaves[0]),
        node(4, **leaves[1]),
    ]
    return {"trees": [tree, tree], "sampled": sampled}


@pytest.fixture
def folder(tmp_path):
    rows = [(1, "no")] * 2 + [(1, "yes")] * 3
    rows += [(age, ill) for age in (2, 3) for ill in ("no", "yes") for _ in range(20)]
    pd.DataFrame(rows, columns=["age", "ill"]).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.json").write_text(json.dumps(ranger(False)))
    return tmp_path


def steps(output):
    """Return the commands of the list “Next”."""
    lines = [line.strip() for line in output.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith("treewarden ")]


def audited(folder, model, sensitive="ill", data="people.csv", *more):
    asked = ["audit", folder / model, "--data", folder / data, "--sensitive", sensitive]
    return run_command(*asked, *more)


def test_the_repair_that_is_printed_for_a_forest_of_ranger_passes(folder, monkeypatch):
    monkeypatch.chdir(folder)
    failed = audited(folder, "model.json")
    assert failed.exit_code == 1
    repair = next(words for words in steps(failed.output) if words[1] == "repair")
    assert repair[repair.index("--to") + 1] == "pmml"
    assert run_command(*repair[1:]).exit_code == 0
    passed = audited(folder, "model-repaired.pmml")
    assert passed.exit_code == 0, passed.output


@pytest.mark.parametrize("sampled", [True, False])
def test_pmml_says_whether_each_tree_of_a_forest_saw_a_sample(folder, sampled):
    (folder / "model.json").write_text(json.dumps(ranger(sampled)))
    model = read_model(folder / "model.json")
    written = converted(model, "pmml")
    assert load_model(written, "x.pmml").sampling.resampled is sampled
    wrong = written.replace(
        b'name="treewarden:sampled" value="', b'name="treewarden:sampled" value="x'
    )
    with pytest.raises(TreeFormatError, match="MiningModel is wrong: 'x(true|false)' is neither"):
        load_model(wrong, "x.pmml")


def test_labels_of_a_forest_of_r_are_not_repaired_and_the_way_is_said(folder):
    forest = ranger(False)
    for row in forest["trees"][0]:
        shares = (row.pop("pred.no", 0), row.pop("pred.yes", 0))
        row["prediction"] = ("no" if shares[0] == 0.5 else "yes") if row["terminal"] else None
    (folder / "model.json").write_text(json.dumps(forest))
    failed = audited(folder, "model.json")
    said = " ".join(failed.output.split())
    assert "“treewarden repair” cannot change this model: its leaves hold labels alone" in said
    assert "max.depth in ranger" in said
    refused = run_command(
        "repair",
        folder / "model.json",
        "--data",
        folder / "people.csv",
        "--sensitive",
        "ill",
        "-o",
        "x",
    )
    assert refused.exit_code == 4
    assert "its leaves hold labels alone" in refused.output
    assert "--to" not in refused.output


def test_advice_for_a_forest_of_samples_names_the_setting_that_ends_them(folder):
    model = load_model(json.dumps(ranger(True)).encode(), "model.json")
    assert "on all records (replace = FALSE with sampsize = nrow(data)" in train_again_step(model)
    forest = load_model(converted(model, "pmml"), "model.pmml")
    assert "on all records (such as bootstrap=False" in train_again_step(forest)
    alone = load_model(json.dumps(ranger(False)).encode(), "model.json")
    assert "all records" not in train_again_step(alone)


def test_a_tree_is_grown_where_no_format_holds_a_changed_model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("sklearn")
    policy = tmp_path / "leaves.toml"
    policy.write_text(
        'name = "l"\nversion = "1"\ntitle = "l"\n[[clause]]\nid = "certain"\n'
        'measure = "certain_disclosure"\nrule = "at_most"\nlimit = 0\n'
        '[[clause]]\nid = "k"\nmeasure = "k_anonymity"\nrule = "at_least"\nlimit = 40\n'
    )
    asked = ["audit", GBM / "whole.json", "--data", GBM / "people.csv", "--sensitive", "ill"]
    failed = run_command(*asked, "--policy", policy)
    assert failed.exit_code == 1, failed.output
    said = " ".join(failed.output.split())
    assert "one split per tree (interaction.depth = 1)" in said
    grow = next(words for words in steps(failed.output) if "--grow" in words)
    grown = run_command(*grow[1:])
    assert grown.exit_code in (0, 1), grown.output
    assert "no audit was performed" not in grown.output


def test_what_came_of_a_repair_is_said_once(folder):
    (folder / "model.json").write_text(json.dumps(ranger(True)))
    asked = ["repair", folder / "model.json", "--data", folder / "people.csv", "--sensitive", "ill"]
    output = run_command(*asked, "--to", "pmml", "-o", folder / "out.pmml").output
    assert " ".join(output.split()).count("No change that was tried passes. Nearest") == 1
    assert output.rstrip().endswith("out.pmml is not written: No change that was tried passes.")


def test_a_file_that_is_cut_off_says_so(tmp_path):
    cut = tmp_path / "cut.skops"
    cut.write_bytes(b"PK\x03\x04" + b"x" * 200)
    said = run_command("inspect", cut).output
    assert "the file may be cut off: copy it again, or save the model again" in " ".join(
        said.split()
    )


def test_a_page_is_not_printed_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(UsageError, match="give it a file: --format html=audit.html"):
        reporting("audit", [OutputRequest("html")], None)
    assert reporting("audit", [OutputRequest("html", "-")], None).on_stdout == "html"


def test_a_signed_page_does_not_call_decided_what_it_calls_not_decided(folder):
    policy = folder / "many.toml"
    policy.write_text(
        'name = "m"\nversion = "1"\ntitle = "m"\n[[check]]\nid = "certain"\n'
        'measure = "certain_disclosure"\nrule = "at_most"\nlimit = 1000\n'
    )
    more = ("--policy", policy, "--format", "compliance")
    page = audited(folder, "model.json", "ill", "people.csv", *more)
    assert page.exit_code == 0, page.output
    text = " ".join(re.sub("<[^>]+>", " ", page.output).split())
    _, _, below = text.partition(
        "Every check of the policy that applies to this model was decided."
    )
    assert below.startswith(" What is called not decided below is limited by no check of it.")
    assert "Whole records that the file alone proves: not decided." in below


def test_more_time_is_named_only_where_it_may_decide(folder):
    """A tree of which some splits cannot be followed stays open, however long tables are searched for."""
    sklearn_tree = pytest.importorskip("sklearn.tree")
    table = pd.read_csv(folder / "people.csv")
    model = sklearn_tree.DecisionTreeClassifier(max_depth=1).fit(table[["age"]], table["ill"])
    worlds = tw.audit(model, table, sensitive="ill")._audit.full.evidence.worlds
    assert replace(worlds, left=(OUT_OF_TIME,)).is_out_of_time
    assert not replace(worlds, left=(IN_DOUBT, OUT_OF_TIME)).is_out_of_time
    request = Request(folder / "model.json", folder / "people.csv", AuditOptions(sensitive="ill"))
    evidence = SimpleNamespace(model=read_model(folder / "model.json"))
    first = _past_time(request, evidence, is_in_doubt=False)
    assert "--worlds-budget 200" in first.command
    more = replace(request, options=AuditOptions(sensitive="ill", worlds_budget=200.0))
    again = _past_time(more, evidence, is_in_doubt=False)
    assert "Treat the check as failed" in again.text
    assert not again.command
    doubtful = _past_time(request, evidence, is_in_doubt=True)
    assert doubtful.text.startswith("More time does not help")
    assert doubtful.command.startswith("treewarden convert")


@pytest.mark.parametrize("learner", ["PolicyTreeClassifier", "PolicyTreeRegressor"])
def test_all_that_a_tree_grown_under_a_policy_keeps_is_known(learner, tmp_path):
    sio = pytest.importorskip("skops.io")
    make = getattr(pytest.importorskip("treewarden.learn"), learner)
    pipeline = pytest.importorskip("sklearn.pipeline")
    scaler = pytest.importorskip("sklearn.preprocessing").MaxAbsScaler()
    table = pd.DataFrame({"age": [20, 30, 40, 50] * 100, "pay": [1, 2, 3, 4, 5] * 80})
    ill = ((table.age > 30) ^ (table.pay == 1)).astype(int)
    target = ill if "Class" in learner else table.age * 2.0 + table.pay
    settings = {"audit": False, "folds": 0, "policy": "baseline"}
    for model in (make(**settings), pipeline.make_pipeline(scaler, make(**settings))):
        sio.dump(model.fit(table, target), tmp_path / "model.skops")
        leaks = open_model((tmp_path / "model.skops").read_bytes(), "model.skops").leaks
        unknown = [leak for leak in leaks if leak.kind is LeakKind.UNKNOWN]
        assert all(leak.removable for leak in unknown), unknown
    odd = {"policy": "Mr. Miller", "verdict_": "Mr. Miller", "share_drawn": "0.123456789012"}
    for name, text in odd.items():
        model = make(**settings).fit(table, target)
        setattr(model, name, text)
        sio.dump(model, tmp_path / "odd.skops")
        leaks = open_model((tmp_path / "odd.skops").read_bytes(), "odd.skops").leaks
        assert any(leak.kind is LeakKind.UNKNOWN and name in leak.what for leak in leaks), name


def test_the_command_for_a_rounded_file_names_the_settings_that_are_stated_before(folder):
    lines = ("Publish exactly the repaired file.", "state them (--knowledge): subsample = 1")
    attempt = SimpleNamespace(is_applied=True, remedies=("round_leaves",))
    before = SimpleNamespace(verdict="FAIL")
    document = SimpleNamespace(
        redacted_below=None,
        next_steps=lines,
        repair=SimpleNamespace(before=before, attempts=(attempt,)),
    )
    request = Request(folder / "model.json", folder / "people.csv", AuditOptions(sensitive="ill"))
    first, second, _ = repair_next_steps(request, None, document, folder / "out.json")
    assert first.text == lines[1]
    assert second.command.endswith("--knowledge training.toml")

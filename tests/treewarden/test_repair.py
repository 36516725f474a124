"""``treewarden repair``: the repaired file, its proof, and what is left alone."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import replace

import numpy as np
import pytest

from tests.kit.run import run_command
from tests.treewarden.conftest import CLAUSE, PMML
from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import auditing, repair_file
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import Proposal
from treewarden.ppdm_models.files.load import open_model, read_tree, writers
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tables.read_table import read_table, table_of
from treewarden.ppdm_models.tree.tree import Feature


def test_what_it_writes_passes_the_audit_that_the_original_fails(files):
    target = files.folder / "fixed.pmml"
    harsh = ["--policy", files.policy("harsh")]
    assert files.run("audit", *harsh).exit_code == 1
    outcome = files.run("repair", *harsh, "-o", target)
    assert outcome.exit_code == 0
    assert f"written: {target}" in outcome.stderr
    files.model.write_bytes(target.read_bytes())
    assert files.run("audit", *harsh).exit_code == 0


def test_the_repaired_file_is_in_the_format_of_the_original(files):
    target = files.folder / "fixed.pmml"
    files.run("repair", "--policy", files.policy("harsh"), "-o", target)
    assert (read_tree(target).format, len(read_tree(target).leaves)) == ("pmml", 2)


def test_the_original_is_not_changed(files):
    before = files.model.read_bytes()
    files.run("repair", "--policy", files.policy("harsh"), "-o", files.folder / "fixed.pmml")
    assert files.model.read_bytes() == before


def test_a_tree_that_passes_is_not_written_again(files):
    target = files.folder / "fixed.pmml"
    outcome = files.run("repair", "--policy", files.policy("lenient"), "-o", target)
    assert outcome.exit_code == 0
    assert not target.exists()


def test_nothing_is_written_where_nothing_passes(files):
    target = files.folder / "fixed.pmml"
    outcome = files.run("repair", "--policy", files.policy("hopeless"), "-o", target)
    assert outcome.exit_code == 1
    assert not target.exists()
    assert "is not written" in outcome.stderr


def test_the_reports_compare_before_and_after(files):
    out = files.folder / "out"
    out.mkdir()
    target = files.folder / "fixed.pmml"
    asked = ["--policy", files.policy("harsh"), "-o", target, "--report", out]
    outcome = files.run("repair", *asked, "--format", "json", "--format", "html")
    said = json.loads((out / "repair.json").read_bytes())
    assert outcome.exit_code == 0
    assert sorted(os.listdir(out)) == ["repair.html", "repair.json"]
    assert (said["repair"]["before"]["verdict"], said["verdict"]) == ("FAIL", "PASS")
    assert (said["repair"]["before"]["leaves"], said["repair"]["after"]["leaves"]) == (3, 2)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("flu.pmml", "is an input"),
        ("./sub/../flu.pmml", "is an input"),
        ("people.csv", "is an input"),
        ("harsh.toml", "is an input"),
        ("there.pmml", "already exists"),
        ("nowhere/fixed.pmml", "no such folder"),
        ("sub", "is a folder"),
    ],
)
def test_an_output_that_cannot_be_is_refused_before_any_work(files, monkeypatch, output, message):
    monkeypatch.chdir(files.folder)
    (files.folder / "sub").mkdir()
    (files.folder / "there.pmml").write_bytes(b"kept")
    model = files.model.read_bytes()
    outcome = files.run("repair", "--policy", "harsh.toml", "-o", output)
    assert outcome.exit_code == 4
    assert message in outcome.stderr
    assert (files.model.read_bytes(), (files.folder / "there.pmml").read_bytes()) == (
        model,
        b"kept",
    )


def test_the_list_shows_every_change_and_writes_nothing(files):
    before = sorted(files.folder.iterdir())
    outcome = files.run("repair", "--policy", files.policy("harsh"), "--list")
    assert outcome.exit_code == 0
    assert "* prune_apt  PASS" in outcome.stdout
    assert sorted(files.folder.iterdir()) == before


def test_without_a_file_to_write_it_asks_for_one(files):
    outcome = files.run("repair", "--policy", files.policy("harsh"))
    assert outcome.exit_code == 2
    assert "-o FILE" in outcome.stderr


def test_a_change_is_applied_by_its_name(files):
    target = files.folder / "fixed.pmml"
    asked = ["--policy", files.policy("unsure"), "-o", target, "--apply"]
    listed = files.run("repair", "--policy", files.policy("unsure"), "--list").stdout
    chosen = "redact-2"
    assert f"  {chosen}  PASS" in listed
    outcome = files.run("repair", *asked, chosen, "--verbose")
    assert outcome.exit_code == 0
    assert f"+ {chosen}  PASS" in outcome.stdout
    assert all(leaf.bands for leaf in read_tree(target).leaves)


def test_bands_are_as_wide_as_asked_for(files):
    def widths(*bands):
        asked = ["--policy", files.policy("unsure"), "--list", *bands]
        return set(re.findall(r"finer\s+than\s+(\d+)", files.run("repair", *asked).stdout))

    assert "4" not in widths()
    assert widths("--band", "4") == {"4"}
    assert files.run("repair", "--list", "--band", "1").exit_code == 2


def test_labels_only_leaves_no_number_of_people_in_the_file(files):
    policy, target = files.folder / "both.toml", files.folder / "fixed.pmml"
    head, clause = CLAUSE.split("[[clause]]")
    clauses = [("sure", "confidence", 0.7), ("believed", "label_disclosure", 1.0)]
    said = [f'id = "{i}"\nmeasure = "{m}"\nrule = "at_most"\nlimit = {x}\n' for i, m, x in clauses]
    policy.write_text(head.format(name="both") + "".join(f"[[clause]]\n{each}" for each in said))
    listed = files.run("repair", "--policy", policy, "--list").stdout
    name = next(reversed(re.findall(r"^ *(redact-\d+)  PASS", listed, re.MULTILINE)))
    assert listed.index(name) < listed.index("labels only")
    outcome = files.run("repair", "--policy", policy, "-o", target, "--apply", name)
    assert outcome.exit_code == 0, outcome.output
    assert b"recordCount" not in target.read_bytes()


@pytest.mark.parametrize(
    ("policy", "name", "code", "message"),
    [
        ("harsh", "prune_all", 2, "no change is called 'prune_all'; use prune_apt"),
        ("unsure", "redact-4", 1, "redact-4 does not pass (FAIL)"),
    ],
)
def test_only_a_change_that_passes_is_applied(files, policy, name, code, message):
    target = files.folder / "fixed.pmml"
    outcome = files.run("repair", "--policy", files.policy(policy), "-o", target, "--apply", name)
    assert outcome.exit_code == code
    assert message in outcome.stderr
    assert not target.exists()


def test_the_loss_on_records_held_out_is_in_the_table(files):
    held = files.folder / "held.csv"
    held.write_text("age,sex,flu\n50,F,yes\n50,M,yes\n60,M,no\n", encoding="utf-8")
    asked = ["--policy", files.policy("harsh"), "--list", "--holdout", held]
    said = files.run("repair", *asked, "--format", "json").stdout
    (tried,) = json.loads(said)["repair"]["attempts"]
    assert (tried["loss_before"]["text"], tried["loss_after"]["text"]) == ("33.3 %", "33.3 %")


def test_hierarchies_are_read_and_must_fit(files):
    stray = files.folder / "height.csv"
    stray.write_text("1,*\n2,*\n", encoding="utf-8")
    asked = ["--policy", files.policy("harsh"), "--list", "--taxonomy", stray]
    outcome = files.run("repair", *asked)
    assert outcome.exit_code == 4
    assert "height" in outcome.stderr


def test_the_audits_are_the_same_for_any_number_of_processes(files):
    request = Request(files.model, files.table, AuditOptions("flu"), policy=files.policy("unsure"))
    subject = read_subject(request)
    tree = subject.tree
    twice = [Proposal((), "as it is", tree, (), tuple(range(len(tree.nodes))))] * 2
    alone = dict(auditing(subject, "x.pmml", lambda count: 0)(iter(twice), 2))
    shared = dict(auditing(subject, "x.pmml", lambda count: 2)(iter(twice), 2))
    assert set(alone) == set(shared) == {0, 1}
    for one, two in ((alone[number], shared[number]) for number in alone):
        assert one.full.readings == two.full.readings
        assert (
            one.full.evidence.posterior.values.tobytes()
            == two.full.evidence.posterior.values.tobytes()
        )


@pytest.mark.parametrize("named", ["flu", ""])
def test_the_table_is_written_where_the_change_that_goes_with_it_is_applied(files, named):
    rows = [("x", "m", "a", 6), ("x", "m", "b", 2), ("y", "m", "a", 2), ("y", "m", "b", 6)]
    rows += [("x", "n", "b", 2)]
    flat = [row[:3] for row in rows for _ in range(row[3])]
    columns = dict(zip(("f", "g", "flu"), zip(*flat, strict=True), strict=True))
    table = table_of(columns)
    features = {name: table.column(Feature(name, False, ())) for name in ("f", "g")}
    codes = table.column(Feature("flu", False, ("a", "b"))).codes
    tree = BestFirst("gini").growth(features, of_classes("flu", codes, ("a", "b")), 2).tree(2)
    tree = replace(tree, target=named)
    files.model.write_bytes(writers()["treewarden_json"].write(tree))
    files.table.write_text("\n".join(",".join(row) for row in [tuple(columns), *flat]) + "\n")
    target, beside = files.folder / "fixed.json", files.folder / "beside.csv"
    policy = files.folder / "four.toml"
    policy.write_text((files.folder / "harsh.toml").read_text().replace("10", "4"))
    asked = ["--policy", policy, "-o", target, "--with-table", beside, "--no-worlds"]
    outcome = files.run("repair", *asked, "--apply", "sanitize_tpp")
    assert outcome.exit_code == 0, outcome.output
    assert sorted(read_table(beside).columns) == ["f", "flu", "g"]
    assert len(read_tree(target).leaves) == 2


def test_a_table_whose_rows_carry_weights_is_not_sanitised(files):
    asked = ["--policy", files.policy("harsh"), "-o", files.folder / "fixed.pmml"]
    asked += ["--with-table", files.folder / "beside.csv", "--weights", "age"]
    outcome = files.run("repair", *asked)
    assert outcome.exit_code == 2
    assert "repeat each row as often as its weight" in " ".join(outcome.stderr.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--taxonomy", "lacks/sex.csv"], "sex.csv: 'sex': lacks the value 'M'; add it"),
        (["--taxonomy", "round/sex.csv"], "sex.csv: a cycle: '"),
        (["--taxonomy", "round.toml"], "round.toml:2: 'sex': a cycle: 'F' falls under itself"),
        (
            ["--holdout", "held.csv"],
            "held.csv (the held-out records): column 'flu' has no class of the tree",
        ),
    ],
)
def test_a_bad_hierarchy_or_holdout_is_named_and_nothing_is_written(
    files, monkeypatch, words, message
):
    monkeypatch.chdir(files.folder)
    for folder, rows in (("lacks", "F;person;*"), ("round", "F;person;*\nM;F;*\nperson;M;*")):
        (files.folder / folder).mkdir()
        (files.folder / folder / "sex.csv").write_text(rows, encoding="utf-8")
    (files.folder / "round.toml").write_text('[sex]\nF = ["M"]\nM = ["F"]\n', encoding="utf-8")
    (files.folder / "held.csv").write_text("age,sex,flu\n50,F,1\n60,M,2\n", encoding="utf-8")
    outcome = files.run("repair", "--policy", "harsh.toml", "-o", "fixed.pmml", *words)
    assert outcome.exit_code == 4
    assert message in outcome.stderr
    assert "Traceback" not in outcome.output
    assert not (files.folder / "fixed.pmml").exists()


def test_a_tree_of_numbers_says_what_keeps_a_clause_about_classes_from_being_decided(files):
    text = re.sub(r"\s*<ScoreDistribution[^>]*/>", "", PMML).replace("classification", "regression")
    text = text.replace('score="no"', 'score="1.5"').replace('score="yes"', 'score="2.5"')
    text = text.replace(
        'optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>',
        'optype="continuous" dataType="double"/>',
    )
    files.model.write_text(text, encoding="utf-8")
    asked = ["--policy", files.policy("unsure"), "-o", files.folder / "fixed.pmml"]
    outcome = files.run("repair", *asked, "--verbose", sensitive=False)
    assert outcome.exit_code == 3
    assert "the tree predicts a number" in " ".join(outcome.output.split())
    assert not (files.folder / "fixed.pmml").exists()


def test_force_replaces_the_output(files):
    target = files.folder / "there.pmml"
    target.write_bytes(b"old")
    files.run("repair", "--policy", files.policy("harsh"), "-o", target, "--force")
    assert read_tree(target).format == "pmml"


def test_provenance_names_files_without_folders_and_by_digest(files):
    said = CommandClock().provenance(Request(files.model, files.table), load_pack("strict"))
    assert (said.model.name, said.table.name, said.pack.name) == (
        "flu.pmml",
        "people.csv",
        "strict",
    )
    assert said.model.sha256 == hashlib.sha256(files.model.read_bytes()).hexdigest()


def test_a_repair_can_be_written_in_another_format(files):
    target = files.folder / "fixed.json"
    outcome = files.run(
        "repair", "--policy", files.policy("harsh"), "-o", target, "--to", "treewarden_json"
    )
    assert outcome.exit_code == 0
    assert (read_tree(target).format, len(read_tree(target).leaves)) == ("treewarden_json", 2)


READ_ONLY = """n= 40

node), split, n, loss, yval, (yprob)
      * denotes terminal node

1) root 40 19 no (0.5250000 0.4750000)
  2) age< 40 20 8 no (0.6000000 0.4000000) *
  3) age>=40 20 9 yes (0.4500000 0.5500000)
    6) sex=F 12 3 yes (0.2500000 0.7500000) *
    7) sex=M 8 2 no (0.7500000 0.2500000) *
"""


def test_a_format_that_is_only_read_is_an_error_that_says_what_to_do(files):
    files.model.write_text(READ_ONLY, encoding="utf-8")
    target = files.folder / "fixed.txt"
    asked = ["--policy", files.policy("harsh"), "-o", target]
    outcome = files.run("repair", *asked, sensitive=False)
    assert outcome.exit_code == 4
    assert "cannot write" in outcome.stderr
    assert "add --to pmml to write only the tree" in outcome.stderr
    assert files.run("repair", *asked, "--to", "pmml", sensitive=False).exit_code == 0
    assert read_tree(target).format == "pmml"


def test_the_list_is_shown_too_where_the_change_to_apply_does_not_pass(files):
    asked = ["--policy", files.policy("unsure"), "--list", "--apply", "redact-4"]
    outcome = files.run("repair", *asked)
    assert outcome.exit_code == 1
    assert "Tried, best first" in outcome.stdout
    assert re.search(r"^ *redact-4 +FAIL", outcome.stdout, re.MULTILINE)
    assert "nothing is written: redact-4 does not pass (FAIL)" in outcome.stderr


def test_the_list_is_shown_too_where_no_change_has_the_name_to_apply(files):
    outcome = files.run(
        "repair", "--policy", files.policy("harsh"), "--list", "--apply", "prune_all"
    )
    assert outcome.exit_code == 2
    assert "* prune_apt  PASS" in outcome.stdout
    assert "no change is called 'prune_all'; use prune_apt" in outcome.stderr


def test_a_change_to_apply_is_said_to_be_left_out_where_the_model_passes(files):
    target = files.folder / "fixed.pmml"
    asked = ["--policy", files.policy("lenient"), "-o", target, "--apply", "prune_apt"]
    outcome = files.run("repair", *asked)
    assert outcome.exit_code == 0
    assert "prune_apt is not applied: The tree passes as it is" in outcome.stderr
    assert not target.exists()


def test_what_is_tried_is_told_with_what_came_of_it(files):
    outcome = files.run("repair", "--policy", files.policy("harsh"), "--list")
    assert "trying prune_apt: " in outcome.stderr
    assert "prune_apt: PASS; 0 more to try" in outcome.stderr
    assert "passes: prune_apt (" in outcome.stderr
    assert (
        "trying"
        not in files.run("repair", "--policy", files.policy("harsh"), "--list", "--quiet").stderr
    )


def test_at_the_time_limit_what_was_not_tried_is_listed_and_nothing_is_written(files):
    target = files.folder / "fixed.pmml"
    asked = ["--policy", files.policy("harsh"), "--time-limit", "0.000001"]
    outcome = files.run("repair", *asked, "--list")
    assert outcome.exit_code == 1
    assert "prune_apt  UNDETERMINED" in outcome.stdout
    assert "not audited: the time was up" in outcome.stdout
    assert "ran out of time: 1 change was not tried" in " ".join(outcome.stdout.split())
    assert files.run("repair", *asked, "-o", target).exit_code == 1
    assert not target.exists()


def test_a_limit_that_is_not_reached_changes_nothing(files):
    asked = ["--policy", files.policy("unsure"), "--list"]
    plain, limited = (
        files.run("repair", *asked, *more).stdout for more in ([], ["--time-limit", "3600"])
    )
    assert plain == limited


def test_what_costs_more_than_what_passes_is_audited_only_for_the_list(files):
    target = files.folder / "fixed.pmml"
    asked = ["--policy", files.policy("unsure")]
    assert "costs more than" not in files.run("repair", *asked, "--list").stdout
    outcome = files.run("repair", *asked, "-o", target, "--verbose")
    assert outcome.exit_code == 0
    assert "not audited: it costs more than redact-1, which passes" in outcome.stdout


def test_the_change_that_is_applied_tells_of_other_tables_what_an_audit_of_it_tells(files):
    skops, tree = pytest.importorskip("skops.io"), pytest.importorskip("sklearn.tree")
    ages = [20 + i % 30 for i in range(60)]
    flu = ["yes" if i % 30 in (3, 4) or (i % 30 > 14 and i % 7) else "no" for i in range(60)]
    grown = tree.DecisionTreeClassifier(max_leaf_nodes=5, random_state=0)
    model, table = files.folder / "grown.skops", files.folder / "grown.csv"
    skops.dump(grown.fit(np.array(ages, dtype=float)[:, None], flu), model)
    rows = "\n".join(f"{age},{said}" for age, said in zip(ages, flu, strict=True))
    table.write_text(f"x0,flu\n{rows}\n")
    options = AuditOptions("flu", levels=False, worlds_budget=1000)
    subject = read_subject(Request(model, table, options, policy=files.policy("harsh")))
    repaired = repair_file(subject, "fixed.json", target="treewarden_json")
    applied = repaired.repair.applied
    assert applied is not None, repaired.repair.message
    again = subject.audit(open_model(repaired.file, "fixed.json"))
    told = applied.audit.full.evidence.worlds.witnesses
    assert "consistent" not in {each.grade for each in told}
    assert told
    assert told == again.full.evidence.worlds.witnesses
    assert any(each is applied for each in repaired.repair.attempts)


def test_the_help_says_that_a_file_for_the_model_is_required(files):
    said = " ".join(run_command("repair", "--help").stdout.split())
    assert "The file for the repaired model. [required, or --list]" in said
    missing = files.run("repair", "--policy", files.policy("harsh"))
    assert (missing.exit_code, "add -o FILE" in missing.stderr) == (2, True)


def test_whoever_publishes_the_least_withholding_is_told_what_its_choice_tells(files):
    pure = {
        '"no" recordCount="21"': '"no" recordCount="29"',
        '"yes" recordCount="19"': '"yes" recordCount="11"',
        '"no" recordCount="12"': '"no" recordCount="20"',
        '"yes" recordCount="8"': '"yes" recordCount="0"',
    }
    text = PMML
    for old, new in pure.items():
        text = text.replace(old, new, 1)
    files.model.write_text(text, encoding="utf-8")
    groups = (("30,F,no", 20), ("50,F,no", 3), ("50,F,yes", 9), ("50,M,no", 6), ("50,M,yes", 2))
    lines = ["age,sex,flu", *(line for line, number in groups for _ in range(number))]
    files.table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    clause = CLAUSE.format(name="proofs", measure="certain_disclosure", rule="at_most", limit=0)
    (files.folder / "proofs.toml").write_text(clause, encoding="utf-8")
    asked = ("repair", "--policy", files.policy("proofs"), "--split", "none")
    told = files.run(*asked, "-o", files.folder / "some.pmml", "--apply", "withhold_least")
    assert told.exit_code == 0, told.output
    assert "repair with --same-everywhere" in " ".join(told.stdout.split())
    same = files.run(*asked, "-o", files.folder / "all.pmml", "--same-everywhere")
    assert "repair with --same-everywhere" not in " ".join(same.stdout.split())

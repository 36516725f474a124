"""``treewarden policy``: policies are read, explained, tested against their cases, and compared."""

from __future__ import annotations

import json
import tomllib
from functools import partial

import pytest

from tests.kit.run import run_command
from tests.kit.schemas import validator_of
from treewarden.policies.explain.sentences import toml
from treewarden.policies.pack import load_pack, read_pack
from treewarden.policies.shipped import packs_of_tables, shipped_packs, shipped_titles

CASES = """
[[case]]
name = "the small tree"
model = "flu.pmml"
table = "people.csv"
sensitive = "flu"
verdict = "{verdict}"
clauses = {{ {clauses} }}
"""
PACK = """name = "ours"
version = "1"
title = "Ours"
[[clause]]
id = "groups"
measure = "k_anonymity"
rule = "at_least"
limit = {limit}
[[clause]]
id = "few-or-mixed"
severity = "warning"
scope = "leaf"
any = [
    {{ measure = "k_anonymity", rule = "at_least", limit = 5 }},
    {{ measure = "label_disclosure", rule = "at_most", limit = 0.9 }},
]
[[clause]]
id = "mixed"
measure = "distinct_diversity"
rule = "at_least"
limit = 2
"""


run = partial(run_command, "policy")


@pytest.fixture
def pack(files):
    """A policy beside the small tree, which has a leaf of 8."""

    def made(limit=5):
        path = files.folder / "ours.toml"
        path.write_text(PACK.format(limit=limit))
        return path

    return made


def cases(files, verdict, clauses=""):
    (files.folder / "ours.cases.toml").write_text(CASES.format(verdict=verdict, clauses=clauses))


def test_every_policy_that_ships_is_listed():
    shown = run("list").stdout
    listed = [line.split()[0] for line in shown.splitlines()]
    assert listed == sorted([*shipped_packs(), *packs_of_tables()]) == sorted(shipped_titles())


def test_every_policy_that_an_error_offers_is_listed_and_explained():
    offered = run("explain", "nosuch").stderr
    for line in run("list").stdout.splitlines():
        name = line.split()[0]
        assert name in offered
        assert run("explain", name).exit_code == 0


@pytest.mark.parametrize("name", shipped_packs())
def test_a_policy_that_is_shown_reads_back_as_the_same(name):
    outcome = run("show", name)
    assert outcome.exit_code == 0
    assert read_pack(outcome.stdout.encode(), "shown.toml").digest == load_pack(name).digest


def test_what_is_shown_of_a_policy_that_extends_another_holds_all_of_it(files, pack):
    path = files.folder / "more.toml"
    path.write_text(
        f'name = "more"\nversion = "1"\ntitle = "M\\u007fore"\nextends = "{pack().name}"\n'
        '[[clause]]\nid = "groups"\nlimit = 3\nloosen = "few people here"\n'
    )
    shown = run("show", path).stdout
    back = read_pack(shown.encode(), "shown.toml")
    assert [clause.id for clause in back.clauses] == ["groups", "few-or-mixed", "mixed"]
    assert back.clauses[0].limit == 3
    assert "few people here" in shown
    assert toml(back) == toml(read_pack(toml(back).encode(), "again.toml"))


def test_a_sound_policy_is_named_with_its_version_and_checksum(pack):
    outcome = run("check", pack())
    assert outcome.exit_code == 0
    assert f"ours 1, 3 checks, sha256 {load_pack(str(pack())).digest[:16]}" in outcome.stdout


def test_a_policy_that_is_not_understood_is_refused(files, pack):
    path = pack(limit=-1)
    outcome = run("check", path)
    assert outcome.exit_code == 4
    assert "ours.toml: check 'groups': the limit -1 is out of range" in outcome.stderr
    assert run("explain", files.folder / "none.toml").exit_code == 4


def test_each_clause_is_explained_with_what_breaks_it(pack):
    shown = " ".join(run("explain", pack()).stdout.split())
    assert "groups (error) Fewest people in a leaf: at least 5 people." in shown
    assert "Fails if the value is less than 5 people." in shown
    assert "few-or-mixed (warning)" in shown
    assert "at least 5 people or largest share of" in shown
    assert "Fails if fewest people in a leaf: less than 5 people and largest share" in shown
    assert "Checked in each leaf." in shown


def test_each_clause_says_what_it_needs_to_be_told():
    for name in shipped_packs():
        assert "Computed from ." not in run("explain", name).stdout


def test_cases_that_come_out_as_expected_pass_and_name_what_never_fails(files, pack):
    cases(files, "fail", 'groups = "fail"')
    outcome = run("test", pack(limit=10), "-q")
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith("PASS: 1 of 1 case came out as expected.\n")
    assert "so they are not tested yet: few-or-mixed, mixed." in outcome.stdout
    assert "ok       the small tree" not in outcome.stdout
    assert "ok       the small tree" in run("test", pack(limit=10), "-q", "--verbose").stdout


def test_cases_with_a_byte_order_mark_are_read(files, pack):
    cases(files, "fail", 'groups = "fail"')
    path = files.folder / "ours.cases.toml"
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert run("test", pack(limit=10), "-q").exit_code == 0


def test_a_case_that_comes_out_otherwise_exits_with_1_and_says_how(files, pack):
    cases(files, "pass")
    outcome = run("test", pack(limit=10), "-q")
    assert outcome.exit_code == 1
    said = " ".join(outcome.stdout.split())
    assert "differs the small tree the verdict is fail, not pass groups is fail, not pass" in said


def test_a_case_without_an_audit_differs(files, pack):
    cases(files, "pass")
    (files.folder / "people.csv").unlink()
    outcome = run("test", pack(), "-q")
    assert outcome.exit_code == 1
    assert "no audit:" in outcome.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[case]]\nname = 'a'\n", "'model' is missing"),
        ("[[case\n", "not valid TOML"),
        (CASES.format(verdict="pass", clauses='nothing = "fail"'), "no check 'nothing'; use"),
        (CASES.format(verdict="perhaps", clauses=""), "verdict"),
        (2 * CASES.format(verdict="pass", clauses=""), "two cases have this name"),
    ],
)
def test_cases_that_are_not_understood_are_refused(files, pack, text, said):
    (files.folder / "ours.cases.toml").write_text(text)
    outcome = run("test", pack())
    assert (outcome.exit_code, said in outcome.stderr) == (4, True), outcome.stderr


def test_a_policy_without_cases_says_where_they_belong(pack):
    outcome = run("test", pack())
    assert outcome.exit_code == 4
    assert "ours.cases.toml: there is no such file" in outcome.stderr
    assert "write test cases (docs/policy-tests.md)" in outcome.stderr


def test_two_policies_are_compared_clause_by_clause(files, pack):
    old = pack(limit=5).rename(files.folder / "old.toml")
    shown = run("diff", old, pack(limit=7))
    assert shown.exit_code == 0
    assert shown.stdout == "stricter   groups: at least 5 people before, at least 7 people now\n"
    assert run("diff", old, pack(limit=5)).stdout == "Both policies require the same.\n"


def test_a_looser_policy_can_stop_a_pipeline(files, pack):
    old = pack(limit=5).rename(files.folder / "old.toml")
    assert run("diff", "--tighten-only", old, pack(limit=4)).exit_code == 1
    assert run("diff", "--tighten-only", old, pack(limit=6)).exit_code == 0
    new = pack(limit=5)
    new.write_text(new.read_text().split('[[clause]]\nid = "mixed"')[0])
    outcome = run("diff", "--tighten-only", old, new)
    assert (outcome.exit_code, "looser     mixed (removed): " in outcome.stdout) == (1, True)


def test_the_schema_takes_every_policy_that_ships_and_no_unknown_key():
    schema = validator_of(run("schema").stdout)
    for name, file in shipped_packs().items():
        schema.validate(tomllib.loads(file.read_text("utf-8")))
        said = {**tomllib.loads(file.read_text("utf-8")), "more": name}
        assert not schema.is_valid(said)


@pytest.mark.parametrize("budget", ["inf", "nan", "-1", "1e10"])
def test_a_case_with_a_budget_that_cannot_be_is_refused(files, pack, budget):
    cases(files, "fail", f'groups = "fail" }}\nworlds_budget = {budget} # {{')
    outcome = run("test", pack())
    assert outcome.exit_code != 0
    assert "case number 1: 'worlds_budget'" in outcome.output


def test_a_case_says_the_worst_of_any_adversary(files, pack):
    path = pack()
    path.write_text(
        'name = "ours"\nversion = "1"\ntitle = "Ours"\n[[clause]]\nid = "surest"\n'
        'measure = "confidence"\nrule = "at_most"\nlimit = 0.72\n'
    )
    (files.folder / "who.toml").write_text('knows = ["sex"]\n')
    (files.folder / "all.toml").write_text('split = "gini"\n')
    words = ("--adversary", files.folder / "who.toml", "--knowledge", files.folder / "all.toml")
    told = files.run("audit", *words, "--policy", path, "--format", "json").stdout
    assert [each["verdict"] for each in json.loads(told)["findings"]] == ["FAIL", "UNDETERMINED"]
    case = CASES.format(verdict="fail", clauses='surest = "fail"')
    more = 'adversary = "who.toml"\nknowledge = "all.toml"\n'
    (files.folder / "ours.cases.toml").write_text(case + more)
    outcome = run("test", path)
    assert (outcome.exit_code, outcome.stdout[:4]) == (0, "PASS"), outcome.stdout

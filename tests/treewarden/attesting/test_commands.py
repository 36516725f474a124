"""``attest`` and ``verify`` as they are typed: what they write, print, refuse, and end with."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.kit.run import run_command
from tests.treewarden.conftest import CLAUSE


def verify(attesting, *arguments, model=None):
    told = ["verify", "--model", model or attesting.model, *arguments]
    return run_command(*told)


@pytest.fixture
def report(attesting):
    path = attesting.files.folder / "report.json"
    attesting.attest("--report", path)
    return path


def repeat(attesting, report, *more, policy="lenient"):
    told = (report, "--data", attesting.files.table, "--policy", attesting.files.policy(policy))
    return verify(attesting, *told, *more)


def altered(report, change):
    said = json.loads(report.read_text())
    change(said)
    report.write_text(json.dumps(said))
    return report


@pytest.mark.parametrize(("policy", "code"), [("lenient", 0), ("harsh", 1), ("truth", 0)])
def test_attest_ends_as_the_audit_does(attesting, policy, code):
    path = attesting.files.folder / "a.json"
    told = ("--policy", attesting.files.policy(policy), "--key", attesting.key, "-o", path)
    assert attesting.files.run("attest", *told, "--no-worlds").exit_code == code
    assert path.exists()


def test_attest_overwrites_nothing(attesting):
    attesting.attest()
    told = ("--key", attesting.key, "-o", attesting.files.folder / "a.json")
    outcome = attesting.files.run("attest", *told)
    assert outcome.exit_code == 4
    assert "--force" in outcome.stderr


@pytest.mark.parametrize("output", ["flu.pmml", "people.csv", "key.pem"])
def test_attest_never_writes_over_what_it_reads(attesting, output):
    told = ("--key", attesting.key, "-o", attesting.files.folder / output, "--force")
    outcome = attesting.files.run("attest", *told)
    assert outcome.exit_code == 4
    assert "never overwritten" in outcome.stderr


def test_attest_needs_a_table(attesting):
    told = ["attest", attesting.model, "--key", attesting.key, "-o", "a.json"]
    assert run_command(*told).exit_code == 2


def test_attest_refuses_a_day_that_is_past(attesting):
    told = ("--key", attesting.key, "-o", attesting.files.folder / "a.json")
    outcome = attesting.files.run("attest", *told, "--expires", "2001-01-01")
    assert outcome.exit_code == 2
    outcome = attesting.files.run("attest", *told, "--expires", "tomorrow")
    assert "'tomorrow' is not a date; write it as 2027-01-31" in outcome.stderr


def test_the_digest_of_a_report_confirms_no_guess(attesting, report):
    first = json.loads(report.read_text())["provenance"]["salt"]
    attesting.attest("--report", report)
    assert len(first) == 32
    assert json.loads(report.read_text())["provenance"]["salt"] != first


def test_verify_believes_an_attestation(attesting, report):
    path, key = attesting.files.folder / "a.json", Path(f"{attesting.key}.pub")
    outcome = verify(attesting, report, "--attestation", path, "--key", key)
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("valid: ")
    assert "PASS      the-one" in outcome.stdout
    assert "report    report.json, exactly this file" in outcome.stdout


def test_verify_names_who_was_asked_about(attesting):
    files, path = attesting.files, attesting.files.folder / "a.json"
    strict = files.folder / "strict.toml"
    strict.write_text(CLAUSE.format(name="strict", measure="disclosure", rule="at_most", limit=0.1))
    words = ("--policy", strict, "--key", attesting.key, "-o", path, "--no-worlds")
    assert files.run("attest", *words, "--knows", "sex").exit_code == 1
    key = Path(f"{attesting.key}.pub")
    said = verify(attesting, "--attestation", path, "--key", key).stdout.splitlines()
    assert "  asked     about “who knows sex”, who knows sex" in said
    assert said[-2:] == [
        "  FAIL      the-one",
        "  FAIL      the-one (of the adversary “who knows sex”)",
    ]


@pytest.mark.parametrize("name", ["key.pem", "flu.pmml", "none.pub"])
def test_without_a_public_key_nothing_was_checked(attesting, report, name):
    key = attesting.files.folder / name
    outcome = verify(attesting, "--attestation", attesting.files.folder / "a.json", "--key", key)
    assert outcome.exit_code == 4
    assert f"{name}: " in outcome.stderr
    assert outcome.stdout == ""


def test_verify_tells_another_report_from_the_attested_one(attesting, report):
    path, key = attesting.files.folder / "a.json", Path(f"{attesting.key}.pub")
    altered(report, lambda said: said)
    outcome = verify(attesting, report, "--attestation", path, "--key", key)
    assert outcome.exit_code == 1
    assert "not valid: " in outcome.stdout
    assert "is for another report than" in outcome.stdout


def test_verify_refuses_another_model(attesting):
    attesting.attest()
    other = attesting.files.folder / "other.pmml"
    other.write_bytes(attesting.model.read_bytes() + b" ")
    path, key = attesting.files.folder / "a.json", Path(f"{attesting.key}.pub")
    outcome = verify(attesting, "--attestation", path, "--key", key, model=other)
    assert outcome.exit_code == 1
    assert "the attestation is for another file (" in outcome.stdout
    assert "ask the signer for an attestation of this file" in outcome.stdout


def test_verify_does_the_audit_again(attesting, report):
    outcome = repeat(attesting, report)
    assert outcome.exit_code == 0, outcome.output
    assert "verdict: PASS" in outcome.stdout


def test_verify_repeats_an_audit_of_the_file_alone(attesting):
    told = ["audit", attesting.model, "--no-table", "--format", "json"]
    said = run_command(*told).stdout
    path = attesting.files.folder / "alone.json"
    path.write_text(said)
    assert verify(attesting, path).exit_code == 0
    assert verify(attesting, path, "--data", attesting.files.table).exit_code == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said.update(verdict="FAIL"),
        lambda said: said.update(headline="All is well."),
        lambda said: said["findings"][0].update(verdict="FAIL"),
        lambda said: said["findings"][0].update(limit=4),
        lambda said: said["findings"][0].update(message="Fine."),
        lambda said: said["findings"][0]["value"].update(low=80, high=80),
        lambda said: said["readings"]["k_anonymity"].update(low=80, high=80),
        lambda said: said["readings"]["k_anonymity"].update(text="80 records"),
        lambda said: said["findings"].pop(),
        lambda said: said["findings"].append({**said["findings"][0], "clause": "more"}),
        lambda said: said["knowledge"].update(marginal=True),
        lambda said: said["population"].update(records=41),
        lambda said: said["provenance"]["table"].update(sha256="0" * 64),
        lambda said: said["provenance"]["model"].update(sha256="0" * 64),
        lambda said: said["provenance"]["asked"]["knowledge"].update(marginal=True),
    ],
    ids=range(15),
)
def test_verify_finds_what_was_changed_in_a_report(attesting, report, change):
    outcome = repeat(attesting, altered(report, change))
    assert outcome.exit_code == 1, outcome.output
    assert "differs: " in outcome.stdout


def test_verify_finds_another_policy(attesting, report):
    outcome = repeat(attesting, report, policy="harsh")
    assert outcome.exit_code == 1
    assert (
        "differs: digest of the policy: the policy is not the one that was used; give that one"
        in outcome.stdout
    )


def test_what_one_run_could_not_tell_is_open(attesting, report):
    def forget(said):
        value = {"low": None, "high": None, "text": "could not tell", "reason": "time is up"}
        said["readings"]["disclosure"].update(value)

    outcome = repeat(attesting, altered(report, forget))
    assert outcome.exit_code == 3
    assert "could not tell: reading disclosure" in outcome.stdout


@pytest.mark.parametrize(
    "change",
    [
        lambda said: said["provenance"].update(asked=None),
        lambda said: said["provenance"]["asked"]["options"].update(leaf="all"),
        lambda said: said["provenance"]["asked"]["options"].update(more=1),
        lambda said: said["provenance"]["asked"]["knowledge"].update(more=1),
        lambda said: said.update(kind="repair"),
        lambda said: said.update(redacted_below=10),
        lambda said: said.pop("title"),
    ],
    ids=range(7),
)
def test_what_cannot_be_repeated_is_said(attesting, report, change):
    outcome = repeat(attesting, altered(report, change))
    assert outcome.exit_code == 4
    assert outcome.stderr.startswith("nothing was done: ")


def test_verify_needs_something_to_check(attesting):
    assert verify(attesting).exit_code == 2
    assert verify(attesting, "--attestation", "a.json").exit_code == 2


def test_an_audit_under_facts_and_chosen_columns_is_repeated(attesting):
    known, path = attesting.files.folder / "known.toml", attesting.files.folder / "report.json"
    known.write_text(
        'leaf = "counts"\n[[fact]]\nsays = "P(yes | sex = F) >= 0.3"\n'
        '[[fact]]\nrecord = { age = 50, sex = "F" }\nclass = "yes"\n'
    )
    attesting.attest("--knowledge", known, "--qi", "age,sex", "--report", path)
    said = json.loads(path.read_text())["provenance"]["asked"]
    assert len(said["facts"]) == 2
    assert said["options"]["qi"] == ["age", "sex"]
    assert repeat(attesting, path).exit_code == 0
    assert repeat(attesting, altered(path, _other_fact)).exit_code == 1


def _other_fact(said):
    said["provenance"]["asked"]["facts"].pop()


def test_no_file_is_read_because_a_report_names_it(attesting, report):
    altered(report, lambda said: said["policy"].update(name=str(attesting.files.table)))
    outcome = verify(attesting, report, "--data", attesting.files.table)
    assert outcome.exit_code == 4
    assert "give its file: --policy FILE" in outcome.stderr


def test_a_summary_is_refused_where_the_verdict_holds_for_a_time(attesting):
    files = attesting.files
    told = ("--policy", files.policy("lenient"), "--key", attesting.key, "-o", files.folder / "a")
    outcome = files.run(
        "attest", *told, "--vsa", files.folder / "v", "--expires", "2999-01-01", "--no-worlds"
    )
    assert outcome.exit_code == 2
    assert not (files.folder / "v").exists()


def test_a_summary_of_a_failing_audit_holds_no_count_and_no_pass(attesting):
    files = attesting.files
    vsa, bom = files.folder / "v", files.folder / "bom"
    attesting.attest("--vsa", vsa, "--ml-bom", bom, policy="harsh")
    payload = base64.b64decode(json.loads(vsa.read_text())["payload"])
    assert json.loads(payload)["predicate"]["verificationResult"] == "FAILED"
    assert b'"PASS' not in payload
    card = json.loads(bom.read_text())["components"][0]["modelCard"]
    assert card["considerations"]["ethicalConsiderations"][0]["mitigationStrategy"].endswith(
        "FAIL."
    )

"""Models whose table is elsewhere: judged on their file alone, or on the word of an audit made where the table is."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from treewarden.cli import cli

WITHOUT = """policy = "{policy}.toml"

[[model]]
path = "models/flu.pmml"
table = "absent"
sensitive = "flu"
"""


@pytest.fixture
def absent(repository):
    """A gate of one model whose table is not here."""

    def made(policy="truth"):
        repository.configure(WITHOUT.format(policy=policy))
        return repository

    return made


def attested(repository, policy="truth", name="a", model="flu"):
    """Audit where the table is, sign that, and return the attestation and the public key."""
    key, file = repository.folder / f"{name}.pem", repository.folder / f"{name}.json"
    run = CliRunner().invoke
    if not key.exists():
        assert run(cli, ["attest", "--make-key", str(key)]).exit_code == 0
    words = ["attest", repository.model(model), "--data", repository.folder / "people.csv"]
    words += ["--sensitive", "flu", "--policy", repository.folder / f"{policy}.toml", "-q"]
    done = run(cli, [str(word) for word in (*words, "--key", key, "-o", file)])
    assert file.exists(), done.output
    return file, repository.folder / f"{name}.pem.pub"


def entry(repository, *arguments):
    outcome = repository.run("--format", "json", "-q", *arguments)
    (found,) = json.loads(outcome.stdout)["entries"]
    return outcome.exit_code, found


def test_what_needs_people_is_undetermined_and_the_basis_is_the_file(absent):
    code, found = entry(absent())
    assert (code, found["outcome"], found["basis"]) == (3, "UNDETERMINED", "file")


def test_what_the_file_alone_shows_to_be_broken_fails(absent):
    code, found = entry(absent("hopeless"))
    assert (code, found["outcome"], found["basis"]) == (1, "FAIL", "file")


def test_a_signed_audit_stands_for_one_with_the_table(absent):
    repository = absent()
    file, key = attested(repository)
    code, found = entry(repository, "--attestation", file, "--trust", key)
    assert (code, found["outcome"], found["basis"]) == (0, "PASS", "attestation")


def test_a_signed_fail_fails(absent):
    repository = absent("harsh")
    file, key = attested(repository, "harsh")
    code, found = entry(repository, "--attestation", file, "--trust", key)
    assert (code, found["basis"]) == (1, "attestation")


def test_another_key_another_model_and_an_older_policy_stand_for_nothing(absent):
    repository = absent()
    file, key = attested(repository)
    _, other = attested(repository, name="b")
    code, found = entry(repository, "--attestation", file, "--trust", other)
    assert (code, found["basis"]) == (3, "file")
    assert "no attestation is valid: a.json" in found["headline"]

    pack = repository.folder / "truth.toml"
    before = pack.read_text(encoding="utf-8")
    pack.write_text(before.replace("0.99", "0.98"), encoding="utf-8")
    code, found = entry(repository, "--attestation", file, "--trust", key)
    assert (code, found["basis"]) == (3, "file"), found["headline"]
    assert "judged by" in found["headline"]

    pack.write_text(before, encoding="utf-8")
    repository.change()
    code, found = entry(repository, "--attestation", file, "--trust", key)
    assert (code, found["basis"]) == (3, "file")
    assert "ask the signer for an attestation of this file" in found["headline"]


def test_an_attestation_is_no_word_about_a_model_whose_table_is_here(repository):
    repository.configure(WITHOUT.format(policy="harsh").replace("absent", "people.csv"))
    file, key = attested(repository, "harsh")
    code, found = entry(repository, "--attestation", file, "--trust", key)
    assert (code, found["basis"]) == (1, "audit")


def test_a_kept_result_is_forgotten_with_the_attestation_that_it_rests_on(absent):
    repository = absent()
    file, key = attested(repository)
    asked = ("--attestation", file, "--trust", key)
    assert entry(repository, *asked)[1]["is_cached"] is False
    assert entry(repository, *asked)[1]["is_cached"] is True
    assert entry(repository)[0] == 3
    said = file.read_text(encoding="utf-8")
    file.write_text(said[:-20] + said[-19:], encoding="utf-8")
    assert entry(repository, *asked)[0] == 3


@pytest.mark.parametrize("given", [("--attestation", "a"), ("--trust", "a")])
def test_whose_word_is_taken_has_to_be_said(absent, given):
    assert absent().run(*given).exit_code == 2


def test_an_attestation_that_is_not_there_ends_the_gate(absent):
    repository = absent()
    outcome = repository.run("--attestation", "none.json", "--trust", "none.pub")
    assert (outcome.exit_code, "none.json: there is no such file" in outcome.stderr) == (4, True)


@pytest.mark.parametrize("asked", ['knows = ["sex"]', 'secret = "sex"'])
def test_a_signed_audit_does_not_stand_for_who_knows_some_columns(absent, asked):
    repository = absent()
    file, key = attested(repository)
    repository.configure(WITHOUT.format(policy="truth") + asked + "\n")
    code, found = entry(repository, "--attestation", file, "--trust", key)
    assert code not in (0, 1)
    assert found["outcome"] != "PASS"


def test_a_gate_that_maps_columns_takes_an_attestation_with_the_same_mapping(repository):
    people = repository.folder / "people.csv"
    people.write_text(people.read_text("utf-8").replace("age", "years", 1), encoding="utf-8")
    key, file = repository.folder / "k.pem", repository.folder / "k.json"
    run = CliRunner().invoke
    assert run(cli, ["attest", "--make-key", str(key)]).exit_code == 0
    words = ["attest", repository.model("flu"), "--data", people, "--sensitive", "flu"]
    words += ["--policy", repository.folder / "truth.toml", "--columns", "age=years", "-q"]
    done = run(cli, [str(word) for word in (*words, "--key", key, "-o", file)])
    assert done.exit_code == 0, done.output
    public = repository.folder / "k.pem.pub"
    for columns, basis in (('{ age = "years" }', "attestation"), ('{ age = "weight" }', "file")):
        repository.configure(WITHOUT.format(policy="truth") + f"columns = {columns}\n")
        _, found = entry(repository, "--attestation", file, "--trust", public)
        assert found["basis"] == basis, found["headline"]

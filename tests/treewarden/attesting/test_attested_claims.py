"""A claim of differential privacy in an attestation: what is stated, what came of it, and how it is checked again."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.judges.drawn_labels import claim, labelled_tree
from tests.kit.run import run_command
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.jobs.attesting.attesting import opened, read, sealed, written
from treewarden.jobs.attesting.checking import CheckRequest, answered
from treewarden.jobs.attesting.keys import (
    OtherModelError,
    OtherQuestionError,
    make_pair,
    private_key,
    public_key,
)
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.tree.privacy_claim import plain_claims

LEAVES, LABELS = [[7, 5], [4, 4], [12, 3]], [0, 1, 0]
PUBLIC = "bounds=public, splits=independent, mechanism=permute-and-flip-monotonic"
POLICY = """name = "p"
version = "1"
title = "p"

[[check]]
id = "epsilon"
measure = "epsilon"
rule = "at_most"
limit = 1
"""


@dataclass(frozen=True)
class Claiming:
    """A model that says its claim or nothing of it, its table, a policy, and a pair of keys."""

    folder: Path

    @property
    def model(self):
        return self.folder / "model.json"

    @property
    def table(self):
        return self.folder / "people.csv"

    @property
    def policy(self):
        return self.folder / "policy.toml"

    @property
    def key(self):
        return self.folder / "key.pem"

    @property
    def public(self):
        return self.folder / "key.pem.pub"

    def run(self, command, *more):
        told = ("--data", self.table, "--sensitive", "illness", "--policy", self.policy)
        return run_command(command, self.model, *told, "--no-worlds", *more)

    def attest(self, *more):
        out = self.folder / "a.json"
        outcome = self.run("attest", "--key", self.key, "-o", out, "--force", *more)
        assert outcome.exit_code in (0, 1, 3), outcome.output
        return out

    def statement(self, path):
        key = public_key(self.public.read_bytes())
        return read(opened(path.read_bytes(), key, "a"), "a").predicate

    def verify(self, *more):
        told = (
            "--attestation",
            self.folder / "a.json",
            "--key",
            self.public,
            "--policy",
            self.policy,
        )
        return run_command("verify", "--model", self.model, *told, *more)


def claiming(folder, said):
    files = Claiming(folder)
    tree = labelled_tree(LEAVES, LABELS, said)
    files.model.write_bytes(writers()["treewarden_json"].write(tree))
    rows = [
        f"p{leaf},c{code}"
        for leaf, counts in enumerate(LEAVES)
        for code, count in enumerate(counts)
        for _ in range(count)
    ]
    files.table.write_text("\n".join(["place,illness", *rows]) + "\n")
    files.policy.write_text(POLICY)
    make_pair(files.key)
    return files


@pytest.mark.parametrize(
    ("said", "words", "outcome"),
    [
        (claim(0.5), (), "not refuted"),
        (None, (f"epsilon=0.5, {PUBLIC}",), "not refuted"),
        (None, (f"epsilon=0.5, {PUBLIC}, seed=known",), "void"),
        (None, ("epsilon=0.5, splits=independent",), "undetermined"),
        (
            None,
            (f"epsilon=0.5, {PUBLIC.replace('independent', 'private')}, label_epsilon=3",),
            "refuted",
        ),
    ],
)
def test_an_attestation_states_the_claim_and_what_came_of_it(tmp_path, said, words, outcome):
    files = claiming(tmp_path, said)
    path = files.attest(*(("--claims", *words) if words else ()))
    found = files.statement(path)
    assert found.claim.outcome == outcome
    assert found.claim.words.startswith("epsilon=0.5, unit=record")
    assert found.knowledge.claims == (plain_claims(words[0]) if words else None)
    shown = files.verify()
    assert shown.exit_code == 0, shown.output
    assert f"claim     {outcome}: epsilon=0.5" in shown.stdout


def test_labels_that_contradict_the_table_are_attested_as_undetermined(tmp_path):
    files = claiming(tmp_path, claim(1.0))
    rows = files.table.read_text().replace("p2,c0\n", "p2,c1\n" * 4)  # leaf 2 names c0
    files.table.write_text(rows)
    predicate = files.statement(files.attest())
    assert predicate.claim.outcome == "undetermined"
    assert predicate.verdict == "UNDETERMINED"


def test_a_model_without_a_claim_is_attested_as_before(tmp_path):
    files = claiming(tmp_path, None)
    path = files.attest()
    payload = json.loads(opened(path.read_bytes(), public_key(files.public.read_bytes()), "a"))
    assert "claim" not in payload["predicate"]
    assert "claims" not in payload["predicate"]["knowledge"]
    assert files.statement(path).claim is None


def test_the_audit_of_an_attested_claim_can_be_repeated_from_its_report(tmp_path):
    files = claiming(tmp_path, None)
    report = tmp_path / "report.json"
    files.attest("--claims", f"epsilon=0.5, {PUBLIC}", "--report", report)
    outcome = files.verify(report, "--data", files.table)
    assert outcome.exit_code == 0, outcome.output
    assert "claims" in outcome.stdout
    document = json.loads(report.read_text())
    document["claims"][0]["outcome"] = "void"
    report.write_text(json.dumps(document))
    told = (report, "--model", files.model, "--data", files.table, "--policy", files.policy)
    altered = run_command("verify", *told)
    assert altered.exit_code == 1
    assert "differs: claims" in altered.stdout


def test_an_attested_claim_is_checked_against_the_file(tmp_path):
    files = claiming(tmp_path, claim(0.5))
    path = files.attest()
    envelope, public = path.read_bytes(), files.public.read_bytes()
    held = answered(envelope, public, files.model, CheckRequest())
    assert held.predicate.claim.outcome == "not refuted"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"words": "epsilon=0.1, unit=record"}, "but the file claims 'epsilon=0.5"),
        ({"outcome": "not refuted"}, "differential-privacy claim is not valid"),
    ],
)
def test_a_signed_claim_that_is_not_the_files_is_refused(tmp_path, change, said):
    files = claiming(tmp_path, claim(0.5, f"{PUBLIC}, seed=known"))
    envelope, public = files.attest().read_bytes(), files.public.read_bytes()
    statement = read(opened(envelope, public_key(public), "a"), "a")
    other = statement.predicate.claim.model_copy(update=change)
    predicate = statement.predicate.model_copy(update={"claim": other})
    forged = written(statement.model_copy(update={"predicate": predicate}))
    envelope = sealed(forged, private_key(files.key.read_bytes(), "key"))
    with pytest.raises(OtherModelError, match=said):
        answered(envelope, public, files.model, CheckRequest())


def test_a_gate_takes_no_attestation_of_another_claim(tmp_path):
    files = claiming(tmp_path, None)
    path = files.attest("--claims", f"epsilon=0.5, {PUBLIC}")
    envelope, public = path.read_bytes(), files.public.read_bytes()
    same = CheckRequest(knowledge=Knowledge(), claims=plain_claims(f"{PUBLIC},epsilon=0.5"))
    same = answered(envelope, public, files.model, same)
    assert same.predicate.claim.outcome == "not refuted"
    for words in (None, plain_claims(f"epsilon=0.1, {PUBLIC}")):
        asked = CheckRequest(knowledge=Knowledge(), claims=words)
        with pytest.raises(OtherQuestionError, match="claim of differential privacy"):
            answered(envelope, public, files.model, asked)


def test_the_bill_of_materials_names_the_claim(tmp_path):
    files = claiming(tmp_path, claim(0.5))
    bill = tmp_path / "bom.json"
    files.attest("--ml-bom", bill)
    (component,) = json.loads(bill.read_text())["components"]
    named = {entry["name"]: entry["value"] for entry in component["properties"]}
    assert named["treewarden:claim"].startswith("not refuted: epsilon=0.5")

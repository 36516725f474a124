"""What is accepted is accepted for a time, and so is an attestation that counts on it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.jobs.attesting.attesting import Sha256, attestation
from treewarden.jobs.attesting.checking import CheckRequest, answered, attested_entry, checked
from treewarden.jobs.attesting.keys import (
    AttestationError,
    ExpiredError,
    OtherQuestionError,
    private_key,
)
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.jobs.further_files import load_public_domain
from treewarden.jobs.inputs import ModelBytes, file_of_source
from treewarden.policies.judging.decision import Accepted
from treewarden.policies.pack import load_pack
from treewarden.policies.verdict import PolicyVerdict
from treewarden.reports.document.parts import File

NOW = datetime.now(UTC)


def test_what_was_waived_is_attested_only_for_a_time(attesting):
    files = attesting.files
    options = AuditOptions(sensitive="flu", worlds=False)
    policy = files.policy("harsh")
    done = audit_file(Request(files.model, files.table, options, policy=policy))
    waived = Accepted("waiver", "a person looked at it")
    findings = tuple(replace(each, accepted=waived) for each in done.decision.findings)
    decision = replace(done.decision, verdict=PolicyVerdict.PASS, findings=findings)
    key = private_key(attesting.key.read_bytes(), "key")
    model, given = file_of_source(files.model), {"report": None, "issued": NOW}
    with pytest.raises(AttestationError, match="--expires"):
        attestation(done.subject, decision, model, key, **given)

    ends = NOW + timedelta(days=9)
    envelope = attestation(done.subject, decision, model, key, **given, expires=ends)
    pack = load_pack(policy)
    held = checked(envelope, attesting.public, files.model, pack)
    entry = attested_entry(held, pack)
    assert (entry.outcome, entry.clauses[0].verdict) == ("PASS", "FAIL")
    assert entry.results[0].accepted is not None
    with pytest.raises(ExpiredError):
        checked(envelope, attesting.public, files.model, pack, now=ends)


def test_the_bytes_of_a_model_will_do(attesting):
    envelope = attesting.attest()
    read = ModelBytes(attesting.model.read_bytes(), "flu.pmml")
    assert checked(envelope, attesting.public, read, attesting.pack).verdict == "PASS"
    assert isinstance(file_of_source(read), File)


def test_an_audit_of_a_feature_is_not_attested(attesting):
    files = attesting.files
    options = AuditOptions(sensitive="flu", worlds=False, secret="sex")
    done = audit_file(Request(files.model, files.table, options, policy=files.policy("lenient")))
    assert done.decision.verdict is PolicyVerdict.UNDETERMINED
    assert any("“flu” was not judged" in each for each in done.audit.warnings)
    key = private_key(attesting.key.read_bytes(), "key")
    with pytest.raises(AttestationError, match="remove --secret"):
        attestation(
            done.subject, done.decision, file_of_source(files.model), key, report=None, issued=NOW
        )


@pytest.mark.parametrize("policy", ["lenient", "strict"])
def test_an_attestation_states_the_register_by_its_digest(attesting, policy):
    files = attesting.files
    register = files.folder / "register.csv"
    header, *people = files.table.read_text().splitlines()
    register.write_text("\n".join([header, *people, *people]) + "\n")
    path = files.folder / "with.json"
    words = ("--policy", policy if policy == "strict" else files.policy(policy))
    words = (*words, "--key", attesting.key, "-o", path, "--no-worlds")
    report = files.folder / "with-report.json"
    outcome = files.run("attest", *words, "--population", register, "--report", report)
    assert outcome.exit_code in (0, 1, 3), outcome.output
    pack = load_pack(policy if policy == "strict" else files.policy(policy))
    held = checked(path.read_bytes(), attesting.public, files.model, pack)
    digest = hashlib.sha256(register.read_bytes()).hexdigest()
    assert held.predicate.knowledge.candidates == Sha256(sha256=digest)
    told = json.loads(report.read_text())["provenance"]["candidates"]
    assert told == {"name": "register.csv", "sha256": digest}
    bare = checked(attesting.attest(), attesting.public, files.model, attesting.pack)
    assert bare.predicate.knowledge.candidates is None


def test_an_attestation_states_the_public_domain_and_stands_only_for_the_same(attesting):
    path = attesting.files.folder / "public.toml"
    path.write_text('[columns.sex]\nvalues = ["m", "f"]\n', "utf-8")
    envelope, bare = attesting.attest("--domain", path), attesting.attest(name="bare.json")
    digest = load_public_domain(path).digest
    path.write_text('# the same\n[columns]\nsex.values = ["f", "m"]\n', "utf-8")
    assert load_public_domain(path).digest == digest
    known = CheckRequest(attesting.pack, Knowledge())
    here = (attesting.public, attesting.files.model)
    held = answered(envelope, *here, replace(known, domain=digest))
    assert held.predicate.knowledge.domain == Sha256(sha256=digest)
    assert "within a declared public domain" in attested_entry(held, attesting.pack).headline
    assert answered(bare, *here, known).predicate.knowledge.domain is None
    for said, asked in ((envelope, known), (bare, replace(known, domain=digest))):
        with pytest.raises(OtherQuestionError, match="public domain"):
            answered(said, *here, asked)

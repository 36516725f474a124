"""What is signed and listed is read by the public libraries of in-toto, SLSA, sigstore, CycloneDX and model-signing."""

from __future__ import annotations

import hashlib
import json

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from tests.treewarden.conftest import CLAUSE
from treewarden.jobs.attesting.verification_summary import LEVEL, PREDICATE

CYCLONEDX = "1.7"


def written(attesting, policy="lenient"):
    """Attest under a policy that is passed, failed, or ("open", as proofs are left out) not decided."""
    folder = attesting.files.folder
    words = {"name": "open", "measure": "certain_disclosure", "rule": "at_most", "limit": 0}
    (folder / "open.toml").write_text(CLAUSE.format(**words))
    vsa, bom = folder / "vsa.json", folder / "bom.json"
    own = attesting.attest("--vsa", vsa, "--ml-bom", bom, policy=policy)
    return own, vsa.read_bytes(), bom.read_bytes()


def payload_of(envelope):
    dsse = pytest.importorskip("securesystemslib.dsse", reason="securesystemslib is not installed")
    return dsse.Envelope.from_dict(json.loads(envelope))


def test_the_envelope_is_verified_and_a_changed_one_is_not(attesting):
    _, vsa, _ = written(attesting)
    envelope = payload_of(vsa)
    signer = pytest.importorskip("securesystemslib.signer")
    (name,) = envelope.signatures
    key = signer.SSlibKey.from_crypto(load_pem_public_key(attesting.public), keyid=name)
    assert list(envelope.verify([key], 1)) == [name]
    envelope.payload = envelope.payload.replace(b"PASSED", b"FAILED")
    with pytest.raises(Exception, match="Accepted signatures|[Tt]hreshold|[Vv]erif"):
        envelope.verify([key], 1)


@pytest.mark.parametrize(
    ("policy", "result", "level"),
    [("lenient", "PASSED", LEVEL), ("harsh", "FAILED", "FAILED"), ("open", "FAILED", "FAILED")],
)
def test_the_statement_is_one_of_in_toto_and_its_predicate_a_summary(
    attesting, policy, result, level
):
    pytest.importorskip("in_toto_attestation", reason="in-toto-attestation is not installed")
    from google.protobuf import json_format
    from in_toto_attestation.predicates.vsa.v1 import vsa_pb2
    from in_toto_attestation.v1 import statement, statement_pb2

    own, vsa, _ = written(attesting, policy)
    content = json.loads(payload_of(vsa).payload)
    parsed = json_format.ParseDict(content, statement_pb2.Statement())
    statement.Statement.copy_from_pb(parsed).validate()
    assert parsed.predicate_type == PREDICATE
    assert (
        parsed.subject[0].digest["sha256"]
        == hashlib.sha256(attesting.model.read_bytes()).hexdigest()
    )
    levels = content["predicate"].pop("verifiedLevels")  # one text in their schema, a list in SLSA
    summary = json_format.ParseDict(
        content["predicate"], vsa_pb2.VerificationSummary(), ignore_unknown_fields=True
    )
    assert (summary.verification_result, levels) == (result, [level])
    assert summary.policy.digest["sha256"]
    assert summary.input_attestations[0].digest["sha256"] == hashlib.sha256(own).hexdigest()


def test_sigstore_reads_the_envelope_and_the_statement(attesting):
    dsse = pytest.importorskip("sigstore.dsse", reason="sigstore is not installed")
    _, vsa, _ = written(attesting)
    envelope = dsse.Envelope._from_json(vsa)
    assert json.loads(envelope.to_json())["payloadType"] == "application/vnd.in-toto+json"
    statement = dsse.Statement(payload_of(vsa).payload)
    digest = hashlib.sha256(attesting.model.read_bytes()).hexdigest()
    assert statement._matches_digest(
        dsse.Hashed(algorithm=dsse.HashAlgorithm.SHA2_256, digest=bytes.fromhex(digest))
    )


def test_the_second_digest_is_that_of_model_signing(attesting):
    pytest.importorskip("model_signing", reason="model-signing is not installed")
    from model_signing import hashing
    from model_signing._signing.signing import Payload

    _, vsa, bom = written(attesting)
    theirs = Payload(hashing.hash(attesting.model)).statement.pb.subject[0]
    ours = json.loads(payload_of(vsa).payload)["subject"][1]
    assert ours == {"name": theirs.name, "digest": {"sha256": theirs.digest["sha256"]}}
    assert theirs.digest["sha256"] in bom.decode()


@pytest.mark.parametrize("policy", ["lenient", "harsh"])
def test_the_bill_of_materials_is_one_of_cyclonedx(attesting, policy):
    validation = pytest.importorskip(
        "cyclonedx.validation.json", reason="cyclonedx-python-lib is not installed"
    )
    from cyclonedx.schema import SchemaVersion

    _, _, bom = written(attesting, policy)
    version = SchemaVersion.from_version(CYCLONEDX)
    assert validation.JsonStrictValidator(version).validate_str(bom.decode()) is None
    (component,) = json.loads(bom)["components"]
    values = {each["name"]: each["value"] for each in component["properties"]}
    assert values["treewarden:verdict"] == ("PASS" if policy == "lenient" else "FAIL")
    broken = json.loads(bom)
    broken["components"][0]["modelCard"]["verdict"] = "PASS"
    assert validation.JsonStrictValidator(version).validate_str(json.dumps(broken)) is not None

"""The verdict as other tools read it: an in-toto Statement with SLSA's Verification Summary, or a bill of materials.

Sources of the summary (VSA, predicate version 1): slsa.dev/spec/v1.1/verification_summary; in-toto attestation
framework 1.0; the OpenSSF model-signing specification 1.0 for the second digest. The envelope is DSSE, as of our own
attestations. It holds no more than a verdict: what could not be decided is FAILED, as SLSA knows no third result.

The entry of a bill of materials is CycloneDX 1.7 (ECMA-424), a model with its card. It holds the verdict, the policy's
digest, what was assumed and what is not covered; no count and nothing of the table.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import treewarden
from treewarden.jobs.attesting.attesting import STATEMENT, sealed
from treewarden.jobs.attesting.keys import AttestationError
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.policies.judging.decision import Decision
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.reports.document.inferred_parts import Claim
from treewarden.reports.document.parts import File

PREDICATE = "https://slsa.dev/verification_summary/v1"
VERIFIER = "urn:treewarden"
LEVEL = "TREEWARDEN_PASSED"
"""What is verified; names that begin with SLSA_ are SLSA's own."""
SLSA_VERSION = "1.1"


def verification_summary(
    decision: Decision,
    model: File,
    attestation: bytes,
    key: Any,  # noqa: ANN401  # a private key, see keys
    *,
    issued: datetime,
    is_file: bool = True,
) -> bytes:
    """Return the signed summary of an audit; it names our own ``attestation`` as what it rests on.

    Of a model that ``is_file``, no folder, it has the digest of model-signing, too.

    Raises:
        AttestationError: something was accepted, which holds for a time only, and a summary cannot say that.
    """
    if any(finding.accepted for finding in decision.findings):
        problem = "the verdict holds for a limited time, and a verification summary has no last day; leave out --vsa"
        raise AttestationError(model.name, problem)
    is_passed = decision.verdict is PolicyVerdict.PASS
    digests = [model.sha256, *([model_signing_digest(model.sha256)] if is_file else [])]
    statement = {
        "_type": STATEMENT,
        "subject": [{"name": model.name, "digest": {"sha256": digest}} for digest in digests],
        "predicateType": PREDICATE,
        "predicate": {
            "verifier": {"id": VERIFIER, "version": {"treewarden": treewarden.__version__}},
            "timeVerified": issued.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "resourceUri": resource_uri(model),
            "policy": {
                "uri": f"urn:treewarden:policy:{quote(decision.pack.name, safe='')}",
                "digest": {"sha256": decision.pack.digest},
            },
            "inputAttestations": [
                {
                    "uri": "urn:treewarden-attestation:1",
                    "digest": {"sha256": hashlib.sha256(attestation).hexdigest()},
                }
            ],
            "verificationResult": "PASSED" if is_passed else "FAILED",
            "verifiedLevels": [LEVEL if is_passed else "FAILED"],
            "slsaVersion": SLSA_VERSION,
        },
    }
    payload = json.dumps(statement, sort_keys=True, separators=(",", ":")).encode("utf-8")
    return sealed(payload, key)


def resource_uri(model: File) -> str:
    """Return the package URL of a model file: its name and digest, as nothing says where it will be published."""
    return f"pkg:generic/{quote(model.name, safe='')}?checksum=sha256:{model.sha256}"


def model_signing_digest(sha256: str) -> str:
    """Return the digest that model-signing gives a model of one file: SHA-256 of the digests of its files."""
    return hashlib.sha256(bytes.fromhex(sha256)).hexdigest()


SCHEMA = "http://cyclonedx.org/schema/bom-1.7.schema.json"
RISK = "Disclosure of the people in the training data by the published model"


def ml_bom(
    subject: AuditInputs,
    decision: Decision,
    model: File,
    *,
    issued: datetime,
    is_file: bool = True,
    claims: Sequence[Claim] = (),
) -> bytes:
    """Return a bill of materials with one component, the audited model, which ``is_file`` or a folder.

    ``claims`` is what the report of the audit says of its claim of differential privacy.
    """
    moment = issued.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"{model.sha256} {decision.pack.digest} {moment}")
    component = {
        "type": "machine-learning-model",
        "bom-ref": resource_uri(model),
        "name": model.name,
        "purl": resource_uri(model),
        "hashes": [{"alg": "SHA-256", "content": model.sha256}],
        "modelCard": {
            "modelParameters": {"architectureFamily": _family(subject)},
            "considerations": {
                "technicalLimitations": list(_limitations(subject, decision)),
                "ethicalConsiderations": [{"name": RISK, "mitigationStrategy": _verdict(decision)}],
            },
        },
        "properties": [
            {"name": f"treewarden:{name}", "value": value}
            for name, value in _properties(decision, model, claims, is_file=is_file)
        ],
    }
    bom = {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "serialNumber": f"urn:uuid:{number}",
        "version": 1,
        "metadata": {
            "timestamp": moment,
            "tools": {
                "components": [
                    {
                        "type": "application",
                        "name": "treewarden",
                        "version": treewarden.__version__,
                    }
                ]
            },
        },
        "components": [component],
    }
    return (json.dumps(bom, indent=1) + "\n").encode("utf-8")


def _family(subject: AuditInputs) -> str:
    several = len(list(trees_of(subject.file.model))) > 1
    return "ensemble of decision trees" if several else "decision tree"


def _verdict(decision: Decision) -> str:
    pack = decision.pack
    return f"Audited with treewarden under the policy “{pack.name}” {pack.version}: {decision.verdict.word.upper()}."


def _limitations(subject: AuditInputs, decision: Decision) -> Iterator[str]:
    """Yield what the verdict does not cover."""
    columns = ", ".join(sorted(subject.population.qi)) or "no column"
    yield (
        f"The verdict is for an adversary who knows this file and, of everyone, {columns}. One who knows more can "
        "learn more."
    )
    for finding in decision.findings:
        if finding.accepted is not None:
            yield f"The check “{finding.clause}” was not passed but accepted: {finding.accepted.by}."
    for name, _ in decision.not_judged:
        yield f"The check “{name}” does not apply to this model."


def _properties(
    decision: Decision, model: File, claims: Sequence[Claim], *, is_file: bool
) -> Iterator[tuple[str, str]]:
    yield "verdict", decision.verdict.word.upper()
    yield "policy", f"{decision.pack.name} {decision.pack.version}"
    yield "policy:sha256", decision.pack.digest
    yield "fail_on", decision.fail_on
    if is_file:
        yield "model-signing:sha256", model_signing_digest(model.sha256)
    for claim in claims:
        yield "claim", f"{claim.outcome}: {claim.words}"
    for finding in decision.findings:
        yield f"check:{finding.clause}", finding.verdict.word.upper()

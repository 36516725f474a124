"""The audit as an entry of a bill of materials: CycloneDX 1.7 (ECMA-424), a model with its card.

It holds the verdict, the policy's digest, what was assumed and what is not covered; no count and nothing of the table.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

import treewarden
from treewarden.jobs.attesting.verification_summary import model_signing_digest, resource_uri
from treewarden.jobs.audit_inputs import AuditInputs
from treewarden.policies.judging.decision import Decision
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.reports.document.parts import File

SCHEMA = "http://cyclonedx.org/schema/bom-1.7.schema.json"
RISK = "Disclosure of the people in the training data by the published model"


def ml_bom(
    subject: AuditInputs,
    decision: Decision,
    model: File,
    *,
    issued: datetime,
    is_file: bool = True,
) -> bytes:
    """Return a bill of materials with one component, the audited model, which ``is_file`` or a folder."""
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
            for name, value in _properties(decision, model, is_file=is_file)
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


def _properties(decision: Decision, model: File, *, is_file: bool) -> Iterator[tuple[str, str]]:
    yield "verdict", decision.verdict.word.upper()
    yield "policy", f"{decision.pack.name} {decision.pack.version}"
    yield "policy:sha256", decision.pack.digest
    yield "fail_on", decision.fail_on
    if is_file:
        yield "model-signing:sha256", model_signing_digest(model.sha256)
    for finding in decision.findings:
        yield f"check:{finding.clause}", finding.verdict.word.upper()

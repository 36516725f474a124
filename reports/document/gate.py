"""What a gate says of several models: for pipelines, so without a profile, a true value or a count of people.

Whoever reads a pipeline's log may not see the table. So a result says which clause a leaf breaks, where the leaf is and
what the policy asks for, never how far it is from that.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from treewarden.policies.verdict import Severity
from treewarden.reports.document.parts import Accepted, Part, Row, Text
from treewarden.reports.document.words import Word

SCHEMA: Literal["treewarden-gate/1"] = "treewarden-gate/1"
Outcome = Literal["PASS", "UNDETERMINED", "FAIL", "NO AUDIT"]
"""From the best to the worst."""


class Rule(Part):
    """A clause of a policy, as help for whoever meets it: what is asked, why, and where the limit comes from."""

    clause: Text
    plain: Text
    asks: Text
    why: Text
    source: Text
    severity: Severity
    policy: Text
    version: Text


class ClauseOutcome(Part):
    """What came of one clause of the policy for a model; ``accepted`` where all that breaks it is."""

    clause: Text
    verdict: Word
    severity: Severity
    message: Text
    accepted: Accepted | None = None


class Result(Part):
    """One thing that is not met: a clause in a leaf, or, with ``leaf`` empty, in the model or its file as a whole.

    ``id`` is the same in every output. ``line`` is that of the leaf in the model's file, null where the format has
    none. ``path`` is the way to the leaf.
    """

    id: Text
    clause: Text
    verdict: Word
    severity: Severity
    message: Text
    leaf: Text
    path: Text
    node: Text
    line: int | None
    tree: int = 0
    accepted: Accepted | None = None


class Entry(Part):
    """One model: what came of it. ``problem`` says why there was no audit; ``file`` is its path as it was given.

    ``basis`` says what the verdict rests on: an audit with its table, the file alone, or an attestation.
    ``not_judged`` names the clauses that do not apply to this model, and why. ``assumed_known`` says in one line which
    columns the model tests that the adversary was assumed to know, so that nobody judged them; "" where that is not
    known.
    """

    name: Text
    file: Text
    outcome: Outcome
    headline: Text
    problem: Text = ""
    policy: Text = ""
    basis: Literal["audit", "file", "attestation"] = "audit"
    is_cached: bool = False
    rules: tuple[Rule, ...] = ()
    clauses: tuple[ClauseOutcome, ...] = ()
    not_judged: tuple[Row, ...] = ()
    assumed_known: Text = ""
    results: tuple[Result, ...] = ()


class Gate(Part):
    """All models of one run, in the order of their names, and the worst outcome of all."""

    schema_version: Literal["treewarden-gate/1"] = Field(default=SCHEMA, alias="schema")
    version: Text
    outcome: Outcome
    fail_on: Severity
    entries: tuple[Entry, ...]


def gate_schema() -> bytes:
    """Return the JSON Schema of gates, as it is kept in ``gate.schema.json``."""
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        **Gate.model_json_schema(mode="serialization", by_alias=True),
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

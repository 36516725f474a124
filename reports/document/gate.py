"""The documents of a gate and of a plan: for pipelines, so without a profile, a true value or a count of people.

A reader of a pipeline's log may not see the table. So a result says which clause a leaf breaks, where the leaf is and
what the policy requires, never how far it is from that. A plan says what an audit would include and take; it judges
nothing, and holds counts alone.
"""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from treewarden.policies.verdict import Severity
from treewarden.reports.document.inferred_parts import BlamedLeaf
from treewarden.reports.document.parts import Accepted, Finite, Part, Row, Text
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
    none. ``path`` is the way to the leaf. ``together`` are further leaves whose published numbers prove values together
    with this one's, where it was asked which numbers do, and ``outputs`` are numbers beside the model that do.
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
    together: tuple[BlamedLeaf, ...] = ()
    outputs: tuple[Text, ...] = ()


class Entry(Part):
    """One model: what came of it. ``problem`` says why there was no audit; ``file`` is its path as it was given.

    ``basis`` says what the verdict rests on: an audit with its table, the file alone, or an attestation.
    ``not_judged`` names the clauses that do not apply to this model, and why. ``assumed_known`` says in one line which
    columns the model tests that the adversary was assumed to know, so that nobody judged them; "" where that is not
    known. ``unlimited`` says of one that passes that its file proves what no check of the policy limits.
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
    unlimited: Text = ""
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


PLAN_SCHEMA: Literal["treewarden-plan/1"] = "treewarden-plan/1"
Stage = Literal[
    "starting", "reading", "solving", "whole records", "adversaries", "levels", "report"
]


class PlannedSizes(Part):
    """What the audit has to deal with.

    ``signatures`` are kinds of people that rows may tell apart, ``candidates`` the rows on splits: both at most.
    ``knowledge_rows`` are those on leaves. ``touched`` is how many profiles all candidates are about, each attribute of
    each node counted once. ``is_by_entropy`` says that splits were chosen by entropies, which takes longer. Adversaries
    who know only some columns take so many ``estimates``, against each of which the choice of so many ``splits`` is
    held; ``is_of_column`` says that a column is secret, and nobody else is asked about.
    """

    records: Finite
    profiles: int
    trees: int
    leaves: int
    classes: int
    signatures: int
    knowledge_rows: int
    candidates: int
    touched: int
    adversaries: int
    releases: int
    is_by_entropy: bool
    splits: int
    estimates: int
    is_of_column: bool


class Expected(Part):
    """What it is expected to take: seconds as if one core did it all, by stage, and MB of its own process."""

    processor_seconds: dict[Stage, Finite]
    processor_seconds_total: Finite
    memory_mb: int


class PlanDocument(Part):
    """The plan of an audit. No audit was performed: ``verdict`` is null, and ``said`` says so in words.

    ``expected`` is null where nothing can be told of it, and ``unknown`` says why; else ``unknown`` is "". ``jobs`` are
    the processes it may use. ``worlds_budget_seconds`` is null where whole records are not asked. ``cheaper`` is what
    would make it so, in sentences.
    """

    schema_version: Literal["treewarden-plan/1"] = Field(default=PLAN_SCHEMA, alias="schema")
    kind: Literal["plan"]
    verdict: None
    said: Text
    model: Text
    sizes: PlannedSizes
    jobs: int
    worlds_budget_seconds: Finite | None
    expected: Expected | None
    unknown: Text
    cheaper: tuple[Text, ...]


def plan_schema() -> bytes:
    """Return the JSON Schema of plans, as it is kept in ``plan.schema.json``."""
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{PLAN_SCHEMA.replace('/', ':')}",
        **PlanDocument.model_json_schema(mode="serialization", by_alias=True),
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

"""The document of a plan: what an audit would deal with and take; it judges nothing, and holds counts alone."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from treewarden.reports.document.parts import Finite, Part, Text

SCHEMA: Literal["treewarden-plan/1"] = "treewarden-plan/1"
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

    schema_version: Literal["treewarden-plan/1"] = Field(default=SCHEMA, alias="schema")
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
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        **PlanDocument.model_json_schema(mode="serialization", by_alias=True),
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

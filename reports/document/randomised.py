"""The document of a table of noisy records: what it leaves hidden, or how its values are distributed."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from treewarden.policies.verdict import Severity, counts
from treewarden.reports.document.document import Policy
from treewarden.reports.document.parts import File, Finding, Finite, Number, Part, Row, Text, Value
from treewarden.reports.document.words import Word

SCHEMA: Literal["treewarden-randomised-report/1"] = "treewarden-randomised-report/1"


class Series(Part):
    """Shares of records that add up to 1, each between two edges: one edge more than shares."""

    edges: tuple[Finite, ...]
    shares: tuple[Finite, ...]


class Distribution(Part):
    """How a column's values are distributed; ``true`` is null where the true values were not given.

    ``error`` is the share of records that lie elsewhere than reconstructed. ``steps`` is how many the reconstruction
    took, ``is_settled`` whether it ended by itself. ``summary`` says what the picture shows.
    """

    reconstructed: Series
    noisy: Series
    true: Series | None
    error: Value | None
    values: int
    steps: int
    is_settled: bool
    summary: Text


class Recovered(Part):
    """What an attack makes of a column: the 95 % interval that it leaves, and how far off its estimates are.

    Both are shares of the domain's width.
    """

    attack: Text
    width: Value
    error: Value


class Left(Part):
    """What is left of a column's privacy by itself, in shares of its domain's width."""

    equivalent_width: Value
    loss: Value
    mean_width: Value
    worst_width: Value


class Column(Part):
    """A hidden column: how it is hidden over which domain, what is left, and what its distribution looks like.

    ``left`` and ``recovered`` are told by the owner alone, who has the true values: else null and empty.
    """

    name: Text
    noise: Text
    hidden_by: Text
    level: Number
    confidence: Number
    parameter: Number
    low: Number
    high: Number
    is_whole: bool
    values: tuple[Text, ...]
    domain: Text
    missing: int
    left: Left | None
    recovered: tuple[Recovered, ...]
    distribution: Distribution | None


class Related(Part):
    """Two hidden columns that go together."""

    first: Text
    second: Text
    correlation: Number


class Origin(Part):
    """Where it all comes from; ``table`` is the file with noise."""

    version: Text
    table: File
    pack: File | None = None


class RandomisedDocument(Part):
    """A table of noisy records: of kind ``randomisation`` as its owner judges it, else what anybody can recover.

    ``verdict`` and ``policy`` are null of a reconstruction, which judges nothing. ``limits`` is what noise of this kind
    is not. ``clear`` are columns in clear that nobody vouched for, ``harmless`` those that somebody did, ``label`` is
    the class in clear ("" where there is none).
    """

    schema_version: Literal["treewarden-randomised-report/1"] = Field(
        default=SCHEMA, alias="schema"
    )
    kind: Literal["randomisation", "reconstruction"]
    confidential: Text
    title: Text
    verdict: Word | None
    headline: Text
    meaning: Text
    next_steps: tuple[Text, ...]
    findings: tuple[Finding, ...]
    fail_on: Severity
    not_judged: tuple[Row, ...]
    records: int
    columns: tuple[Column, ...]
    related: tuple[Related, ...]
    clear: tuple[Text, ...]
    harmless: tuple[Text, ...]
    label: Text
    limits: tuple[Text, ...]
    warnings: tuple[Text, ...]
    policy: Policy | None
    provenance: Origin

    def counts(self, found: Finding) -> bool:
        """Return whether a finding is grave enough to make up the verdict."""
        return counts(found.severity, self.fail_on)


def randomised_schema() -> bytes:
    """Return the JSON Schema of these documents, as it is kept in ``randomised.schema.json``."""
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        **RandomisedDocument.model_json_schema(mode="serialization", by_alias=True),
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

"""Documents of the methods of papers: a randomised table, and a tree that several parties grew together.

Of a table of noisy records: what it leaves hidden, or how its values are distributed. Of a session of several parties:
what each side learnt, and the audits of the tree.
"""

from __future__ import annotations

import json
import re
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

    def counts(self, finding: Finding) -> bool:
        """Return whether a finding is grave enough to make up the verdict."""
        return counts(finding.severity, self.fail_on)


def randomised_schema() -> bytes:
    """Return the JSON Schema of these documents, as it is kept in ``randomised.schema.json``."""
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        **RandomisedDocument.model_json_schema(mode="serialization", by_alias=True),
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()


LEAKAGE_SCHEMA: Literal["treewarden-leakage/1"] = "treewarden-leakage/1"


class Member(Part):
    """A party of the session, and how many attributes it holds."""

    name: Text
    attributes: int


class Agreed(Part):
    """What all sides had agreed on; ``depth`` is null where any number of tests may be on a path."""

    name: Text
    mode: Literal["ids", "shared"]
    parties: tuple[Member, ...]
    records: int
    target: Text
    classes: tuple[Text, ...]
    labelled: Text
    min_records: int
    depth: int | None
    asked: int


class Size(Part):
    """How large the tree is."""

    inner: int
    leaves: int
    depth: int


class Traffic(Part):
    """Messages of one kind; ``receiver`` is "" where they are counted for one who received them."""

    sender: Text = ""
    receiver: Text = ""
    kind: Text
    messages: int
    bytes: int


class SessionSide(Part):
    """What one side was shown.

    ``learnt`` and ``hidden`` say what it learnt and what it was not shown. ``won`` are the nodes at which it decides,
    ``counts`` the numbers of records by own value and class that it could see, ``ids`` the nodes whose records it was
    shown by number. ``blocks`` is the share of all cells of others' attributes that it saw as unnamed blocks, and
    ``privacy`` one less that; null where that cannot be told from this side's log.
    """

    name: Text
    learnt: tuple[Text, ...]
    hidden: tuple[Text, ...]
    received: tuple[Traffic, ...]
    messages: int
    bytes: int
    won: int
    counts: int
    ids: int
    blocks: Value | None
    privacy: Value | None


class Audited(Part):
    """The audit of one of the trees: its verdict, and what it found that is no pass."""

    name: Text
    verdict: Word
    headline: Text
    policy: Text
    policy_sha256: Text
    findings: tuple[Text, ...]


class LeakageDocument(Part):
    """What each side learnt in a session; of a real one each side has only its own part.

    ``is_ideal`` says that keys were compared by an ideal box, which protects nobody; ``flow`` are the messages about
    the root, in the order of the first of each kind. ``verdict`` is the worst of the audits, null where there is none,
    and ``blocks`` the share of all cells that were shown to parties who do not hold them, null where it is not known.
    """

    schema_version: Literal["treewarden-leakage/1"] = Field(default=LEAKAGE_SCHEMA, alias="schema")
    title: Text
    headline: Text
    meaning: Text
    verdict: Word | None
    confidential: Text
    is_ideal: bool
    whose: Text
    session: Agreed
    tree: Size | None
    sides: tuple[SessionSide, ...]
    blocks: Value | None
    messages: int
    bytes: int
    flow: tuple[Traffic, ...]
    assumed: tuple[Text, ...]
    broken_by: tuple[Text, ...]
    audits: tuple[Audited, ...]
    not_audited: Text
    version: Text


def leakage_schema() -> bytes:
    """Return the JSON Schema of these documents, as it is kept in ``leakage.schema.json``."""
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{LEAKAGE_SCHEMA.replace('/', ':')}",
        **LeakageDocument.model_json_schema(mode="serialization", by_alias=True),
    }
    # The definition keeps the name under which it was published.
    said = json.loads(re.sub(r"\bSessionSide\b", "Side", json.dumps(said)))
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

"""The document of a session in which parties grew a tree together: what each side learnt, and audits of the tree."""

from __future__ import annotations

import json
from typing import Literal

from pydantic import Field

from treewarden.reports.document.parts import Part, Text, Value
from treewarden.reports.document.words import Word

SCHEMA: Literal["treewarden-leakage/1"] = "treewarden-leakage/1"


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


class Side(Part):
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

    schema_version: Literal["treewarden-leakage/1"] = Field(default=SCHEMA, alias="schema")
    title: Text
    headline: Text
    meaning: Text
    verdict: Word | None
    confidential: Text
    is_ideal: bool
    whose: Text
    session: Agreed
    tree: Size | None
    sides: tuple[Side, ...]
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
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        **LeakageDocument.model_json_schema(mode="serialization", by_alias=True),
    }
    return (json.dumps(said, indent=1, sort_keys=True) + "\n").encode()

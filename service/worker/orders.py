"""What the process of a job is asked, and what it answers; nothing of it is a path of its own choosing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from treewarden.service.schemas.base import Body

READ = "model and table are read"
"""The stage from which on a job may take as long as an audit; before it, only as long as reading may."""


class SealedFile(Body):
    """A file of the vault and its key, as 64 letters 0-9 a-f; ``name`` is what it is called in messages.

    ``place`` is where this machine has its sealed bytes, "" before they are fetched.
    """

    blob_id: str
    place: str = ""
    key: str = Field(repr=False)
    name: str
    digest: str


class PlainFile(Body):
    """A file below an allowed folder; ``digest`` is what it was when it was first read, "" before that."""

    path: str
    roots: tuple[str, ...]
    most: int
    name: str
    digest: str = ""


class SearchLimits(Body):
    """How far a repair searches: it ends ``seconds`` after it began.

    ``tries_all``: whether changes too that cost more than one that passes are tried.
    """

    seconds: float | None = None
    tries_all: bool = False


class JobOrder(Body):
    """One job. ``other`` is the second model of a comparison; ``is_internal``: whether full reports are wanted too.

    ``candidates`` is the register of everybody who may be in the table, ``limits`` how far a repair searches.
    """

    kind: Literal["inspect_model", "inspect_table", "audit", "repair", "compare"]
    model: SealedFile | None = None
    other: SealedFile | None = None
    table: SealedFile | PlainFile | None = None
    candidates: SealedFile | PlainFile | None = None
    model_name: str = ""
    pack: str = ""
    pack_name: str = ""
    knowledge: str = ""
    waivers: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    purpose: str = ""
    today: str = ""
    is_internal: bool = False
    limits: SearchLimits = SearchLimits()


class KeptFile(Body):
    """A file of an answer, in their order: a report, or the model that the proposal of the number ``form`` makes."""

    kind: Literal["internal", "public", "repaired"]
    form: str


class Proposed(Body):
    """A change that a repair tried. ``cost`` is in words, by what is lost; ``file_name`` is what its file is called."""

    name: str
    title: str
    remedies: tuple[str, ...]
    verdict: Literal["PASS", "FAIL", "UNDETERMINED"]
    is_recommended: bool
    cost: dict[str, str]
    failing: tuple[str, ...]
    problem: str
    file_name: str = ""


class JobAnswer(Body):
    """What came of a job. ``problem`` says why nothing did; ``kept`` names the files that come along."""

    problem: str = ""
    summary: dict[str, Any] | None = None
    format: str = ""
    columns: tuple[dict[str, str], ...] | None = None
    records: int | None = None
    digest: str = ""
    trees: tuple[str, ...] | None = None
    verdict: Literal["PASS", "FAIL", "UNDETERMINED"] | None = None
    headline: str = ""
    entry: dict[str, Any] | None = None
    provenance: dict[str, Any] | None = None
    kept: tuple[KeptFile, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    repair_summary: dict[str, Any] | None = None

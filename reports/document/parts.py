"""The pieces a document is made of: plain values, each beside the words that say it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from treewarden.policies.verdict import Severity
from treewarden.reports.document.words import Word

Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Number = Annotated[int, Field(strict=True)] | Finite | Literal["inf", "-inf"]
"""JSON has no infinity: an infinite end is the string "inf" or "-inf"; null means that it could not be told."""
Risk = Literal["none", "warning", "undetermined", "fail"]


def number(value: float) -> Number:
    """Return a number as documents hold it: whole ones without a fraction, infinite ones as text.

    Raises:
        ValueError: it is not a number.
    """
    if math.isnan(value):
        raise ValueError("not a number; say that it could not be told")
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return int(value) if value == int(value) and abs(value) < 2**53 else float(value)


def _encodable(value: object) -> object:
    r"""Half a surrogate pair, which JSON files can smuggle in, becomes ``\udc80``: UTF-8 cannot say it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


Text = Annotated[str, BeforeValidator(_encodable)]


class Part(BaseModel):
    """A frozen piece of a document; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, defer_build=True)


def as_json(part: Part) -> bytes:
    """Return a part as JSON for other programs: every value in the order of its fields; ASCII."""
    return in_lines(part.model_dump(mode="json", by_alias=True)).encode("ascii")


def in_lines(values: Mapping[str, object]) -> str:
    """Return values as JSON in which each field has a line, and so has each item of a list and each row of a table.

    Lines can be compared and searched, and no bytes are spent on the depth of what is in them, which would be a third
    of a large report.
    """
    fields = ",\n".join(f"  {compact(name)}: {_field(value)}" for name, value in values.items())
    return f"{{\n{fields}\n}}\n"


def _field(value: object) -> str:
    if isinstance(value, dict) and isinstance(value.get("rows"), list):
        rows = ",\n".join(map(compact, value["rows"]))
        others = ",".join(
            f"{compact(name)}:{compact(part)}" for name, part in value.items() if name != "rows"
        )
        return f'{{{others},"rows":[\n{rows}\n]}}'
    if not isinstance(value, list) or not value:
        return compact(value)
    items = ",\n".join(f"    {compact(item)}" for item in value)
    return f"[\n{items}\n  ]"


def compact(value: object) -> str:
    """Return a value as JSON in as few bytes as it takes."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class Value(Part):
    """A quantity in [low, high], or, with both null, "could not tell" and the reason. ``text`` says it in words."""

    low: Number | None
    high: Number | None
    text: Text
    reason: Text = ""

    @property
    def is_range(self) -> bool:
        """Whether more than one figure is possible."""
        return self.low != self.high

    @model_validator(mode="after")
    def _known_or_not(self) -> Self:
        if (self.low is None) != (self.high is None) or (self.low is None) != bool(self.reason):
            raise ValueError("a value has both ends, or none and a reason")
        return self


class Reading(Value):
    """What a measure read. ``danger`` says which readings mean little privacy."""

    measure: Text
    parameters: dict[Text, Number | Text]
    plain: Text
    unit: Text
    danger: Literal["small", "large"]


class Accepted(Part):
    """Why what breaks a clause does not count: somebody waived it, or a baseline knows it."""

    by: Literal["waiver", "baseline"]
    reason: Text


class Guidance(Part):
    """A paragraph of named guidance that a clause serves: the document, the paragraph, and what it says in short."""

    document: Text
    paragraph: Text
    says: Text = ""


class Place(Part):
    """A leaf, a profile in it, or a tree: its path, the node where its records stop, and that node's line in the file.

    Of what the file gives away beside its trees, ``node`` is the kind of leak, ``path`` its place in the file and
    ``note`` what it is; of a table of noisy records, ``node`` is a column. ``tree`` counts the trees of an ensemble,
    from 0. Of a clause that combines several measures, ``value`` is 1 where it fails, 0 to 1 where that is open, and
    its text says what each reads here. ``id`` names what breaks the clause in this leaf, the same in every output;
    ``leaf`` is the leaf's fingerprint, the same in any format of the model.
    """

    kind: Literal["leaf", "profile", "file", "tree", "column"]
    path: Text
    node: Text
    index: int
    line: int | None
    profile: Text
    value: Value
    note: Text
    tree: int = 0
    id: Text = ""
    leaf: Text = ""
    accepted: Accepted | None = None


class Piece(Part):
    """One measure of a clause that combines several, as it reads for the model as a whole."""

    measure: Text
    parameters: dict[Text, Number | Text]
    plain: Text
    rule: Text
    limit: Number
    limit_text: Text
    unit: Text
    value: Value
    verdict: Word


class Finding(Part):
    """What came of one clause; ``where`` holds the places that break it, worst first.

    A finding about the evidence itself has no measure, no rule and no limit. What is ``accepted`` as a whole stays
    visible and no longer counts. ``guidance`` is what the policy says that the clause serves.

    Of a clause that combines several measures, ``measure`` is "all of", "any of" or "not", ``limit_text`` says in words
    what is asked, ``value`` is how many of the places of its ``scope`` (the model as a whole where that is empty) break
    it, and ``parts`` are its measures. ``under`` is what the clause assumes that the adversary knows; "" where that is
    what the audit assumes. ``of`` names the release that it is about, where that is not the model of the audit.
    """

    clause: Text
    measure: Text
    parameters: dict[Text, Number | Text]
    plain: Text
    rule: Text
    limit: Number | None
    limit_text: Text
    unit: Text
    value: Value
    verdict: Word
    severity: Severity
    message: Text
    why: Text
    source: Text
    guidance: tuple[Guidance, ...] = ()
    where: tuple[Place, ...]
    id: Text = ""
    accepted: Accepted | None = None
    scope: Text = ""
    under: Text = ""
    parts: tuple[Piece, ...] = ()
    of: Text = ""


class Break(Part):
    """One demand that is not met in a leaf: how it reads there, at worst.

    ``profiles`` counts the equivalence classes of the leaf that break it, ``profile`` is the worst of them; 0 and ""
    where the demand is about the leaf as a whole. What is ``accepted`` there, all of it, is nothing that counts.
    """

    clause: Text
    verdict: Word
    severity: Severity
    text: Text
    profiles: int
    profile: Text
    note: Text
    accepted: Accepted | None = None


class LeafCase(Part):
    """A leaf in which demands are not met, with all of them; ``story`` tells it in sentences.

    ``leaf`` is its fingerprint, by which it is waived.
    """

    tree: int
    node: Text
    line: int | None
    path: Text
    label: Text
    records: Number
    records_text: Text
    label_share_text: Text
    breaks: tuple[Break, ...]
    story: Text
    leaf: Text = ""


class ProvedBySizes(Part):
    """A column that sizes of nodes prove of some people to an adversary who knows the other columns that are tested.

    ``people`` are how many; null where that may not be told. ``tree`` counts from 0; ``node`` and ``path`` say where
    most of them are proved at once, ``release`` of which model. ``text`` says all of it.
    """

    column: Text
    people: Number | None
    release: Text = ""
    tree: int = 0
    node: Text = ""
    path: Text = ""
    text: Text


class AssumedKnown(Part):
    """The columns that the model tests and that the adversary was assumed to know, so that nobody judged them.

    ``proved`` are those that follow of some people from the sizes of nodes and the other columns, ``incomplete`` says
    why there may be more of that; empty where all was looked at. ``summary`` is the same in one line.
    """

    columns: tuple[Text, ...]
    proved: tuple[ProvedBySizes, ...] = ()
    incomplete: tuple[Text, ...] = ()
    summary: Text


class Lesson(Part):
    """One thing an adversary could learn: a figure, and the sentence it begins."""

    figure: Text
    text: Text
    detail: Text = ""
    is_known: bool = True


class TreeNode(Part):
    """A node as it is drawn. ``rank`` orders the nodes at risk, 0 first; ``clauses`` are those that break there.

    Thresholds are rounded for reading in ``test`` and ``path``; ``exact`` is the test with all their digits.
    """

    index: int
    name: Text
    parent: int | None
    test: Text
    path: Text
    line: int | None
    label: Text
    records: Number
    records_text: Text
    label_share_text: Text
    risk: Risk = "none"
    rank: int | None = None
    clauses: tuple[Text, ...] = ()
    exact: Text = ""


class Row(Part):
    """One line of a comparison or list: a name, and words for it."""

    name: Text
    text: Text


class UnjudgedClause(Row):
    """A clause that does not apply to a model, and why; ``plain`` is what it would measure, in words."""

    plain: Text = ""


class ColumnMeaning(Part):
    """What a column and its values are called for people, in words of the table's file or of a data dictionary.

    ``values`` has a value as ``name`` and its label as ``text``; ``values_left_out`` is how many more there are.
    ``all_labelled`` says that every value that the table has in the column is among ``values``.
    """

    name: Text
    label: Text = ""
    values: tuple[Row, ...] = ()
    values_left_out: int = 0
    is_sensitive: bool = False
    all_labelled: bool = False


class File(Part):
    """A file by its name, without folders, and the SHA-256 of its bytes."""

    name: Text
    sha256: Text

    @field_validator("name")
    @classmethod
    def _has_no_folder(cls, name: str) -> str:
        if PurePath(name).name != name:
            raise ValueError("give the file's name without its folders")
        return name

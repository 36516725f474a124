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
Grade = Literal["same tree", "a tie", "another tree", "consistent"]
Found = Literal["enumerated", "sampled", "gave up", "not run"]


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


class ColumnMeaning(Part):
    """What a column and its values are called for people, in words of the table's file or of a data dictionary.

    ``values`` has a value as ``name`` and its label as ``text``; ``values_left_out`` is how many more there are.
    """

    name: Text
    label: Text = ""
    values: tuple[Row, ...] = ()
    values_left_out: int = 0
    is_sensitive: bool = False


class Certain(Part):
    """A profile whose records provably all have one value, and what proves it."""

    profile: Text
    records: Number
    value: Text
    reason: Text
    path: Text
    node: Text
    line: int | None


class Otherwise(Part):
    """A profile that could just as well say something else, with the swap; ``grade`` says if the same tree grows then.

    ``grade`` is "same tree", "a tie", "another tree" or "consistent" (the learner was not run again);
    ``grade_text`` is a sentence.
    """

    profile: Text
    records: Number
    says: Text
    grade: Grade
    grade_text: Text
    path: Text
    node: Text
    line: int | None


class Worlds(Part):
    """What reasoning over whole records proves. With a ``reason`` nothing was worked out, and the counts are 0.

    ``certain`` and ``otherwise`` hold the worst profiles only. ``posterior`` says how probabilities over all tables
    that fit were found. ``rows_text`` are the same facts, ready to print.
    """

    reason: Text
    consistency: Literal["consistent", "inconsistent", "not decided"]
    profiles: int = 0
    profiles_certain: int = 0
    profiles_not_decided: int = 0
    records_certain: Number = 0
    records_not_decided: Number = 0
    records_with_excluded_value: Number = 0
    summary: Text
    split_bits: Value
    posterior: Found
    posterior_text: Text
    rows_text: tuple[Row, ...] = ()
    not_decided: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()
    certain: tuple[Certain, ...] = ()
    otherwise: tuple[Otherwise, ...] = ()


class OverTrees(Part):
    """Of how many people the first ``trees`` tell so much; null: not known."""

    trees: int
    by_leaf: Number
    certain: Number
    guessed: Number | None
    predicted: Number | None


class Release(Part):
    """What one of several releases adds: its people, who joined and left since the one before, and who is certain.

    ``certain_alone`` are certain by it alone, ``certain_so_far`` of all people by it and those before it, at least;
    null: not known.
    """

    name: Text
    trees: int
    people: Number
    joined: Number
    left: Number
    certain_alone: Number | None
    certain_so_far: Number | None


class Ensemble(Part):
    """What all trees prove together. With ``reasons`` and no recovered leaf, nothing could be told, and they say why.

    ``leaves`` are those that people stop in; of ``recovered_leaves`` the people of each value follow from the file.
    ``replayed`` says that the drawing of a sample was repeated from a seed. ``records_certain`` are proved by all
    leaves together, ``records_certain_by_leaf`` by one leaf alone; null: not known. ``over_trees`` is what the first
    trees alone tell, ``facts`` the settings of the training that were used, with where each comes from. Of several
    releases the trees are those of all; ``releases`` says what each adds, in the order of their publication, and
    ``differences`` what their totals prove of those whom only one of them holds.
    """

    trees: int
    leaves: int
    recovered_leaves: int
    replayed: bool
    reasons: tuple[Text, ...] = ()
    records_certain_by_leaf: Number | None
    records_certain: Number | None
    summary: Text
    facts: tuple[Row, ...] = ()
    over_trees: tuple[OverTrees, ...] = ()
    releases: tuple[Release, ...] = ()
    differences: tuple[Text, ...] = ()


class ProofOfFile(Part):
    """What one file proves by itself: people who are certain, and how many more were not decided."""

    name: Text
    numbers: int
    records_certain: Number
    records_not_decided: Number


class BlameReason(Part):
    """Published numbers that prove the values of some people; ``minimal``: none of them can be missed."""

    numbers: tuple[Text, ...]
    records: Number
    minimal: bool


class BlamedNumber(Part):
    """A published number, and how many people it is to blame for: a reason of k numbers gives each a k-th of them."""

    name: Text
    records: Number


class BlamedNumbers(Part):
    """Which published numbers prove people's values, by rows over people, without the choice of splits.

    ``files`` are what the model and each output prove alone. ``records_unexplained`` are certain, and no reason was
    found in time. ``withhold`` are the fewest numbers to withhold so that nobody is proved: at least
    ``withhold_at_least`` have to go, and it is ``withhold_least`` where so many do. Empty with ``withhold_safe`` false
    where none was found. The numbers hold at most ``bits``, and everybody's values are ``bits_of_values``. With
    ``reason`` nothing could be told.
    """

    numbers: int = 0
    files: tuple[ProofOfFile, ...] = ()
    records_certain: Number = 0
    records_not_decided: Number = 0
    records_unexplained: Number = 0
    reasons: tuple[BlameReason, ...] = ()
    blamed: tuple[BlamedNumber, ...] = ()
    withhold: tuple[Text, ...] = ()
    withhold_at_least: int = 0
    withhold_safe: bool = False
    withhold_least: bool = False
    bits: Number | None = None
    bits_of_values: Number | None = None
    sentences: tuple[Text, ...]
    reason: Text = ""


class TriedAttack(Part):
    """How well one attack by trial named members of the table; ``metrics`` have the names that SACRO-ML uses."""

    name: Text
    metrics: dict[Text, Number]


class AttacksTried(Part):
    """Attacks by trial on membership, beside the exact ``proved``: lower bounds, and no part of the verdict."""

    estimator: Text
    results: tuple[TriedAttack, ...]
    sentences: tuple[Text, ...]


class KnownNumber(Part):
    """People of one profile, of whom much is known: between ``low`` and ``high`` in the target's unit, as is proved."""

    profile: Text
    records: Number
    low: Number
    high: Number
    exact: bool


class Values(Part):
    """What the leaves of a model that predicts a number prove of people's numbers, in the target's unit.

    Where nothing could be told, all numbers are null and ``reasons`` say why. ``exact`` is how many people's numbers
    are determined but for rounding, ``narrowest`` and ``median_width`` are widths of the intervals that are proved, and
    ``range`` the least and the greatest value of the table, ``step`` what all values are whole multiples of above the
    least (null: nothing). ``facts`` are the settings of the training that were used. ``known`` are the people of whom
    most is known.
    """

    exact: Number | None
    narrowest: Number | None
    median_width: Number | None
    range: tuple[Number, Number] | None
    step: Number | None
    summary: Text
    reasons: tuple[Text, ...] = ()
    facts: tuple[Row, ...] = ()
    known: tuple[KnownNumber, ...] = ()


class Certainty(Part):
    """Share of records whose guess, or whose true value, is given at least each probability.

    ``worlds`` is the same of the best guess among all tables that fit; where ``worlds_are_proved_only``, no more is
    known than the probability that every such table gives at least. ``certain`` is the share whose value is proved.
    Null: nothing is known of whole records.
    """

    probability: tuple[Finite, ...]
    guess: tuple[Finite, ...]
    truth: tuple[Finite, ...] | None
    worlds: tuple[Finite, ...] | None = None
    worlds_are_proved_only: bool = False
    certain: Finite | None = None
    limit: Finite | None
    summary: Text


class Divergence(Part):
    """Share of records per interval of divergence (nats): bin i lies between edges i and i + 1.

    ``infinite`` is the share of records whose true value the estimate rules out.
    """

    edges: tuple[Finite, ...]
    shares: tuple[Finite, ...]
    infinite: Finite
    limit: Finite | None
    summary: Text


class Level(Part):
    """What the adversary reaches when that much is published: each level adds to the one before it."""

    name: Text
    guess_accuracy: Value
    disclosure: Value
    kl_overall: Value


class Lack(Part):
    """What an adversary could tell who did not know one of the columns that he knows."""

    column: Text
    certain: Value
    confidence: Value
    guess_accuracy: Value


class Adversary(Part):
    """Somebody who knows these columns of everybody: what of the people's ``secret`` they can tell.

    ``verdict`` is that of the policy's clauses about what somebody can infer; ``readings`` are by measure, of those
    that differ between adversaries. ``worst`` are the people of whom they can tell most: by the profile that they see,
    what. ``shown`` are people of whom a table that fits tells how few can have the value that most of them must have.
    ``lacking`` is what they would lose by each column, where that was asked.
    """

    name: Text
    knows: tuple[Text, ...]
    target_known: bool
    secret: Text
    verdict: Word
    readings: dict[Text, Reading]
    worst: tuple[Row, ...] = ()
    shown: tuple[Row, ...] = ()
    lacking: tuple[Lack, ...] = ()


class Plots(Part):
    """The series behind the pictures; a series that is null has its reason."""

    certainty: Certainty | None = None
    certainty_reason: Text = ""
    divergence: Divergence | None = None
    divergence_reason: Text = ""
    levels: tuple[Level, ...] = ()


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

"""The one versioned document behind every report: all that renderers say, as plain values and finished words."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from treewarden.policies.verdict import Severity, counts
from treewarden.reports.document.parts import (
    Adversary,
    AssumedKnown,
    AttacksTried,
    BlamedNumbers,
    Break,
    ColumnMeaning,
    Ensemble,
    File,
    Finding,
    LeafCase,
    Lesson,
    Number,
    Part,
    Plots,
    Reading,
    Row,
    Text,
    TreeNode,
    Value,
    Values,
    Worlds,
)
from treewarden.reports.document.words import Word

SCHEMA: Literal["treewarden-report/1"] = "treewarden-report/1"
Setting = bool | Number | Text | tuple[Text, ...] | None
"""What an option or a piece of knowledge can be."""


class Model(Part):
    """The published tree, as read from its file; of an ensemble all its trees.

    ``drawn`` says which of them ``tree`` of the document is, in words; "" where there is one.
    """

    file: Text
    format: Text
    task: Text
    target: Text
    classes: tuple[Text, ...]
    nodes: int
    leaves: int
    depth: int
    quality: Text
    notes: tuple[Text, ...]
    trees: int = 1
    combination: Text = ""
    drawn: Text = ""


class Population(Part):
    """The people of the table; ``weights`` says what weights its rows carry.

    It is "none", "frequencies" (``records`` is their sum) or "sampling" (each row is one of the ``records``).
    """

    records: Number
    profiles: int
    classes: int
    quasi_identifiers: tuple[Text, ...]
    shares: tuple[Row, ...]
    weights: Text = "none"


class Knowledge(Part):
    """What the adversary is assumed to know; ``sentences`` say the same in words."""

    leaf: Text
    split: Text
    marginal: bool
    accuracy: bool
    strict_labels: bool
    min_leaf: int | None
    facts: tuple[Text, ...]
    sentences: tuple[Text, ...]


class Solver(Part):
    """How the estimate was found; entropies in nats per record, null where there is none.

    ``dropped`` counts the entries of the document's ``dropped``. ``seconds`` is the only value outside ``provenance``
    that differs from run to run. ``signatures`` is 0 where none are told. ``rows_text``
    are the same facts, ready to print.
    """

    status: Text
    reason: Text
    entropy: Number | None
    entropy_bound: Number | None
    entropy_relaxed: Number | None
    bound_argument: Text
    max_violation: Number | None
    kkt_error: Number | None
    iterations: int
    seconds: Number
    rows: int
    rows_active: int
    dropped: int
    blocks: int
    blocks_stalled: int
    blocks_flat: int
    blocks_several: int
    blocks_symmetric_broken: int
    blocks_saddle: int
    split_rows: Text
    profiles_fixed: int
    signatures: int = 0
    is_unique: bool
    door: Text
    rows_text: tuple[Row, ...]


class Dropped(Part):
    """A constraint that the true table breaks, so that it was not used."""

    constraint: Text
    where: Text
    problem: Text
    is_published: bool


class Policy(Part):
    """The pack that was held against the audit; ``extends`` names those that it builds on, the nearest first."""

    name: Text
    version: Text
    title: Text
    description: Text
    sha256: Text
    extends: tuple[Text, ...] = ()


class Asked(Part):
    """How the audit was asked: its options and the adversary's knowledge, as given. With the files they repeat it.

    ``facts`` are those of the knowledge and ``adversaries`` who knows some columns only, each as JSON, ``training``
    what it says of how a model was trained, ``seeds`` those that somebody would try, and ``secret`` what is secret, as
    JSON, where that is not the target.
    """

    options: dict[Text, Setting]
    knowledge: dict[Text, Setting]
    facts: tuple[Text, ...] = ()
    training: dict[Text, Number] = {}
    seeds: tuple[int, ...] = ()
    adversaries: tuple[Text, ...] = ()
    secret: Text = ""


class EarlierFiles(Part):
    """A release before the one that is audited, and its table."""

    model: File
    table: File


class Provenance(Part):
    """Where it all comes from; ``table`` is null where no table was given, ``asked`` where that is not told.

    ``written`` is the repaired model, of a repair that wrote one; ``model`` is then the one that was given. ``earlier``
    are the releases before it, in the order of their publication. ``salt`` is a random number where the digest of the
    report is published, so that it confirms no guess. ``candidates`` is the register of everybody who may be in the
    table, null where none was given. Time, and durations other than ``solver.seconds``, stand here and nowhere else.
    """

    version: Text
    model: File
    table: File | None
    pack: File
    written: File | None = None
    created: Text | None = None
    seconds: Number | None = None
    asked: Asked | None = None
    salt: Text = ""
    earlier: tuple[EarlierFiles, ...] = ()
    candidates: File | None = None


class Side(Part):
    """One of the two models that a repair compares; of an ensemble the same tree is drawn in both."""

    title: Text
    verdict: Word
    headline: Text
    leaves: int
    failing: tuple[Text, ...]
    tree: tuple[TreeNode, ...]


class Compared(Part):
    """One reading before and after."""

    plain: Text
    before: Value
    after: Value


class Attempt(Part):
    """One change that was tried, by its name, its verdict and its cost. ``privacy`` is how far the worst clause is met.

    ``is_unbeaten``: no other attempt is as good in privacy and every cost, and better in one. ``is_applied``: this is
    the one that is written. The losses are null without records held out,
    ``predictions_changed`` where the model cannot be evaluated, the utilities (``utility_name``, cross-validated) where
    they cannot be told. ``not_audited`` is why no full audit was made of it.
    """

    name: Text
    title: Text
    remedies: tuple[Text, ...]
    verdict: Word
    is_recommended: bool
    is_applied: bool
    is_unbeaten: bool
    privacy: Value
    leaves: int
    leaves_lost: int
    leaves_text: Text
    predictions_changed: Number | None
    predictions_changed_text: Text
    accuracy_before: Value
    accuracy_after: Value
    loss_before: Value | None
    loss_after: Value | None
    utility_name: Text = ""
    utility_before: Value | None = None
    utility_after: Value | None = None
    numbers_withheld: Number
    numbers_withheld_text: Text
    withheld: tuple[Text, ...]
    failing: tuple[Text, ...]
    problem: Text
    not_audited: Text = ""


class Repair(Part):
    """What was tried to make the model pass, best first; ``after`` is the model written, else the nearest, else null.

    ``privacy`` is that of the model as it was given; ``summary`` says what the picture of all attempts shows.
    ``advice`` is how to grow a boosted model again. ``utility`` says by what the changes are compared.
    """

    message: Text
    is_found: bool
    privacy: Value
    before: Side
    after: Side | None
    compared: tuple[Compared, ...]
    attempts: tuple[Attempt, ...]
    refusals: tuple[Text, ...]
    summary: Text
    advice: tuple[Text, ...] = ()
    utility: Text = ""


class Document(Part):
    """An audit in full; with ``repair``, the audit of the tree the repair recommends (of the original if of none).

    Numbers are JSON numbers, infinite ones the strings "inf" and "-inf"; null means "could not tell", with a reason
    beside it. ``readings`` holds each measure with its default parameters by name, others as ``measure[name=value]``.
    ``leaves`` groups what breaks by leaf, the worst of ``leaves_broken`` first. ``confidential`` says who may read the
    report. Of a redacted one, ``redacted_below`` is the smallest count of people that is told, and what cannot be told
    is empty or null; null: nothing was left out. ``purpose`` is what the model is to be published for, in its owner's
    words. Findings of the severity ``fail_on`` or a graver one make up the verdict; ``not_judged`` names the clauses
    that do not apply to this model, and why. ``assumed_known`` names the columns that the model tests and nobody
    judged; null in older ones. ``adversaries`` are all who were asked about, where that are not only those who know
    every quasi-identifier; ``readings`` then are those of the worst of them. ``basis`` is "file" where no table was
    given, and ``rests_on`` says then what the verdict rests on. ``columns`` say what columns and values mean, where
    labels are known; all else has the names of the table.
    """

    schema_version: Literal["treewarden-report/1"] = Field(default=SCHEMA, alias="schema")
    kind: Literal["audit", "repair"]
    confidential: Text
    redacted_below: int | None = None
    title: Text
    purpose: Text = ""
    verdict: Word
    headline: Text
    meaning: Text
    next_steps: tuple[Text, ...]
    lessons: tuple[Lesson, ...]
    findings: tuple[Finding, ...]
    fail_on: Severity = "error"
    not_judged: tuple[Row, ...] = ()
    assumed_known: AssumedKnown | None = None
    basis: Literal["table", "file"] = "table"
    rests_on: Text = ""
    leaves: tuple[LeafCase, ...] = ()
    leaves_broken: int = 0
    readings: dict[Text, Reading]
    solver: Solver | None
    population: Population
    model: Model
    knowledge: Knowledge
    policy: Policy
    dropped: tuple[Dropped, ...]
    warnings: tuple[Text, ...]
    tree: tuple[TreeNode, ...]
    plots: Plots
    worlds: Worlds | None = None
    ensemble: Ensemble | None = None
    values: Values | None = None
    blame: BlamedNumbers | None = None
    attacks: AttacksTried | None = None
    adversaries: tuple[Adversary, ...] = ()
    columns: tuple[ColumnMeaning, ...] = ()
    provenance: Provenance
    repair: Repair | None = None

    def counts(self, found: Finding | Break) -> bool:
        """Return whether a finding, or what it is in a leaf, is grave enough to make up the verdict."""
        return counts(found.severity, self.fail_on)

"""The one versioned document behind every report: all that renderers say, as plain values and finished words.

What findings are called is the same in every report, and tells them from each other by what they are about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from treewarden.policies.verdict import OF_EXCEPTIONS, FindingKind, Severity, counts
from treewarden.reports.document.inferred_parts import (
    Adversary,
    AttacksTried,
    BlamedNumbers,
    Claim,
    Ensemble,
    Plots,
    Values,
    Worlds,
)
from treewarden.reports.document.parts import (
    AssumedKnown,
    Break,
    ColumnMeaning,
    File,
    Finding,
    LeafCase,
    Lesson,
    Number,
    Part,
    Reading,
    Row,
    Text,
    TreeNode,
    UnjudgedClause,
    Value,
)
from treewarden.reports.document.words import Word, counted

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


class StatedRequest(Part):
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
    table, null where none was given. ``outputs`` are the files that are published with the model. Time, and durations
    other than ``solver.seconds``, stand here and nowhere else.
    """

    version: Text
    model: File
    table: File | None
    pack: File
    written: File | None = None
    created: Text | None = None
    seconds: Number | None = None
    asked: StatedRequest | None = None
    salt: Text = ""
    earlier: tuple[EarlierFiles, ...] = ()
    candidates: File | None = None
    outputs: tuple[File, ...] = ()


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
    ``search_cut`` says why ranges of the original are wider than in its own audit; empty where they are not.
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
    search_cut: Text = ""


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
    labels are known; all else has the names of the table. ``claims`` is what came of each claim of differential
    privacy; of several releases, the last is of all of them. ``unlimited`` says what is proved of people although no
    check of a policy that passes limits it; "" where nothing is. ``rebuilt_domain`` says of which columns the public
    domain was declared, from which records are rebuilt; "" where the values of the table stand for it.
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
    not_judged: tuple[UnjudgedClause, ...] = ()
    assumed_known: AssumedKnown | None = None
    basis: Literal["table", "file"] = "table"
    rests_on: Text = ""
    unlimited: Text = ""
    rebuilt_domain: Text = ""
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
    claims: tuple[Claim, ...] = ()
    provenance: Provenance
    repair: Repair | None = None

    def counts(self, finding: Finding | Break) -> bool:
        """Return whether a finding, or what it is in a leaf, is grave enough to make up the verdict."""
        return counts(finding.severity, self.fail_on)


def finding_id(clause: str, leaf: str = "") -> str:
    """Return the name of what breaks a clause in a leaf, or in the model as a whole: the same in every output."""
    return hashlib.sha256(f"{clause}\n{leaf}".encode("utf-8", "backslashreplace")).hexdigest()[:16]


def is_about_waivers(clause: str, measure: str) -> bool:
    """Return whether a finding is about a waiver or a baseline, and so about nobody in the table."""
    return not measure and clause.startswith(OF_EXCEPTIONS)


def its_own_words(finding: Finding) -> str | None:
    """Return the message of a finding that is about nobody in the table, as it may be read by anybody; else None."""
    is_of_nobody = is_about_waivers(finding.clause, finding.measure) or (
        not finding.measure and finding.clause == FindingKind.RELEASES_LINKED
    )
    return finding.message if is_of_nobody else None


def accepted_undecided(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the clauses that are not decided and accepted all the same, each with who accepted it, why, until when."""
    return tuple(
        f"{finding.clause}: {finding.accepted.reason}"
        for finding in findings
        if finding.verdict == "UNDETERMINED" and finding.accepted is not None
    )


# One line that says which columns were assumed known and not judged: names first, the rest of many counted.

NONE_TESTED = "nothing: the model tests no column"
FOR_SOME = "For some people, the leaf sizes disclose"
MOST_IN_A_LINE = 5
MOST_ASSUMED = 25
"""So many names stand in the sentences of a report, whose reader signs what was assumed."""
LONGEST_NAME = 60


def one_line(names: Sequence[str], proved: Sequence[str] = ()) -> str:
    """Return in one line which columns were assumed known, and of which sizes prove something; the first of many."""
    columns = _first_names(names) if names else NONE_TESTED
    said = f"assumed known to adversaries, so not judged: {columns}"
    if not proved:
        return said
    return f"{said}. {FOR_SOME} {_first_names(proved)}; audit with each as the secret"


def without_counts(assumed: AssumedKnown | None) -> str:
    """Return the same line without a count of people."""
    if assumed is None:
        return ""
    return one_line(
        assumed.columns,
        list(dict.fromkeys(proved_by_sizes.column for proved_by_sizes in assumed.proved)),
    )


def _first_names(names: Sequence[str], most: int = MOST_IN_A_LINE) -> str:
    shown = [
        each if len(each) <= LONGEST_NAME else f"{each[: LONGEST_NAME - 1]}…"
        for each in names[:most]
    ]
    more = len(names) - len(shown)
    rest = counted(more, "more column", "more columns")
    return ", ".join(shown) + (f" and {rest}" if more else "")


def assumed_sentences(document: Document) -> str:
    """Return the same in sentences, for a reader who sees the report for the first time."""
    known = document.assumed_known
    if known is None:
        return ""
    if not known.columns:
        return "The model tests no column, so the adversary was assumed to know none."
    said = (
        f"Not judged: what the file discloses about the columns that the model tests "
        f"({_first_names(known.columns, MOST_ASSUMED)}). The audit assumes that the adversary already knows them."
    )
    proved = dict.fromkeys(
        each.column
        if each.people is None
        else f"{each.column} ({counted(float(each.people), 'person', 'people')})"
        for each in known.proved
    )
    if not proved:
        return said
    return (
        f"{said} Some adversaries do not know all of them. The leaf sizes then disclose these columns of some people: "
        f"{_first_names(list(proved), MOST_ASSUMED)}. An adversary who knows all other columns of such a person can "
        "narrow down the missing one. For example, the file may prove that the value is above 37."
    )


def summary_of(document: Document) -> str:
    """Return in one line which columns were assumed known; "" of documents that do not tell."""
    assumed_known = document.assumed_known
    return (
        ""
        if assumed_known is None
        else f"{assumed_known.summary[:1].upper()}{assumed_known.summary[1:]}"
    )

"""The pieces of a document that say what was inferred: by consistent tables, trees together, releases, adversaries."""

from __future__ import annotations

from typing import Literal

from treewarden.reports.document.parts import (
    Finite,
    Number,
    Part,
    Reading,
    Row,
    Text,
    Value,
)
from treewarden.reports.document.words import Word

Grade = Literal["same tree", "a tie", "another tree", "consistent"]
Found = Literal["enumerated", "sampled", "gave up", "not run"]


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


class BlamedLeaf(Part):
    """A leaf whose published numbers help to prove values, and its line in the model's file."""

    tree: int
    node: Text
    line: int | None


class BlameReason(Part):
    """Published numbers that prove the values of some people; ``minimal``: none of them can be missed.

    ``smallest``: no fewer numbers prove these values. ``leaves`` are those that the numbers belong to, and ``outputs``
    the numbers that are published beside the model.
    """

    numbers: tuple[Text, ...]
    records: Number
    minimal: bool
    smallest: bool = False
    leaves: tuple[BlamedLeaf, ...] = ()
    outputs: tuple[Text, ...] = ()


class BlamedNumber(Part):
    """A published number, and how many people it is to blame for: a reason of k numbers gives each a k-th of them."""

    name: Text
    records: Number


class MostTelling(Part):
    """The number whose withholding lowers the average probability of a person's true value most.

    ``before`` and ``after`` are that probability with the number and without it; ``tried`` numbers were withheld, each
    alone.
    """

    name: Text
    before: Number
    after: Number
    tried: int


class BlamedNumbers(Part):
    """Which published numbers prove people's values, by rows over people, without the choice of splits.

    ``files`` are what the model and each output prove alone. ``records_unexplained`` are certain, and no reason was
    found in time. ``withhold`` are the cheapest numbers to withhold so that nobody is proved. They cost
    ``withhold_cost``, every other choice ``withhold_at_least`` or more, and it is ``withhold_least`` where both are the
    same; a number costs 1 where nobody set another cost. Empty with ``withhold_safe`` false
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
    withhold_cost: Number = 0
    withhold_at_least: Number = 0
    withhold_safe: bool = False
    withhold_least: bool = False
    most_telling: MostTelling | None = None
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


class PersonLoss(Part):
    """What the file cost each of the people of a group who have one value, in nats."""

    profile: Text
    value: Text
    people: Number
    loss: Number


class Claim(Part):
    """What a model claims of differential privacy, and what came of it.

    ``of`` names the release of several, or all of them together; "" where there is one model. ``words`` is the claim as
    it is written in files and options. ``outcome`` is void (no promise: ``reason`` says why), refuted (``reason`` is
    the proof, or the test with its p-value), not refuted, or undetermined. ``level`` is that of the test.
    ``epsilon_used`` is the interval of 95 % of the epsilon that the labels show, ``largest_loss`` what the person lost
    who lost most, ``mean_loss`` what a person lost on average, ``people_at_epsilon`` how many lost 99 % of epsilon or
    more, and ``losses`` what each person lost, the most first (``losses_left_out`` more groups lost less): all facts
    about the table. Where tests were chosen privately, losses are those of the labels alone. ``summary`` says what
    matters in a sentence or two.
    """

    of: Text = ""
    words: Text
    outcome: Literal["void", "refuted", "not refuted", "undetermined"]
    reason: Text = ""
    level: Number
    p_value: Number | None = None
    epsilon_used: Value
    largest_loss: Value
    mean_loss: Number | None = None
    people_at_epsilon: Number | None = None
    losses: tuple[PersonLoss, ...] = ()
    losses_left_out: int = 0
    summary: Text

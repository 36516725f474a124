"""How an audit is done: one record whose fields are the flags of the command line and the keywords of Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import NamedTuple

from treewarden.audit.knowledge.levels import LeafLevel, RowOrder, SplitLevel
from treewarden.audit.option_spec import (
    AttestedAs,
    Concern,
    Content,
    OptionDoor,
    OptionSpec,
    option,
)
from treewarden.audit.withholding_costs import read_costs
from treewarden.ppdm_models.tree.privacy_claim import check_claims
from treewarden.ppdm_models.tree.tool import Tool


class RowStatement(StrEnum):
    """How split rows are stated: about whole records where that is exact, or about shares as the papers do."""

    INTEGER = "integer"
    REAL = "real"


class Solver(StrEnum):
    """Which door to IPOPT is taken."""

    AUTO = "auto"
    CASADI = "casadi"
    CYIPOPT = "cyipopt"


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """What an audit can be asked, beside its files: who is who in the table, what is known, and how it is solved.

    Raises:
        ValueError: a value cannot be.
    """

    sensitive: str | None = option(
        Concern.COLUMNS,
        None,
        "The column that the model predicts and that the audit protects.",
        str,
        content=Content.COLUMNS,
        metavar="COLUMN",
        unset="the target that the file names",
        doors=OptionDoor.WITH_PAGE,
    )
    qi: tuple[str, ...] | None = option(
        Concern.COLUMNS,
        None,
        "The quasi-identifiers: columns that an adversary knows about everyone. May be repeated.",
        tuple,
        content=Content.COLUMNS,
        if_empty="names no column; leave it out to use the model's columns",
        metavar="COLUMN[,COLUMN...]",
        unset="the model's columns",
        doors=OptionDoor.WITH_PAGE,
    )
    weights: str | None = option(
        Concern.COLUMNS,
        None,
        "A column with the number of people that each row stands for.",
        str,
        content=Content.COLUMNS,
        metavar="COLUMN",
        doors=OptionDoor.WITH_PAGE,
    )
    sampling_weights: str | None = option(
        Concern.COLUMNS,
        None,
        "A column with survey weights. Each row is one person. The counts in the model are sums of these weights, not "
        "numbers of people.",
        str,
        content=Content.COLUMNS,
        metavar="COLUMN",
    )
    columns: tuple[str, ...] | None = option(
        Concern.COLUMNS,
        None,
        "Use this if the model file does not name its features: the table's column for each feature, for example "
        "f0=age. May be repeated.",
        tuple,
        content=Content.PAIRS,
        if_empty="names no feature; leave it out if the file names its columns",
        metavar="FEATURE=COLUMN[,...]",
    )
    claims: str | None = option(
        Concern.METHOD,
        None,
        "The differential-privacy guarantee that the owner claims for the model, if the file does not state it, "
        "for example epsilon=1,mechanism=permute-and-flip,splits=independent (all keys: docs/differential-privacy.md). "
        "For several models, separate their claims by semicolons.",
        str,
        metavar="KEY=VALUE[,...]",
        unset="what the file claims",
        doors=OptionDoor.WITH_PAGE,
    )
    leaf: LeafLevel = option(
        Concern.KNOWLEDGE,
        LeafLevel.AS_PUBLISHED,
        "The adversary's knowledge about each leaf: its label only, its class shares, its class counts, or all that "
        "the file contains.",
        enum=LeafLevel,
        attested=AttestedAs("each leaf"),
        doors=OptionDoor.WITH_PAGE,
    )
    split: SplitLevel = option(
        Concern.KNOWLEDGE,
        SplitLevel.AS_PUBLISHED,
        "The rule by which training chose the splits, without weights of classes or records. Name it if the file does "
        "not: otherwise labels prove less, and a check passes only if it does with each usual rule. With none, the "
        "adversary does not know it.",
        enum=SplitLevel,
        attested=AttestedAs("the split criterion", SplitLevel.NONE),
        doors=OptionDoor.WITH_PAGE,
    )
    learner: Tool | None = option(
        Concern.KNOWLEDGE,
        None,
        "The program that trained the tree, if the file does not name it. The adversary then knows which splits it "
        "compares, and can exclude all tables that would give another tree.",
        enum=Tool,
        choices=tuple(tool.value for tool in Tool if tool not in (Tool.UNKNOWN, Tool.POLICY_TREE)),
        attested=AttestedAs("the learner"),
    )
    knows: tuple[str, ...] | None = option(
        Concern.ADVERSARY,
        None,
        "Also audit against an adversary who knows only these columns about everyone, or those of a preset (see "
        "docs/adversary.md): all, register, safe-harbour, neighbour, ex-spouse. May be repeated.",
        tuple,
        if_empty="names no column; leave it out where no adversary with fewer columns is to be considered",
        metavar="COLUMN[,COLUMN...]|PRESET",
        doors=OptionDoor.WITH_PAGE,
    )
    secret: str | None = option(
        Concern.ADVERSARY,
        None,
        "Check what the file discloses about this column instead of the one that the model predicts.",
        str,
        content=Content.COLUMNS,
        metavar="COLUMN",
        doors=OptionDoor.WITH_PAGE,
    )
    bins: tuple[str, ...] | None = option(
        Concern.ADVERSARY,
        None,
        "Cut points that divide a numeric --secret column into ranges. May be repeated.",
        tuple,
        content=Content.NUMBERS,
        if_empty="names no number; leave it out where the secret column is not numeric",
        metavar="NUMBER[,NUMBER...]",
        doors=OptionDoor.WITH_PAGE,
    )
    target_known: bool = option(
        Concern.ADVERSARY,
        False,
        "The adversary that you describe with --knows also knows the predicted column of everyone. Use it with "
        "--secret.",
        doors=OptionDoor.WITH_PAGE,
    )
    marginal: bool = option(
        Concern.KNOWLEDGE,
        False,
        "Assume that the adversary also knows the overall share of each class.",
        doors=OptionDoor.WITH_PAGE,
    )
    accuracy: bool = option(
        Concern.KNOWLEDGE,
        False,
        "Assume that the adversary also knows the training accuracy.",
        doors=OptionDoor.WITH_PAGE,
    )
    row_order: RowOrder = option(
        Concern.KNOWLEDGE,
        RowOrder.KNOWN,
        "Whether the adversary knows the order of the records. If the order is known and "
        "the file contains the random seed, the adversary can work out which records each "
        "tree was trained on.",
        enum=RowOrder,
        attested=AttestedAs(
            "the order of the records", RowOrder.UNKNOWN, unstated=RowOrder.KNOWN.value
        ),
        doors=OptionDoor.WITH_PAGE,
    )
    strict_labels: bool = option(
        Concern.KNOWLEDGE,
        False,
        "The adversary knows that no leaf was tied: the predicted class has more records than any other class.",
    )
    min_leaf: int | None = option(
        Concern.KNOWLEDGE,
        None,
        "The smallest leaf size that training allowed. Needed only if the file does not "
        "give it. Training never made smaller leaves. With this knowledge an adversary can exclude more tables, so "
        "the audit becomes stricter.",
        int,
        low=1,
        metavar="RECORDS",
        unset="the value in the file",
        attested=AttestedAs("the smallest leaf (min_leaf)"),
    )
    solver: Solver = option(
        Concern.MACHINE,
        Solver.AUTO,
        "Expert: the solver interface. Keep auto unless 'treewarden doctor' advises otherwise.",
        enum=Solver,
        doors=OptionDoor.GATE,
    )
    jobs: int | None = option(
        Concern.MACHINE,
        None,
        "Number of processes. The result does not depend on it.",
        int,
        low=1,
        unset="all cores",
        doors=OptionDoor.NONE,
    )
    time_limit: float | None = option(
        Concern.METHOD,
        None,
        "Time limit for each computation of what an adversary can infer. An audit may "
        "need several. Checks that are not finished by then are not decided.",
        int,
        float,
        low=0,
        is_open=True,
        metavar="SECONDS",
    )
    rows: RowStatement = option(
        Concern.METHOD,
        RowStatement.INTEGER,
        "Expert: count people in whole numbers (exact) or in fractions (approximate). Keep the default. It matters "
        "only if the adversary knows that each split was the best one.",
        enum=RowStatement,
    )
    worlds: bool = option(
        Concern.METHOD,
        True,
        "Search for people whose value is proved, because it is the same in every table that fits the model.",
    )
    worlds_budget: float = option(
        Concern.METHOD,
        20.0,
        "Time to search for proofs. People whose value is neither proved nor refuted by then are not decided.",
        int,
        float,
        low=0,
        high=1e9,
        metavar="SECONDS",
        doors=OptionDoor.WITH_PAGE,
    )
    worlds_all: bool = option(
        Concern.METHOD,
        False,
        "Continue the search for proofs after the verdict is decided, until the time is used up.",
    )
    strict_ties: bool = option(
        Concern.METHOD,
        False,
        "Assume that the adversary knows that training chooses the first of several equally good splits.",
    )
    levels: bool = option(
        Concern.REPORT,
        True,
        "Report how much each kind of published number adds to what an adversary can infer (not in text reports).",
        doors=OptionDoor.NONE,
    )
    blame: bool = option(
        Concern.REPORT,
        False,
        "Report which published numbers prove people's values, and the fewest numbers to remove so that no value is "
        "proved.",
        doors=OptionDoor.NONE,
    )
    same_everywhere: bool = option(
        Concern.REPORT,
        False,
        "With --blame, and in a repair: for each tree or table, propose to remove all of its numbers or "
        "none. Otherwise the pattern of the missing numbers could itself disclose something.",
        doors=OptionDoor.NONE,
    )
    smallest_reasons: bool = option(
        Concern.REPORT,
        False,
        "With --blame: for each person whose value is proved, find the smallest set of numbers that proves it. This "
        "takes longer.",
        doors=OptionDoor.NONE,
    )
    withholding_costs: str | None = option(
        Concern.REPORT,
        None,
        "With --blame, and in a repair: the cost of removing each kind of number (a higher cost: keep it "
        "if possible), for example leaf=2,regression=5,band=0.5. The removal with the smallest total is "
        "proposed. A kind that is not named counts 1. Add band=COST to let class counts of a "
        "leaf become ranges, such as 10 to 14, instead of being removed.",
        str,
        metavar="KIND=COST,...",
        doors=OptionDoor.NONE,
    )
    attack: str | None = option(
        Concern.REPORT,
        None,
        "With --population: also run published attacks that guess who was in the table "
        "(LiRA, RMIA and a worst-case attack: docs/membership.md). Each attack trains this "
        "estimator, for example sklearn.tree.DecisionTreeClassifier(), on parts of the "
        "register. The verdict does not depend on it.",
        str,
        metavar="ESTIMATOR",
        doors=OptionDoor.NONE,
        attested=AttestedAs(instead="remove it, and run the attacks with treewarden audit"),
    )

    def __post_init__(self) -> None:
        for name, spec in OPTION_SPECS.items():
            value = getattr(self, name)
            if spec.content is Content.PAIRS and isinstance(value, Mapping):
                value = _written_pairs(name, value)
                object.__setattr__(self, name, value)
            problem = spec.problem(value)
            if problem:
                raise ValueError(f"{name}: {value!r}: {problem}")
            problem = _pairs_problem(value) if spec.content is Content.PAIRS else ""
            if problem:
                raise ValueError(f"{name}: {problem}")
            if spec.enum is not None and value is not None:
                object.__setattr__(self, name, spec.enum(value))
        if self.claims is not None:
            check_claims(self.claims)
        if self.withholding_costs is not None:
            try:
                read_costs(self.withholding_costs)
            except ValueError as error:
                raise ValueError(f"withholding_costs: {error}") from None

    @property
    def is_weighed(self) -> bool:
        """Whether rows of the table stand for several people, or for a part of those of a survey."""
        return bool(self.weights or self.sampling_weights)

    @property
    def column_of_feature(self) -> dict[str, str]:
        """The column that each feature is which ``columns`` names, by the feature's name in the file."""
        return dict(_pair(entry) for entry in self.columns or ())


def _pair(entry: str) -> tuple[str, str]:
    """Return what stands before and after the first sign of equality."""
    name, _, value = entry.partition("=")
    return name, value


def _written_pairs(name: str, columns: Mapping[object, object]) -> tuple[str, ...]:
    """Return a mapping as the command line writes it.

    Raises:
        ValueError: it holds what is no text, or a name that cannot be written so.
    """
    for feature, column in columns.items():
        if not isinstance(feature, str) or not isinstance(column, str):
            raise ValueError(
                f"{name}: {feature!r}: {column!r}: both must be text; give names, "
                'for example {"f0": "age"}'
            )
        if "=" in feature:
            problem = "a name with = in it cannot be mapped; name it in the table as in the file"
            raise ValueError(f"{name}: {feature!r}: {problem}")
    return tuple(f"{feature}={column}" for feature, column in columns.items())


def _pairs_problem(entries: tuple[str, ...] | None) -> str:
    """Return why pairs of a feature and its column cannot be, in words; "" where they can."""
    features: set[str] = set()
    columns: dict[str, str] = {}
    for entry in entries or ():
        feature, column = _pair(entry) if isinstance(entry, str) else ("", "")
        if not feature or not column:
            return f"{entry!r} is not a pair; write FEATURE=COLUMN, such as f0=age"
        if feature in features:
            return f"the feature {feature!r} is named twice; give it one column"
        if column in columns:
            return (
                f"the features {columns[column]!r} and {feature!r} both are the column {column!r}; "
                "give each its own column"
            )
        features.add(feature)
        columns[column] = feature
    return ""


OPTION_SPECS: dict[str, OptionSpec] = {
    option_field.name: option_field.metadata["spec"] for option_field in fields(AuditOptions)
}
"""Every option by name, in the order in which reports and help show them."""
DEFAULT = AuditOptions()


def options_of(door: OptionDoor) -> tuple[str, ...]:
    """Return the names of the options that can be set at a door."""
    return tuple(name for name, spec in OPTION_SPECS.items() if door in spec.doors)


def options_about(*concerns: Concern) -> tuple[str, ...]:
    """Return the names of the options that are about one of these."""
    return tuple(name for name, spec in OPTION_SPECS.items() if spec.concern in concerns)


KNOWLEDGE = options_about(Concern.KNOWLEDGE)
"""The options that a knowledge file answers instead."""


class OptionConflict(NamedTuple):
    """The option that cannot be with the others, and why."""

    name: str
    problem: str


def find_conflict(
    options: AuditOptions, flag_name: Callable[[str], str] = str
) -> OptionConflict | None:
    """Return the first option that the others exclude; None where they go together.

    ``flag_name`` writes the name of an option as the reader knows it: a flag, a key or a keyword.
    """
    if options.weights is not None and options.sampling_weights is not None:
        problem = (
            f"cannot be combined with {flag_name('sampling_weights')}; use {flag_name('weights')} if a row stands "
            f"for several people, {flag_name('sampling_weights')} for survey weights"
        )
        return OptionConflict("weights", problem)
    for feature, column in options.column_of_feature.items():
        for name in ("sensitive", "weights", "sampling_weights"):
            if column == getattr(options, name):
                problem = f"the feature {feature!r} cannot be the column of {flag_name(name)}; give it its own column"
                return OptionConflict("columns", problem)
    if options.bins and options.secret is None:
        problem = f"needs a secret column; name it with {flag_name('secret')}"
        return OptionConflict("bins", problem)
    if options.target_known and options.knows is None:
        problem = (
            "needs an adversary with partial knowledge; name the known columns with "
            f"{flag_name('knows')}"
        )
        return OptionConflict("target_known", problem)
    return None


def find_bad_number(ends: Sequence[str]) -> str | None:
    """Return the first of the ends of ``bins`` that is no finite number; None where all are."""
    for end in ends:
        try:
            if not math.isfinite(float(end)):
                return end
        except ValueError:
            return end
    return None

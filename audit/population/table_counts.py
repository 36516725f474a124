"""Whether the leaves of a file hold as many as the table sends there: people, or their sampling weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import ColumnNotCountedError, TableError
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import Column, NumericColumn, number_text
from treewarden.ppdm_models.tree.plain_splits import is_inner, totals_of
from treewarden.ppdm_models.tree.predicate import NumericTest, atoms
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Node, Quality, Tree

# What a column of weights says: how many people each row stands for, or how much a survey counts each person.


class Weights(StrEnum):
    """How the rows of the table carry weights."""

    NONE = "none"
    FREQUENCIES = "frequencies"
    SAMPLING = "sampling"


@dataclass(frozen=True, slots=True)
class RowWeights:
    """What weights of the rows there are, how many people a row is at most, and how many rows of weight 0 are nobody.

    Learners that take weights compare their limits with rows.
    """

    kind: Weights = Weights.NONE
    heaviest: float = 1.0
    excluded: float = 0.0


@dataclass(frozen=True, slots=True)
class Weighing:
    """What each row of the table counts for, shape (rows,).

    ``people`` is how many people a row is; ``sampling`` is the survey's weight of each of them, None where every
    person counts once.
    """

    rows: RowWeights
    people: FloatArray
    sampling: FloatArray | None = None
    warnings: tuple[str, ...] = ()


def weighing(table: Table, weights: str | None, sampling: str | None) -> Weighing:
    """Return what the rows count for; ``weights`` are frequencies, ``sampling`` the weights of a survey.

    A record of weight 0 is nobody. In a table that was counted, a row stands for several records.

    Raises:
        TableError: both are given, a weight is missing, negative or (a frequency) no whole number, or all are 0.
    """
    if weights is not None and sampling is not None:
        raise TableError(
            table.source,
            (
                f"--weights {weights} and --sampling-weights {sampling} exclude each other; use "
                "--weights if a row stands for several people, --sampling-weights for survey weights"
            ),
        )
    records = np.ones(table.rows) if table.counts is None else table.counts
    if sampling is not None:
        weight = _column(table, sampling)
        rows = RowWeights(Weights.SAMPLING, excluded=float(records[weight == 0].sum()))
        return Weighing(rows, (weight > 0) * records, weight)
    if weights is None:
        return Weighing(RowWeights(), records)
    weight = _column(table, weights)
    fractions = np.flatnonzero(weight != np.rint(weight))
    if len(fractions):
        row = fractions[0]
        raise TableError(
            table.source,
            (
                f"column {weights!r}, {table.place(int(row))}: not a whole number of people; for survey "
                f"weights, use --sampling-weights {weights}"
            ),
        )
    many, people = int(((weight > 0) * records).sum()), weight * records
    said = (
        f"{many:,} {'row stands' if many == 1 else 'rows stand'} for {people.sum():,.0f} people (--weights {weights}): "
        "limits on people hold only if so many different people are in the table; "
        f"for survey weights, use --sampling-weights {weights}"
    )
    excluded = float(records[weight == 0].sum())
    rows = RowWeights(Weights.FREQUENCIES, float(weight.max()), excluded)
    return Weighing(rows, people, warnings=(said,) if many != people.sum() else ())


def _column(table: Table, name: str) -> FloatArray:
    try:
        weight = table.numbers(name).numbers
    except TableError as error:
        if name in table.columns and table.columns[name].holds_words():
            problem = f"column {name!r} holds words for yes and no, but a weight must be a number"
            raise TableError(table.source, f"{problem}; name another column") from error
        raise
    missing = np.flatnonzero(np.isnan(weight))
    if len(missing):
        raise TableError(
            table.source,
            (
                f"column {name!r}, {table.place(int(missing[0]))}: the weight is missing; give one, or "
                "0 to exclude the record"
            ),
        )
    bad = np.flatnonzero(weight < 0)
    if len(bad):
        raise TableError(
            table.source,
            f"column {name!r}, {table.place(int(bad[0]))}: the weight is negative; correct it, or name "
            "another column",
        )
    if not weight.sum():
        raise TableError(
            table.source, f"column {name!r}: all weights are 0, so there are no records"
        )
    return weight


COUNT_TOLERANCE_SHARE = 1e-6
OPTIONS = "add --weights COLUMN if each row stands for several people, or --sampling-weights COLUMN for survey weights"
UNNAMED_WEIGHTS = (
    "its class numbers are sums of weights or of parts of records, and no weights were "
    f"named, so they do not count people: {OPTIONS}"
)
CLASS_WEIGHTS = (
    "its class numbers were multiplied by class_weight, so they do not count people, and its choice of splits is not "
    "modelled; train it without class_weight, and weigh errors by the threshold that you predict with"
)
MOVED_SHARES = (
    "the learner moved class shares to keep them in order (monotonic_cst), so its numbers do not count people; train "
    "the model again without monotonic_cst, and audit that file"
)
REWEIGHTED = (
    "each tree was trained with other weights, as AdaBoost does, so its class numbers do not count people; train "
    "gradient boosting, a forest of all records, or one tree instead"
)
Gaps = dict[int, tuple[float, float]]
"""The leaves that disagree, by node index: what the file says, and what the table holds."""


def has_sums(tree: Tree) -> bool:
    """Whether the published numbers are sums over people: one each, or the weight of each."""
    return tree.has_people or tree.quality is Quality.WEIGHTED


def is_silent(tree: Tree) -> bool:
    """Whether a file neither counts people nor says how its tree was trained, so that weights may have had a part."""
    own = tree.learner.tool in (Tool.POLICY_TREE, Tool.TREEWARDEN)  # they weigh nothing
    return not (has_sums(tree) or tree.learner.criterion is not None or own)


def unnamed_weights(tree: Tree) -> str:
    """Return why the class numbers of a tree with unnamed weights count nobody, and what to do."""
    if tree.learner.weighs_classes:
        return CLASS_WEIGHTS
    return MOVED_SHARES if tree.learner.bounds_shares else UNNAMED_WEIGHTS


def has_unnamed_weights(tree: Tree, kind: Weights, here: FloatArray | None = None) -> bool:
    """Whether the class numbers of a tree are sums of weights that no option of the audit names.

    Weights of classes follow from what is secret, and no column holds them. ``here`` (N,) are how many people, as the
    rows stand for so many, stop at each node: where the numbers are not theirs, the weights are others.
    """
    if not tree.classes or tree.quality is not Quality.WEIGHTED:
        return False
    if kind is Weights.NONE or tree.learner.weighs_classes:
        return True
    if kind is not Weights.FREQUENCIES or here is None:
        return False
    return bool(count_gaps(tree, here, weighed=True))


def count_gaps(tree: Tree, here: FloatArray, *, weighed: bool = False) -> Gaps:
    """Return the leaves that publish another number than stops there; ``here`` (N,) is what stops at each node.

    It counts people, or with ``weighed`` their sampling weights.
    """
    if not (has_sums(tree) if weighed else tree.has_people):
        return {}
    rounding = printed_half(tree) * max(len(tree.classes), 1) if weighed else 0.0
    said = _weighed_totals(tree) if weighed else totals_of(tree)
    apart = np.maximum(COUNT_TOLERANCE_SHARE * np.maximum(1.0, said), rounding)
    is_gap = (np.abs(said - here) > apart) & ~is_inner(tree)
    return {
        index: (float(said[index]), float(here[index])) for index in np.flatnonzero(is_gap).tolist()
    }


def _weighed_totals(tree: Tree) -> FloatArray:
    sums = (_sum_of(node) for node in tree.nodes)
    return np.array([math.nan if total is None else total for total in sums])


def printed_half(tree: Tree) -> float:
    """Return half a unit of the last decimal that the file prints of its counts; 0 where they are whole.

    A file that prints two decimals says of 12.346 only 12.35; a whole number is taken as it is. Only the leaves' own
    numbers are looked at, as readers may have added up the others.
    """
    numbers = [
        number
        for node in tree.leaves
        for number in node.class_counts or (node.records,)
        if number is not None and number != round(number)
    ]
    return half_unit(numbers)


def half_unit(numbers: list[float]) -> float:
    """Return half a unit of the last decimal among numbers, 0 where there is none."""
    exponents = [Decimal(repr(float(number))).as_tuple().exponent for number in numbers]
    last = min((exponent for exponent in exponents if isinstance(exponent, int)), default=0)
    return 0.5 * 10.0**last if last < 0 else 0.0


def check_counts(
    tree: Tree,
    people: FloatArray,
    weighed: FloatArray | None,
    kind: Weights,
    source: str,
    hint: str = "",
) -> None:
    """Check that each leaf holds as much as the file says, given what stops at each node, shape (N,).

    ``weighed`` are the sums of sampling weights, where there are any. ``hint`` says what would match.

    Raises:
        TableError: a leaf disagrees; names the worst one, both numbers, and the likely cause.
    """
    gaps = count_gaps(tree, people if weighed is None else weighed, weighed=weighed is not None)
    if not gaps:
        return
    worst = max(gaps, key=lambda index: (abs(gaps[index][0] - gaps[index][1]), -index))
    published, here = gaps[worst]
    some = f"{len(gaps):,} of {len(tree.leaves):,} leaves differ"
    if weighed is None:
        what = f"{_count(published)} records in the file, {_count(here)} in the table"
    else:
        what = f"{_count(published)} records in the file, but a sum of weights of {_count(here)} in the table"
    example = f"for example {tree.where(tree.nodes[worst])} has {what}"
    if weighed is not None and not count_gaps(tree, people, weighed=True):
        cause = (
            ". Without weights the records match, so the tree was trained without them; remove "
            "--sampling-weights"
        )
    else:
        total = math.fsum(_sum_of(leaf) or 0.0 for leaf in tree.leaves)
        cause = _cause(total, float((people if weighed is None else weighed).sum()), kind, hint)
    problem = f"this is not the training table of {tree.source} ({some}, {example})"
    raise TableError(source, f"{problem}{cause}")


FINEST_ROUNDING = 1e-8
"""Of thresholds that are printed more finely every record's side is known: they halve gaps of more than 1e-7."""

SINGLE_SHARE = float(np.finfo(np.float32).eps)
"""How far the learner's 32-bit numbers may be from those of the table."""


def check_rounding(
    tree: Tree, columns: Mapping[str, Column], source: str, *, weighed: bool
) -> None:
    """Check that it is known to which side of each threshold every record goes, though a print rounds thresholds.

    Where every leaf is counted, the counts show it: a record on the wrong side would be too many there. Labels that may
    have been drawn at random prove nothing, wherever the records are.

    Raises:
        TableError: a value lies where the threshold may have been.
    """
    is_compared = has_sums(tree) if weighed else tree.has_people
    is_known = (is_compared and tree.counts_every_leaf) or tree.learner.saw_noise
    if tree.rounding <= FINEST_ROUNDING or is_known:
        return
    tests = {atom for node in tree.nodes for atom in atoms(node.test)}
    for test in sorted((atom for atom in tests if isinstance(atom, NumericTest)), key=str):
        column = columns.get(test.feature)
        ends = [end for end in (test.low, test.high) if math.isfinite(end)]
        if not isinstance(column, NumericColumn) or not ends:
            continue
        room = tree.rounding + SINGLE_SHARE * abs(ends[0])
        near = column.numbers[np.abs(column.numbers - ends[0]) <= room]
        if len(near):
            problem = (
                f"{test.feature!r} is {number_text(float(near[0]))} in a record, and the threshold "
                f"{number_text(ends[0])} is rounded in {tree.source}, so it is not known which branch the record takes"
            )
            raise TableError(source, f"{problem}; print the tree with more decimals")


def _count(number: float) -> str:
    return f"{number:,.0f}" if number == int(number) else f"{number:,g}"


def fitting_column(tree: Tree, table: Table, leaf: IndexArray, besides: tuple[str, ...]) -> str:
    """Return, in words, the first numeric column whose sums match every leaf as weights of the rows; "" where none.

    ``leaf`` (rows,) is where each row stops; ``besides`` are columns that are something else.
    """
    if not has_sums(tree) or not any(_sum_of(node) for node in tree.leaves):
        return ""
    for name in table.columns:
        if name in besides:
            continue
        try:
            numbers = table.numbers(name).numbers
        except (
            TableError,
            ColumnNotCountedError,
        ):  # the hint is not worth to count the table again
            continue
        if not (numbers >= 0).all() or (numbers == 1).all():
            continue
        sums = numbers if table.counts is None else numbers * table.counts
        here = np.bincount(leaf, sums, len(tree.nodes)).astype(np.float64)
        if not count_gaps(tree, here, weighed=True):
            return (
                f"column {name!r} matches as weights; add --weights {name} if each row stands for "
                f"several people, or --sampling-weights {name} for survey weights"
            )
    return ""


def _sum_of(node: Node) -> float | None:
    """Return the sum of a leaf's class numbers, which are weighed wherever any are; else its record count."""
    counts = node.class_counts
    if counts is None or any(count is None for count in counts):
        return node.records
    return math.fsum(count for count in counts if count is not None)


def _cause(published: float, in_table: float, kind: Weights, hint: str) -> str:
    if kind is Weights.SAMPLING:
        return (
            ". The model was trained with other weights; name the right column, or give the right "
            "table"
        )
    if hint:
        return f"; {hint}"
    if abs(published - in_table) <= COUNT_TOLERANCE_SHARE * max(published, 1.0):
        return (
            ". Possible causes: changed or empty cells, rounded thresholds, another table, a bootstrap sample; "
            f"give the training table, or {OPTIONS}"
        )
    totals = f": the model was trained on {_count(published)} records, and the table has {_count(in_table)}"
    if in_table < published:
        return f"{totals}; give the full training table, or {OPTIONS}"
    return f"{totals}; give the training table without other records, or {OPTIONS}"

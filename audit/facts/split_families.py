"""Which splits on one attribute a learner compared at one node, as a family: bins of values, and the cuts allowed.

What the program is known to have compared, by its own arithmetic, becomes a family of candidates. What it may have
compared is left out and said. Where the facts come from, all read in the programs' own code or documentation:

- scikit-learn compares 32-bit numbers and never cuts between two that differ by 1e-7 or less there; from 1.3 on a
  missing value is tried on either side of every cut, and alone against all others (``sklearn/tree/_splitter.pyx``).
- rpart tries every cut between different numbers; an attribute's gain counts the records that have a value
  (``rpart/src/bsplit.c``). With two classes it orders categories by the share of the first (``rpart/src/gini.c``).
- Spark cuts where bins end: at every midpoint of the table's values only where these are fewer than ``maxBins`` and
  no more records than it samples. It orders categories, with two classes by how many records of the second each has,
  else by their impurity, and tries the cuts of that order alone (``RandomForest.binsToBestSplit``).
- Weka's J48 raises subtrees when it prunes, so that a split may have been chosen among other records; it takes numbers
  nearer than 1e-5 for one, and asks of a cut a tenth of the mean class size on either side (``C45Split``).
- treewarden's own learners try every cut and every category.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np

from treewarden.audit.facts.grower import Grower, lacking
from treewarden.audit.facts.rows import (
    MISSING,
    Grouping,
    LeftOut,
    Origin,
    SplitFamily,
    branch_of_bins,
)
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray, ShortArray
from treewarden.ppdm_models.learn.splits import ANY, MOST_SET_VALUES
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion

SKLEARN_GAP = np.float32(1e-7)
"""scikit-learn does not cut between 32-bit numbers that differ by this or less."""
WEIGHT_SLACK = 1e-9
"""How far a sum of weights may fall short of the whole number that it is."""
MOST_BINS_FOR_SUBSETS = 10
"""With more categories at a node only one-against-rest candidates are formed: all subsets would be 2^(B-1)."""
MANY_LEVELS = 4
"""With more values in the table than so many times a node's profiles, sorting these is quicker than counting."""
MANY_TO_ONE = 64
"""One of so many profiles is looked at first where most often few tell all."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The distinct values (V,) of an attribute in the whole table in order, and what they are called."""

    values: FloatArray
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableAttribute:
    """One attribute as the learner saw it in the whole table.

    ``names`` are what its categories are called, ``distinct`` is how many values the table has, ``lacking`` how many
    records of it have none. ``cuts`` are where the published tree cuts it, ``levels`` its values in order.
    """

    name: str
    is_numeric: bool
    names: tuple[str, ...]
    distinct: int
    lacking: float
    cuts: FloatArray
    levels: Levels


@dataclass(frozen=True, slots=True)
class NodeAttribute:
    """One attribute at one node, as the learner saw it.

    ``values`` (K,) are those of the node's profiles, NaN where missing (codes where it is no number), and ``codes``
    (K,) their places among the levels of the table; ``records`` (K,) are how many records each profile has, ``chosen``
    (K,) the child that each goes to.
    """

    node: int
    attribute: TableAttribute
    grouping: Grouping
    criterion: Criterion
    profiles: IndexArray
    chosen: IndexArray
    values: FloatArray
    codes: ShortArray
    records: FloatArray
    origin: Origin


@dataclass(frozen=True, slots=True)
class Bins:
    """The distinct values at a node in order, what they are called, if known, and each profile's bin, shape (K,)."""

    found: FloatArray
    of: ShortArray
    names: tuple[str, ...] = ()


def bins_of(values: FloatArray) -> Bins:
    """Return the bins of values (K,), one for each that is different."""
    found, of = np.unique(values, return_inverse=True)
    return Bins(found, of.reshape(-1).astype(np.int32))


def bins_at(at: NodeAttribute) -> Bins:
    """Return the bins of an attribute that no profile of its node lacks, one for each value that is different."""
    levels = at.attribute.levels
    if len(levels.values) > MANY_LEVELS * len(at.codes):
        return bins_of(at.values)
    is_here = np.zeros(len(levels.values), dtype=bool)
    is_here[at.codes] = True
    if is_here.all():
        return Bins(levels.values, at.codes, levels.names)
    place = (np.cumsum(is_here) - 1).astype(np.int32)
    names = tuple(compress(levels.names, is_here.tolist()))
    return Bins(levels.values[is_here], place[at.codes], names)


def family_of(
    at: NodeAttribute, bins: Bins, by: Grower, inside: IndexArray | None = None
) -> SplitFamily | None:
    """Return the candidates on an attribute over these bins, or None where it offers none."""
    profiles, chosen, records = at.profiles, at.chosen, at.records
    if inside is not None:
        profiles, chosen, records = profiles[inside], chosen[inside], records[inside]
    if len(bins.found) < 2:
        return None
    grouping = grouping_at(at, len(bins.found), by)
    sizes = np.bincount(bins.of, weights=records).astype(np.float64)
    admissible = allowed(grouping, sizes, by.smallest)
    if grouping is Grouping.THRESHOLD and by.tool is Tool.SCIKIT_LEARN:
        cut = bins.found[1:] > after_next(bins.found[:-1])
        admissible = admissible[cut[admissible]]
    names = bins.names or tuple(_bin_name(at, value) for value in bins.found)
    if by.tool is Tool.TREEWARDEN:
        admissible = _own_candidates(grouping, admissible, names, sizes, by.smallest)
    if inside is None:
        admissible = _others(grouping, bins.of, chosen, admissible)
    if not len(admissible):
        return None
    return SplitFamily(
        node=at.node,
        attribute=at.attribute.name,
        criterion=at.criterion,
        grouping=grouping,
        profiles=profiles,
        chosen=chosen,
        bins=bins.of,
        admissible=admissible,
        bin_names=names,
        origin=at.origin,
    )


def grouping_at(at: NodeAttribute, bins: int, by: Grower) -> Grouping:
    """Return how candidates are formed of so many bins: sets of many categories are too many to list."""
    if at.attribute.is_numeric:
        return Grouping.THRESHOLD
    if at.grouping is Grouping.SUBSET and takes_one_by_one(at, by):
        return Grouping.ONE_AGAINST_REST
    if at.grouping is Grouping.SUBSET and bins > MOST_BINS_FOR_SUBSETS:
        return Grouping.ONE_AGAINST_REST
    return at.grouping


def takes_one_by_one(at: NodeAttribute, by: Grower) -> bool:
    """Whether a learner is known to part one category of an attribute from the others, and never sets of them."""
    many = ANY in at.attribute.names or at.attribute.distinct > MOST_SET_VALUES
    return by.sets is False or (by.tool is Tool.TREEWARDEN and many)


def _own_candidates(
    grouping: Grouping,
    admissible: IntArray,
    names: tuple[str, ...],
    sizes: FloatArray,
    smallest: float,
) -> IntArray:
    """Return what treewarden's own learners compare: every branch is large enough, and ``*`` is never singled out."""
    if grouping is Grouping.MULTIWAY and (sizes < smallest - WEIGHT_SLACK).any():
        return admissible[:0]
    if grouping is Grouping.ONE_AGAINST_REST and ANY in names:
        return np.asarray(admissible[admissible != names.index(ANY)])
    return admissible


def after_next(values: FloatArray) -> FloatArray:
    """Return up to where scikit-learn takes a number for the same as each of these, in its own 32-bit arithmetic."""
    with np.errstate(over="ignore"):
        return np.asarray((np.asarray(values).astype(np.float32) + SKLEARN_GAP), dtype=np.float64)


def _bin_name(at: NodeAttribute, value: float) -> str:
    if at.attribute.is_numeric:
        return number_text(float(value)) if np.isfinite(value) else MISSING
    return at.attribute.names[int(value)] if value < len(at.attribute.names) else MISSING


def allowed(grouping: Grouping, records: FloatArray, smallest: float) -> IntArray:
    """Return the candidates whose branches all hold enough records."""
    total, count, enough = records.sum(), len(records), smallest - WEIGHT_SLACK
    if grouping is Grouping.MULTIWAY:
        return np.arange(1 if (records >= enough).sum() >= 2 else 0)
    if grouping is Grouping.THRESHOLD:
        left = np.cumsum(records)[:-1]
        return np.flatnonzero((left >= enough) & (total - left >= enough))
    if grouping is Grouping.ONE_AGAINST_REST:
        codes = np.arange(count if count > 2 else 1)
        return np.asarray(codes[(records[codes] >= enough) & (total - records[codes] >= enough)])
    codes = np.arange(1, 2 ** (count - 1))
    left = ((codes[:, None] >> np.arange(count)) & 1) @ records
    return np.asarray(codes[(left >= enough) & (total - left >= enough)])


def _ends(bins: ShortArray, chosen: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Return the first and the last child that profiles of each bin go to."""
    low = np.full(bins.max() + 1, chosen.max() + 1)
    high = np.full(bins.max() + 1, -1)
    np.minimum.at(low, bins, chosen)
    np.maximum.at(high, bins, chosen)
    return low, high


def _others(
    grouping: Grouping,
    bins: ShortArray,
    chosen: IndexArray,
    admissible: IntArray,
) -> IntArray:
    """Leave out the candidate that parts the node as the chosen split does."""
    # Of few profiles it is seen already, nearly always, that one bin goes to several children.
    for step in (MANY_TO_ONE, 1):
        low, high = _ends(bins[::step], chosen[::step])
        if (low < high).any():
            return admissible
    if grouping is Grouping.THRESHOLD:
        steps = np.flatnonzero(np.diff(low))
        return admissible[admissible != steps[0]] if len(steps) == 1 else admissible
    kept = []
    for code in admissible:
        side = branch_of_bins(grouping, int(code), len(low))
        pairs = set(zip(side.tolist(), low.tolist(), strict=True))
        if len(pairs) != len({a for a, _ in pairs}) or len(pairs) != len({b for _, b in pairs}):
            kept.append(code)
    return np.array(kept, dtype=np.int64)


CLEAR_GAP_SHARE = 1e-5
"""Numbers that differ by more, relative to them (or to 1), are different to every program that is known here."""
FEWEST_BINS = 20
"""Programs that sort numbers into bins make at least so many by default (H2O; Spark 32, LightGBM 255, XGBoost 256)."""
SPARK_SAMPLE_RECORDS = 10_000
"""Spark takes its bins from a sample where there are more records (``RandomForest.findSplits``)."""
FEWEST_WITH_SETS = 4
"""With fewer categories every set is one category against the others, or the others against it."""
MOST_THREE_WAY = 200
"""The most candidates of one attribute at one node that are formed with a branch of their own for missing values."""


def compared(at: NodeAttribute, by: Grower) -> Iterator[SplitFamily | LeftOut]:
    """Yield the candidates on one attribute at one node, and what is left out of them."""
    lacks = np.isnan(at.values)
    if not lacks.any():
        bins = bins_at(at)
        sets = _unlisted_sets(at, bins, by)
        if sets is not None:
            yield sets
        yield from _compared_candidates(at, family_of(at, bins, by), by)
    elif by.sends_missing and at.attribute.is_numeric:
        yield from _either_side(at, lacks, by)
    else:
        yield _without_values(at, lacks, by)


def _compared_candidates(
    at: NodeAttribute, family: SplitFamily | None, by: Grower
) -> Iterator[SplitFamily | LeftOut]:
    """Yield those candidates that the program is known to have compared; the others are left out."""
    if family is not None and _may_be_ordered(at, family, by):
        yield _ordered(at, family, by)
        return
    for why, sure in (_large(at, family, by), _sure(at, family, by)) if family else ():
        assert family is not None
        if sure is family.admissible:
            continue
        kept = np.isin(family.admissible, sure)
        if not kept.all():
            yield LeftOut(at.node, at.attribute.name, why, possible=(_only(family, ~kept),))
            family = _only(family, kept)
    if family is not None and len(family.admissible):
        yield family


def _may_be_ordered(at: NodeAttribute, family: SplitFamily, by: Grower) -> bool:
    """Whether the learner may have compared some sets of categories alone, and the best of all need not be one.

    With two classes the best is a cut of the order of shares (Breiman et al. 1984, theorem 4.5), where each cut has
    branches that are large enough.
    """
    if at.attribute.is_numeric or at.grouping is not Grouping.SUBSET or len(family.bin_names) < 3:
        return False
    return by.orders_sets and (by.tool is not Tool.RPART or _has_small_category(at, family, by))


def _has_small_category(at: NodeAttribute, family: SplitFamily, by: Grower) -> bool:
    return bool((np.bincount(family.bins, weights=at.records) < by.surely - WEIGHT_SLACK).any())


def _ordered(at: NodeAttribute, family: SplitFamily, by: Grower) -> LeftOut:
    """Return sets of categories of which it is not known which were compared.

    Another table may have others compared than the true one, which is looked at table by table
    (``audit.consistent_tables.witnesses.ordered_sets``), but for Spark's order with more than two classes.
    """
    name = at.attribute.name
    if by.tool is Tool.SPARK:
        why = "sets of values of {}, of which Spark compares the cuts of an order alone"
        if by.classes > 2:
            return LeftOut(at.node, name, why, implying=(family,))
        return LeftOut(at.node, name, why, possible=(family,))
    large = _only(family, np.isin(family.admissible, _large(at, family, by)[1]))
    supposed = (large,) if len(large.admissible) else ()
    if by.classes == 2 and _has_small_category(at, family, by):
        why = "sets of values of {}, some of which have fewer records than the smallest leaf"
    else:
        why = "sets of values of {}, as the program may not have compared all (--learner)"
    return LeftOut(at.node, name, why, possible=(family,), supposed=supposed)


def _only(family: SplitFamily, mask: BoolArray) -> SplitFamily:
    return replace(family, admissible=family.admissible[mask])


def _unlisted_sets(at: NodeAttribute, bins: Bins, by: Grower) -> LeftOut | None:
    """Return the sets of categories that are no candidates here though the learner may have compared them."""
    if at.attribute.is_numeric:
        return None
    here = len(bins.found)
    is_listed = grouping_at(at, here, by) is not Grouping.ONE_AGAINST_REST
    if is_listed or takes_one_by_one(at, by) or here < FEWEST_WITH_SETS:
        return None
    if here > MOST_BINS_FOR_SUBSETS:
        why = f"sets of the values of {{}}, as there are more than {MOST_BINS_FOR_SUBSETS}"
        # Whole tables are held against the cuts of an order, however many categories there are.
        is_ordered = by.tool in (Tool.RPART, Tool.SPARK) and by.classes == 2
        return LeftOut(at.node, at.attribute.name, why, is_open=not is_ordered)
    sets = family_of(replace(at, grouping=Grouping.SUBSET), bins, by)
    why = "sets of the values of {}, as the tree shows none"
    return None if sets is None else LeftOut(at.node, at.attribute.name, why, possible=(sets,))


def _large(at: NodeAttribute, family: SplitFamily, by: Grower) -> tuple[str, IntArray]:
    """Return the candidates with branches as large as the learner surely allowed, and why the others are left out."""
    why = f"splits on {{}} with fewer than {by.surely:g} records, as the smallest leaf is not known (--min-leaf)"
    if by.surely <= by.smallest:
        return why, family.admissible  # all of them are as large
    sizes = np.bincount(family.bins, weights=at.records).astype(np.float64)
    return why, allowed(family.grouping, sizes, by.surely)


def _sure(at: NodeAttribute, family: SplitFamily, by: Grower) -> tuple[str, IntArray]:
    """Return the candidates that are known to have been compared if they were allowed, and why the others are not."""
    everything, nothing = family.admissible, family.admissible[:0]
    if by.tool in (Tool.SCIKIT_LEARN, Tool.RPART, Tool.TREEWARDEN):
        return "", everything
    if family.grouping is Grouping.MULTIWAY:
        least = float(np.bincount(family.bins, weights=at.records).min())
        why = f"splits on {{}} with a branch of fewer than {by.smallest} records, which some learners take"
        return why, everything if least >= by.smallest - WEIGHT_SLACK else nothing
    if family.grouping is not Grouping.THRESHOLD:
        return "", everything
    values = np.unique(at.values)
    below, above = values[:-1], values[1:]
    pairs = zip(below, above, strict=True)
    shown = np.array(
        [((at.attribute.cuts >= a) & (at.attribute.cuts < b)).any() for a, b in pairs], dtype=bool
    )
    if by.tool is Tool.SPARK:
        most = by.max_bins or FEWEST_BINS
        if at.attribute.distinct <= most and by.table_records <= max(SPARK_SAMPLE_RECORDS, most**2):
            return "", everything
        why = "cuts of {} that the tree does not show, as Spark sorts numbers into bins"
        return why, np.flatnonzero(shown)
    if at.attribute.distinct > FEWEST_BINS:
        return "splits on {}, as its learner may have sorted numbers into bins", nothing
    size = np.maximum(1.0, np.maximum(np.abs(below), np.abs(above)))
    why = "cuts between values of {} that are too near to each other for some learners"
    return why, np.flatnonzero(shown | (above - below > CLEAR_GAP_SHARE * size))


def _either_side(
    at: NodeAttribute, lacks: BoolArray, by: Grower
) -> Iterator[SplitFamily | LeftOut]:
    """Yield the candidates of a learner that tries missing values to the right, then to the left, of every cut."""
    there = at.values[~lacks]
    low, high = there.min(initial=np.inf), there.max(initial=-np.inf)
    if not len(there):
        return
    right = family_of(at, bins_of(np.where(lacks, np.inf, at.values)), by)
    if not high > after_next(low):
        # Newer versions part the missing values from a constant; older ones pass the attribute over.
        if right is not None:
            why = "missing values of {} against a single value, which only some versions try"
            yield LeftOut(at.node, at.attribute.name, why, possible=(right,))
        return
    yield from _compared_candidates(at, right, by)
    left = family_of(at, bins_of(np.where(lacks, -np.inf, at.values)), by)
    if left is not None:
        # The first cut parts the missing values from all others, as the last one to the right does.
        yield from _compared_candidates(at, _only(left, left.admissible > 0), by)


def _without_values(at: NodeAttribute, lacks: BoolArray, by: Grower) -> LeftOut:
    """Return what is left out of an attribute with missing values whose treatment is not known, or is no plain split.

    Customary are: either side of each cut (with the larger branch, by default, by a surrogate), a branch or category
    of their own, and a gain over the records that have a value, C4.5's fractions among them. The last is never above
    the gain with a branch of their own, as impurity is concave; so that one implies it.
    """
    who = lacking(at.attribute.lacking, "a value")
    why = (
        f"splits on {{}}, as {who} there and the treatment of missing values in training is not "
        "known"
    )
    if by.tool is Tool.RPART:
        why = f"splits on {{}}, as {who} there and rpart counts the others alone"
    possible: list[SplitFamily] = []
    anything = replace(by, smallest=1)
    if by.tool is not Tool.RPART:
        sides = (np.inf, -np.inf) if at.attribute.is_numeric else (float(len(at.attribute.names)),)
        found = (family_of(at, bins_of(np.where(lacks, end, at.values)), anything) for end in sides)
        possible = [family for family in found if family is not None]
    there = np.flatnonzero(~lacks)
    if not len(there):
        return LeftOut(at.node, at.attribute.name, why, tuple(possible))
    present = family_of(at, bins_of(at.values[there]), anything, there)
    if present is None:
        return LeftOut(at.node, at.attribute.name, why, tuple(possible))
    if len(present.admissible) > MOST_THREE_WAY:
        return LeftOut(at.node, at.attribute.name, why, is_open=True)
    implying = tuple(_three_way(at, present, int(code), lacks) for code in present.admissible)
    return LeftOut(at.node, at.attribute.name, why, tuple(possible), implying)


def _three_way(at: NodeAttribute, present: SplitFamily, code: int, lacks: BoolArray) -> SplitFamily:
    """Return one candidate with a branch of its own for the missing values."""
    side = branch_of_bins(present.grouping, code, len(present.bin_names))
    own = int(side.max()) + 1
    bins = np.full(len(at.profiles), own, dtype=np.int32)
    bins[~lacks] = side[present.bins]
    names = (*(f"branch {number + 1}" for number in range(own)), MISSING)
    return replace(
        present,
        grouping=Grouping.MULTIWAY,
        profiles=at.profiles,
        chosen=at.chosen,
        bins=bins,
        admissible=np.arange(1),
        bin_names=names,
    )

"""The candidates on one attribute at one node as a family: bins of its values, and which of the cuts were allowed."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np

from treewarden.audit.facts.grower import Grower
from treewarden.audit.facts.rows import MISSING, Grouping, Origin, SplitFamily, branch_of_bins
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, ShortArray
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

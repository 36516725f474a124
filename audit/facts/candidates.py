"""Which splits on one attribute a learner compared at one node, by the program that it is and its own arithmetic.

What the program is known to have compared becomes a family of candidates. What it may have compared is left out and
said. Where the facts come from, all read in the programs' own code or documentation:

- scikit-learn compares 32-bit numbers and never cuts between two that differ by 1e-7 or less there; from 1.3 on a
  missing value is tried on either side of every cut, and alone against all others (``sklearn/tree/_splitter.pyx``).
- rpart tries every cut between different numbers; an attribute's gain counts the records that have a value
  (``rpart/src/bsplit.c``).
- Spark cuts where bins end: at every midpoint of the table's values only where these are fewer than ``maxBins`` and
  no more records than it samples; with more than two classes it may order categories instead of trying all sets.
- Weka's J48 raises subtrees when it prunes, so that a split may have been chosen among other records; it takes numbers
  nearer than 1e-5 for one, and asks of a cut a tenth of the mean class size on either side (``C45Split``).
- treewarden's own learners try every cut and every category.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from treewarden.audit.facts.grower import Grower, lacking
from treewarden.audit.facts.rows import MISSING, Grouping, LeftOut, SplitFamily, branch_of_bins
from treewarden.audit.facts.split_families import (
    MOST_BINS_FOR_SUBSETS,
    WEIGHT_SLACK,
    Bins,
    NodeAttribute,
    after_next,
    allowed,
    bins_at,
    bins_of,
    family_of,
    grouping_at,
    takes_one_by_one,
)
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.tree.tool import Tool

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


def _only(family: SplitFamily, kept: BoolArray) -> SplitFamily:
    return replace(family, admissible=family.admissible[kept])


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
        return LeftOut(at.node, at.attribute.name, why, is_open=True)
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
        ordered = by.tool is Tool.SPARK and by.classes > 2 and len(family.bin_names) > 2
        why = "sets of values of {}, which Spark orders where there are many classes"
        return why, nothing if ordered else everything
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

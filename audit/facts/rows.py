"""What the constraints yield: statements about the masses n_q * P(class | profile), each knowing where it comes from.

Masses are in records: ``mass[q, c]`` is how many of profile q's records have class c, as the adversary estimates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray, ShortArray
from treewarden.ppdm_models.tree.tree import Criterion


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row comes from: the constraint (its file name), the place in words, and the node, if any.

    ``is_published`` is true where the file itself says it, false where it is inferred from how trees are grown.
    """

    constraint: str
    where: str
    node: int | None = None
    is_published: bool = False


@dataclass(frozen=True, slots=True)
class ProfileTotals:
    """The masses of each profile sum to its records, ``counts`` (P,), and none is negative."""

    counts: FloatArray
    origin: Origin


@dataclass(frozen=True, slots=True)
class LeafMass:
    """Among the records that stop at a node, those of one class number between ``low`` and ``high``."""

    node: int
    klass: int
    low: float
    high: float
    origin: Origin


@dataclass(frozen=True, slots=True)
class Plurality:
    """At a node, the label's mass exceeds every other class's by at least ``margin`` records.

    Of whole records it leads the classes of ``before`` by one more, as the learner names the first of several; the
    estimate goes without that.
    """

    node: int
    label: int
    margin: float
    origin: Origin
    before: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Linear:
    """``low <= sum(weights * mass[profiles, classes]) <= high``; three arrays of equal length.

    ``slack`` is how far rounding may have moved the ends where weights are fractions; None where they are whole.
    """

    profiles: IndexArray
    classes: IndexArray
    weights: FloatArray
    low: float
    high: float
    origin: Origin
    slack: float | None = None


class Grouping(StrEnum):
    """How a family forms its candidates from the bins of one attribute."""

    MULTIWAY = "multiway"
    THRESHOLD = "threshold"
    ONE_AGAINST_REST = "one-against-rest"
    SUBSET = "subset"


@dataclass(frozen=True, slots=True)
class SplitFamily:
    """At one node, the split that was chosen is no worse than any candidate on one attribute.

    ``profiles`` (K,) are the node's; ``chosen`` (K,) the child each goes to; ``bins`` (K,) the bin of the attribute
    each falls in, 0..B-1 in order. ``admissible`` (A,) numbers the candidates the learner could have taken:
    for ``MULTIWAY`` only 0; for ``THRESHOLD`` t = "bins up to t go left"; for ``ONE_AGAINST_REST`` t = "bin t goes
    left"; for ``SUBSET`` the bits of t say which bins go left. ``bin_names`` (B,) are for messages. ``weights`` (K,)
    are what one record of each profile weighed when the learner compared, in whole units; None: all the same.
    """

    node: int
    attribute: str
    criterion: Criterion
    grouping: Grouping
    profiles: IndexArray
    chosen: IndexArray
    bins: ShortArray
    admissible: IntArray
    bin_names: tuple[str, ...]
    origin: Origin
    weights: IntArray | None = None


def branch_of_bins(grouping: Grouping, code: int, count: int) -> IndexArray:
    """Return the branch that each of ``count`` bins takes under one candidate of a family."""
    bins = np.arange(count)
    if grouping is Grouping.MULTIWAY:
        return bins
    if grouping is Grouping.THRESHOLD:
        return np.asarray(bins > code, dtype=np.intp)
    if grouping is Grouping.ONE_AGAINST_REST:
        return np.asarray(bins != code, dtype=np.intp)
    return np.asarray(1 - ((code >> bins) & 1))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What a tree may prove of the people below a node although no row says it, as it is not known to hold.

    Nothing is proved by it, but a table shows what is possible only if it obeys it too: every candidate of ``possible``
    that the true table obeys (what that breaks cannot have been a candidate), and all of ``implying`` and ``lines``,
    which say more than what may hold. Where the true table breaks one of these, or ``is_open``, no table can be told to
    obey.
    ``attribute`` is "" where it is about none in particular; ``why`` says in words what is left out, with ``{}`` where
    the attribute stands.
    """

    node: int
    attribute: str
    why: str
    possible: tuple[SplitFamily, ...] = ()
    implying: tuple[SplitFamily, ...] = ()
    lines: tuple[Linear, ...] = ()
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class WholeRecords:
    """What is known of whole records beyond the other rows: what they prove obeys it, and the estimate goes without."""

    row: Linear


Row = ProfileTotals | LeafMass | Plurality | Linear | SplitFamily

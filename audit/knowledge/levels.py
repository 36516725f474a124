"""The levels of what an adversary knows of leaves, splits and the order of records; options name them."""

from __future__ import annotations

from enum import StrEnum


class LeafLevel(StrEnum):
    """What the adversary knows of each leaf."""

    LABELS = "labels"
    RATES = "rates"
    COUNTS = "counts"
    AS_PUBLISHED = "as-published"


class SplitLevel(StrEnum):
    """Which criterion the adversary knows the splits were chosen by."""

    NONE = "none"
    GINI = "gini"
    ENTROPY = "entropy"
    GAIN_RATIO = "gain-ratio"
    AS_PUBLISHED = "as-published"


class RowOrder(StrEnum):
    """Whether the adversary knows in which order the records of the table stood in training."""

    KNOWN = "known"
    UNKNOWN = "unknown"

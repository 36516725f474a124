"""What a model file gives away beside its trees: raw records, extremes, histograms, people and places."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class LeakKind(StrEnum):
    """What leaks; the name is the id that reports and redaction use."""

    RAW_RECORDS = "raw-records"
    EXTREMES = "extremes"
    HISTOGRAM = "histogram"
    RARE_VALUES = "rare-values"
    TARGET_STATISTICS = "target-statistics"
    SMALL_COUNTS = "small-counts"
    OLD_MODEL = "old-model"
    PERSON = "person"
    PATH = "path"
    TIMESTAMP = "timestamp"
    IDENTIFIER = "identifier"
    REPLAY = "replay"
    DIFFERENCING = "differencing"


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that a file publishes beside the regions and labels of its trees.

    ``where`` is a place in the file, a line (``line 12``) or a JSON pointer (``/learner/attributes``); ``what`` says it
    in words, without repeating the secret in full; ``records`` is how many people it speaks for at least, where known.
    ``removable`` says that the format can be written without it.
    """

    kind: LeakKind
    where: str
    what: str
    records: int | None = None
    removable: bool = False

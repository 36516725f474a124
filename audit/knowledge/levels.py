"""Levels of the adversary's knowledge of leaves, splits and the order of records, and declared adversaries.

Options name the levels. A knowledge file declares adversaries: a name, known columns, and whether they know the target.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictBool


class LeafLevel(StrEnum):
    """What the adversary knows of each leaf."""

    LABELS = "labels"
    RATES = "rates"
    COUNTS = "counts"
    AS_PUBLISHED = "as-published"


class SplitLevel(StrEnum):
    """Which criterion the adversary knows the splits were chosen by.

    ``AS_PUBLISHED`` is what a file says. Once that was looked up it stands for a file that does not name the criterion:
    each one that its program may have used can be supposed.
    """

    NONE = "none"
    GINI = "gini"
    ENTROPY = "entropy"
    GAIN_RATIO = "gain-ratio"
    AS_PUBLISHED = "as-published"

    @property
    def is_criterion(self) -> bool:
        """Whether it is one criterion, which the adversary knows."""
        return self not in (SplitLevel.NONE, SplitLevel.AS_PUBLISHED)


OPTIONS = "options"
"""Where adversaries are declared by options and by no file: messages then name the option."""


class RowOrder(StrEnum):
    """Whether the adversary knows in which order the records of the table stood in training."""

    KNOWN = "known"
    UNKNOWN = "unknown"


# The base of all parts of a knowledge file: no unknown keys, and nothing changes later.


class KnowledgeSection(BaseModel):
    """A part of a knowledge file."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


"""Settings that every part shares."""


MOST = 50
"""The most adversaries of one audit."""
MOST_CHARACTERS = 200
"""The most characters of an adversary's name."""
Name = Annotated[str, Field(min_length=1, max_length=MOST_CHARACTERS)]
ColumnName = Annotated[str, Field(min_length=1)]
End = Annotated[FiniteFloat, Field(strict=True)]
"""A number, whole or not, where bins part numbers: no text of one, and neither true nor false."""


class DeclaredAdversary(KnowledgeSection):
    """Somebody who knows some columns of everybody in the table.

    ``knows`` are columns, or one word: "all", or the name of a preset; ``columns`` says which column an attribute of
    the preset is, "" where the table has none. ``target`` says that the value that the tree predicts is known too.
    """

    name: Name
    knows: tuple[ColumnName, ...] | ColumnName
    target: StrictBool = False
    columns: dict[ColumnName, str] = {}


class SecretColumn(KnowledgeSection):
    """The column to stay secret, where that is not the tree's target; ``bins`` are ends that part its numbers."""

    column: ColumnName
    bins: Annotated[tuple[End, ...], Field(max_length=1000)] = ()


def words_of(columns: Sequence[str]) -> str:
    """Return columns as a list in words."""
    *first, last = columns
    return f"{', '.join(first)} and {last}" if first else last

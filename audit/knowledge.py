"""What the adversary is assumed to know beside the quasi-identifiers: a level, or a TOML file that says it all."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


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


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Statement(_Section):
    """A share among some records: ``P(flu | sex = F, age < 30) = 0.2`` (with =, <= or >=)."""

    says: str


class KnownRecord(_Section):
    """One record with these quasi-identifier values is known to have this class."""

    record: dict[str, str | int | float]
    value: Annotated[str, Field(alias="class")]


class Knowledge(_Section):
    """Everything the adversary is assumed to know. ``min_leaf`` is the learner's smallest allowed leaf (records)."""

    leaf: LeafLevel = LeafLevel.AS_PUBLISHED
    split: SplitLevel = SplitLevel.AS_PUBLISHED
    marginal: bool = False
    accuracy: bool = False
    strict_labels: bool = False
    min_leaf: Annotated[int, Field(ge=1)] | None = None
    facts: tuple[Statement | KnownRecord, ...] = ()

"""The shape of our own JSON: what ``treewarden.schema.json`` says, as pydantic models.

After a change, renew the schema:
``python -m treewarden.ppdm_models.formats.own._document > ppdm_models/formats/own/treewarden.schema.json``
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.tree.column import Invalid, Outliers
from treewarden.ppdm_models.tree.privacy_claim import CLAIM_WORDS, read_claim
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    SPLIT_SETTINGS,
    Criterion,
    Missing,
    NoTrueChild,
    Quality,
    Task,
)

Finite = Annotated[float, Field(allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1, le=10**15)]


def _known_setting(word: str) -> str:
    if word not in SPLIT_SETTINGS:
        raise PydanticCustomError(
            "split_setting", "give a setting that treewarden.schema.json lists"
        )
    return word


SplitSetting = Annotated[
    str,
    AfterValidator(_known_setting),
    WithJsonSchema({"type": "string", "enum": list(SPLIT_SETTINGS)}),
]
"""A setting that decided which splits were taken, by the words that are known for it: no text of its own."""


def _known_claim(words: str) -> str:
    try:
        is_claim = CLAIM_WORDS.fullmatch(words) and read_claim(words, "the file").words == words
    except ValueError:
        is_claim = False
    if not is_claim:
        raise PydanticCustomError(
            "privacy_claim", "give a claim of differential privacy, such as epsilon=1.0"
        )
    return words


ClaimText = Annotated[str, AfterValidator(_known_claim)]
"""A claim of differential privacy, in the words that treewarden writes: no text of its own."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class AlwaysTestEntry(_Part):
    """Holds for every record."""

    kind: Literal["always"] = "always"


class NeverTestEntry(_Part):
    """Holds for no record."""

    kind: Literal["never"] = "never"


class IntervalTestEntry(_Part):
    """The number lies between two ends; an end that is null is open and infinite."""

    kind: Literal["interval"] = "interval"
    feature: str
    low: Finite | None = None
    high: Finite | None = None
    low_closed: bool = False
    high_closed: bool = False


class CategoryTestEntry(_Part):
    """The value is one of a set (negated: none of it)."""

    kind: Literal["category"] = "category"
    feature: str
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    negated: bool = False


class MissingTestEntry(_Part):
    """The value is missing (negated: present)."""

    kind: Literal["missing"] = "missing"
    feature: str
    negated: bool = False


class AllTestEntry(_Part):
    """Every part holds."""

    kind: Literal["all"] = "all"
    parts: Annotated[tuple[Test, ...], Field(min_length=1)]


class AnyTestEntry(_Part):
    """At least one part holds."""

    kind: Literal["any"] = "any"
    parts: Annotated[tuple[Test, ...], Field(min_length=1)]


Test = Annotated[
    AlwaysTestEntry
    | NeverTestEntry
    | IntervalTestEntry
    | CategoryTestEntry
    | MissingTestEntry
    | AllTestEntry
    | AnyTestEntry,
    Field(discriminator="kind"),
]


Value = str | Finite


class IntervalEntry(_Part):
    """Valid numbers; an end that is null is open and infinite."""

    low: Finite | None = None
    low_closed: bool = False
    high: Finite | None = None
    high_closed: bool = False


class TreatmentEntry(_Part):
    """What becomes of a value before the tests see it; of a number all values here are numbers."""

    intervals: tuple[IntervalEntry, ...] = ()
    values: tuple[Value, ...] = ()
    invalid: tuple[Value, ...] = ()
    missing: tuple[Value, ...] = ()
    when_invalid: Invalid = Invalid.RETURN_INVALID
    replacement: Value | None = None
    outliers: Outliers = Outliers.AS_IS
    low: Finite | None = None
    high: Finite | None = None
    needs_value: bool = False


class FeatureEntry(_Part):
    """An attribute the tree was learnt on. ``values`` are the declared categories; ``single`` means 32-bit numbers.

    ``treatments`` are applied to a value one after the other, before the tests see it.
    """

    name: str
    type: Literal["numeric", "categorical"]
    values: tuple[str, ...] = ()
    single: bool = False
    treatments: tuple[TreatmentEntry, ...] | None = None


class LearnerEntry(_Part):
    """How the tree was grown, as far as it is told."""

    criterion: Criterion | None = None
    min_leaf_records: Whole = 1
    all_features: bool = True
    multiway: bool | None = None
    tool: Tool = Tool.UNKNOWN
    max_bins: Whole | None = None
    sets: bool | None = None
    unmodelled: Annotated[tuple[SplitSetting, ...], Field(max_length=len(SPLIT_SETTINGS))] = ()
    lists_columns: bool | None = None
    draws_cuts: bool | None = None
    claim: ClaimText | None = None


class ImpurityEntry(_Part):
    """How mixed the classes of a node's records are, between two ends; entropy in nats."""

    criterion: Literal["gini", "entropy"]
    low: Amount
    high: Amount


class NodeEntry(_Part):
    """One node; ``parent`` and ``default_child`` are ids. The root comes first and has no parent and no test.

    ``class_counts`` and ``class_shares`` are by class; a count that is null or absent is not published.
    A node has one of the two at most. ``bands`` stand in a leaf in place of its counts: the least and the most that the
    count of each class can be. ``impurity`` is of all records that pass the node.
    """

    id: str
    parent: str | None = None
    test: Test = AlwaysTestEntry()
    score: str | Finite | None = None
    records: Amount | None = None
    class_counts: dict[str, Amount | None] | None = None
    class_shares: dict[str, Share] | None = None
    bands: dict[str, tuple[Amount, Amount] | None] | None = None
    impurity: ImpurityEntry | None = None
    default_child: str | None = None


class TreeDocument(_Part):
    """A published decision tree. Nodes stand each parent before its children; the children of a node split it."""

    format: Literal["treewarden-tree"]
    version: Literal[1]
    target: str
    task: Task = Task.CLASSIFICATION
    classes: Annotated[tuple[str, ...], Field(max_length=limits.CLASSES)] = ()
    features: Annotated[tuple[FeatureEntry, ...], Field(max_length=limits.FEATURES)]
    learner: LearnerEntry = LearnerEntry()
    quality: Quality = Quality.EXACT
    missing: Missing = Missing.NONE
    no_true_child: NoTrueChild = NoTrueChild.NULL_PREDICTION
    nodes: Annotated[tuple[NodeEntry, ...], Field(min_length=1, max_length=limits.NODES)]


def schema_text() -> str:
    """Return the JSON Schema (2020-12) of the format, as it stands in the package."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **TreeDocument.model_json_schema(),
    }
    # Definitions keep the names under which they were published.
    return re.sub(r"\b(\w+Test)Entry\b", r"\1", json.dumps(schema, indent=2)) + "\n"


if __name__ == "__main__":
    print(schema_text(), end="")

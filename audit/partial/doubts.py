"""Why more may be known of people than is used of what a model publishes, for who knows only some of their columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from audit.adversary.knowledge import Knowledge, SplitLevel
from audit.partial.leaf_table import LeafTable
from audit.partial.splits import Choice, Held, compared
from audit.partial.walk import Branches
from audit.reading import Undetermined

ONLY_CLASSES = Undetermined(
    "what somebody learns who knows only some columns is worked out for trees that predict a class"
)
WEIGHED = Undetermined(
    "the tree counts sums of sampling weights: what somebody learns of it who knows only some columns is not worked out"
)
NO_SIZES = Undetermined(
    "the file does not say how many people are in each leaf: what somebody learns of it who knows only some columns is "
    "not worked out"
)
SPLITS_NOT_USED = (
    "what the choice of splits says of the known columns is not used: it may prove more, and other tables were not "
    "held against it"
)
NOT_COMPARED = f"no estimate: {SPLITS_NOT_USED}"
FACTS_NOT_USED = "facts about people by their columns are not used: they may prove more"
MIXED = "some tests ask about a hidden column and another one at once, so where people can be is not exact"
NOT_WHOLE = Undetermined(
    "some people count for parts of a person, so nothing is asked of whole records"
)
WITH_AND_WITHOUT = "the estimate spans what he believes who knows that and who does not"


def doubts_of(
    tests: Branches,
    leaves: LeafTable,
    knowledge: Knowledge,
    known: Sequence[str],
    hidden: Collection[str],
) -> tuple[str, ...]:
    """Return why more may be known than is used here.

    Where all class counts are known, splits on hidden columns prove nothing of who has which class: any hidden values
    that lead to a leaf can be given to any of its people.
    """
    found = []
    compares_known = any(feature.name in known for feature in tests.tree.features)
    if knowledge.split is not SplitLevel.NONE and (compares_known or not leaves.are_counted):
        found.append(SPLITS_NOT_USED)
    if knowledge.facts:
        found.append(FACTS_NOT_USED)
    if tests.are_mixed(hidden):
        found.append(MIXED)
    return tuple(found)


def why_broken(choice: Choice, parts: Sequence[Held]) -> str:
    """Return why what the choice of splits says is not known to hold at an estimate; "" where it does."""
    found = compared(choice, parts)
    return NOT_COMPARED if found is None else found.why

"""Why more may be known of people than is used of what a model publishes, for who knows only some of their columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from treewarden.audit.adversary.knowledge import Knowledge, SplitLevel
from treewarden.audit.facts.stopped_leaves import is_known_learner, settings_in_force
from treewarden.audit.partial.leaf_table import LeafTable
from treewarden.audit.partial.splits import Choice, Held, compared
from treewarden.audit.partial.walk import Branches
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.tree import Tool

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
STOPS_NOT_USED = (
    "why leaves were not split ({}) is not used: it may prove more, and other tables were not held "
    "against it"
)
UNLISTED_NOT_USED = (
    "the file does not list {}: what splits on it say is not used, though the learner may have "
    "compared them"
)
DRAWN_NOT_USED = (
    "what other cuts of tested columns say is not used, though the learner compared them where it "
    "drew these columns"
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
    if (
        not found
    ):  # what splits say leaves certainty open already, and the estimate goes without the rest
        found += _of_the_learner(leaves, knowledge, known, compares_known=compares_known)
    if knowledge.facts:
        found.append(FACTS_NOT_USED)
    if tests.are_mixed(hidden):
        found.append(MIXED)
    return tuple(found)


def _of_the_learner(
    leaves: LeafTable, knowledge: Knowledge, known: Sequence[str], *, compares_known: bool
) -> Iterator[str]:
    """Yield what is not used of the learner's settings, and of the columns that it compared or may have compared."""
    case = leaves.system.case
    learner, settings = case.tree.learner, settings_in_force(case)
    if settings and is_known_learner(case) and (compares_known or not leaves.are_counted):
        yield STOPS_NOT_USED.format(", ".join(settings))
    if compares_known and not learner.all_features and learner.criterion is not None:
        yield DRAWN_NOT_USED
    is_listed = learner.lists_columns or learner.tool is Tool.TREEWARDEN
    if knowledge.split is SplitLevel.NONE or is_listed:
        return
    names = {feature.name for feature in case.tree.features}
    unlisted = [repr(name) for name in dict.fromkeys(known) if name not in names]
    if unlisted:
        yield UNLISTED_NOT_USED.format(", ".join(unlisted))


def why_broken(choice: Choice, parts: Sequence[Held]) -> str:
    """Return why what the choice of splits says is not known to hold at an estimate; "" where it does."""
    found = compared(choice, parts)
    return NOT_COMPARED if found is None else found.why

"""What a model file gives away beside its trees: records, extremes, histograms, people and places."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from treewarden.ppdm_models.tree.ensemble import Model, trees_of


class LeakGroup(StrEnum):
    """Whom a leak speaks of; the name is the id that policies use, each kind is in one of them."""

    PEOPLE = "people"
    TRAINING = "training"
    ORIGIN = "origin"

    @property
    def plain(self) -> str:
        """What is in the group, in words."""
        return {
            LeakGroup.PEOPLE: (
                "records, names or unrecognised content in the file but not in its trees"
            ),
            LeakGroup.TRAINING: (
                "statistics about the training records, in the file but not in its trees"
            ),
            LeakGroup.ORIGIN: "author, time or place of origin in the file",
        }[self]

    @property
    def short(self) -> str:
        """The same for a row of a table."""
        return {
            LeakGroup.PEOPLE: "records or names outside the trees",
            LeakGroup.TRAINING: "training statistics outside the trees",
            LeakGroup.ORIGIN: "author, time or path outside the trees",
        }[self]


class LeakKind(StrEnum):
    """What leaks; the name is the id that reports, policies and redaction use.

    ``exact-targets`` are target values of single records, as sums give them away; ``rare-values`` those that the file
    itself says few records have; ``categories`` lists of values, rare or not; ``medians`` other quantiles too;
    ``averages`` means and variances; ``per-record`` a number for each record: a weight, where it stopped. ``old-model``
    is a model that is no part of what was audited; ``person`` somebody who may be in the table; ``author`` who made the
    file; ``identifier`` the name of a model or data set; ``unknown`` what nobody could judge: free text, fitted steps
    of a kind that is not known. ``replay`` helps to train again on guessed records, ``differencing`` to subtract.
    """

    RAW_RECORDS = "raw-records"
    EXACT_TARGETS = "exact-targets"
    RARE_VALUES = "rare-values"
    OLD_MODEL = "old-model"
    PERSON = "person"
    UNKNOWN = "unknown"
    EXTREMES = "extremes"
    MEDIANS = "medians"
    AVERAGES = "averages"
    HISTOGRAM = "histogram"
    CATEGORIES = "categories"
    TARGET_STATISTICS = "target-statistics"
    SMALL_COUNTS = "small-counts"
    PER_RECORD = "per-record"
    REPLAY = "replay"
    DIFFERENCING = "differencing"
    AUTHOR = "author"
    PATH = "path"
    TIMESTAMP = "timestamp"
    IDENTIFIER = "identifier"

    @property
    def group(self) -> LeakGroup:
        """The group that policies judge it with."""
        return GROUPS[self]


GROUPS = {
    LeakKind.RAW_RECORDS: LeakGroup.PEOPLE,
    LeakKind.EXACT_TARGETS: LeakGroup.PEOPLE,
    LeakKind.RARE_VALUES: LeakGroup.PEOPLE,
    LeakKind.OLD_MODEL: LeakGroup.PEOPLE,  # its leaves are as telling as those of a tree, and no audit saw them
    LeakKind.PERSON: LeakGroup.PEOPLE,
    LeakKind.UNKNOWN: LeakGroup.PEOPLE,  # what cannot be told is never passed over
    LeakKind.EXTREMES: LeakGroup.TRAINING,
    LeakKind.MEDIANS: LeakGroup.TRAINING,
    LeakKind.AVERAGES: LeakGroup.TRAINING,
    LeakKind.HISTOGRAM: LeakGroup.TRAINING,
    LeakKind.CATEGORIES: LeakGroup.TRAINING,
    LeakKind.TARGET_STATISTICS: LeakGroup.TRAINING,
    LeakKind.SMALL_COUNTS: LeakGroup.TRAINING,
    LeakKind.PER_RECORD: LeakGroup.TRAINING,
    LeakKind.REPLAY: LeakGroup.TRAINING,
    LeakKind.DIFFERENCING: LeakGroup.TRAINING,
    LeakKind.AUTHOR: LeakGroup.ORIGIN,
    LeakKind.PATH: LeakGroup.ORIGIN,
    LeakKind.TIMESTAMP: LeakGroup.ORIGIN,
    LeakKind.IDENTIFIER: LeakGroup.ORIGIN,
}


@dataclass(frozen=True, slots=True)
class Leak:
    """One thing that a file publishes beside the regions and labels of its trees.

    ``where`` is a place in the file, a line (``line 12``) or a JSON pointer (``/learner/attributes``); ``what`` says it
    in words, without repeating the secret in full; ``records`` is how many people it speaks for at least, where known.
    ``removable`` says that the format can be written without it; ``is_possible`` that it may be there or not, as its
    reader passes over what it does not need.
    """

    kind: LeakKind
    where: str
    what: str
    records: int | None = None
    removable: bool = False
    is_possible: bool = False


def unread_rest(form: str) -> Leak:
    """Return that a file may hold more than what its reader looks at; ``form`` is the name of its format."""
    what = f"any other content of such a file: the reader of {form} does not inspect the rest"
    return Leak(LeakKind.UNKNOWN, "anywhere in it", what, None, False, is_possible=True)


def kinds_of(leaks: Iterable[Leak]) -> tuple[str, ...]:
    """Return the kinds of some leaks, each once, in their order."""
    return tuple(dict.fromkeys(str(leak.kind) for leak in leaks))


# People whom a model itself names: a mail address among its features, their values or its classes.

_CALLED = (
    "[A-Za-z]|id|ID|[Nn]ode?|[Ll]eaf|[Ss]plit|[Ll]ine|[Ss]ide|[Tt]ree|[Rr]oot|[Rr]ule|[Aa]ctivity"
)
_NUMBERED = rf"(?:{_CALLED})?[ _#:-]?[0-9]{{1,10}}(?:[._:/-][0-9]{{1,10}}){{0,9}}[LR]?"
NUMBER = re.compile(
    rf"(?=(?:\D*[0-9]){{0,10}}\D*\Z)(?:(?:[Ss]eg[0-9]{{1,6}}_)?{_NUMBERED}|{_CALLED}|[A-Z](?:_[A-Z]){{1,4}})?"
)
"""What the number of a node looks like: up to ten digits in all, a path too, behind a letter or a usual word.

More digits, or any other word, may say something of somebody. Programs write ``7``, ``n7``, ``leaf 7``, ``N0_1`` and
``Seg1_Nod_1.2``; R counts the nodes of a binary tree, which has ten digits at a depth of 30.
"""
MAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")


def people_named(model: Model) -> tuple[Leak, ...]:
    """Return one leak per place that names somebody: the trees cannot be written without it, in no format."""
    found = dict.fromkeys(where for where, text in _texts(model) if MAIL.search(text))
    return tuple(Leak(LeakKind.PERSON, "", f"{where} contains a mail address") for where in found)


def _texts(model: Model) -> Iterator[tuple[str, str]]:
    """Yield what a text is, and the text."""
    yield from (("the name of a class", name) for name in model.classes)
    seen: set[int] = set()
    for part in (model, *trees_of(model)):
        if id(part.features) not in seen:  # the trees of an ensemble mostly share them
            seen.add(id(part.features))
            for feature in part.features:
                yield "the name of a feature", feature.name
                yield from ((f"a value of {feature.name!r}", value) for value in feature.values)


def odd_names(model: Model) -> tuple[Leak, ...]:
    """Return that nodes are called by more than numbers: what a name says, nobody could judge."""
    odd = sum(
        NUMBER.fullmatch(node.name) is None for tree in trees_of(model) for node in tree.nodes
    )
    if not odd:
        return ()
    return (
        Leak(LeakKind.UNKNOWN, "/nodes", f"the names of {odd} nodes, which are more than numbers"),
    )

"""Compares the sections of two reports of the same files that are neither findings nor readings.

Words follow from numbers: where all numbers are the same the words have to be. What takes as long as it is given (whole
records, all trees together) is open where two runs come to something else, but for numbers that contradict each other.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.jobs.attesting.alike import Compared, Outcome, is_close, missing, same, values
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import Ensemble, TreeNode, Values, Worlds

LETTER = ("confidential", "rests_on", "not_judged", "dropped")
"""What follows from the files and from what was asked alone."""
WORDED = ("meaning", "lessons", "leaves", "leaves_broken")
"""What is worded from findings and readings."""
TIMED = ("worlds", "ensemble", "values")
"""What is worked out as far as a budget reaches."""
SOMETIMES = "over_trees"
"""What not every report of an ensemble tells: one that Python made leaves it out."""
NUMBERS = ("findings", "readings", "adversaries", *TIMED)
NOT_WRITTEN = "--posterior: "
"""How a warning begins that is of a further file that was asked for, as the audit done again is not."""
FOUND = ("optimal", "closed form")


def sections(old: Document, new: Document) -> Iterator[Compared]:
    """Yield how each section compares."""
    for name in LETTER:
        yield same(_words(name), is_close(_dumped(old, name), _dumped(new, name)))
    is_same_number = all(getattr(old, name) == getattr(new, name) for name in NUMBERS)
    follows = Outcome.DIFFERS if is_same_number else Outcome.OPEN
    for name in WORDED:
        yield same(_words(name), is_close(_dumped(old, name), _dumped(new, name)), follows)
    warned = [each for each in old.warnings if not each.startswith(NOT_WRITTEN)]
    yield same("warnings", warned == list(new.warnings), follows)
    yield from _tree(old, new, follows)
    yield from _levels(old, new)
    yield from _estimate(old, new)
    for name in TIMED:
        yield from _timed(f"section {name}", getattr(old, name), getattr(new, name))


def _tree(old: Document, new: Document, follows: Outcome) -> Iterator[Compared]:
    """Yield how the trees compare that are drawn: the tree itself, and what is marked in it."""
    is_same = [*map(_unmarked, old.tree)] == [*map(_unmarked, new.tree)]
    yield same("tree", is_same and old.tree == new.tree, follows if is_same else Outcome.DIFFERS)


def _unmarked(node: TreeNode) -> TreeNode:
    return node.model_copy(update={"risk": "none", "rank": None, "clauses": ()})


def _levels(old: Document, new: Document) -> Iterator[Compared]:
    names = [[each.name for each in document.plots.levels] for document in (old, new)]
    yield same("levels of knowledge", names[0] == names[1])
    if names[0] == names[1]:
        for said, found in zip(old.plots.levels, new.plots.levels, strict=True):
            for each in ("guess_accuracy", "disclosure", "kl_overall"):
                compared = values(getattr(said, each), getattr(found, each))
                yield Compared(f"reading {each} of the level {said.name}", *compared)


def _estimate(old: Document, new: Document) -> Iterator[Compared]:
    """Yield how the estimates compare: by what is drawn of them, and by the entropy; how one was found may differ."""
    drawn = (each.plots.model_dump(mode="json", exclude={"levels"}) for each in (old, new))
    yield same("pictures", is_close(*drawn), Outcome.OPEN)
    if old.solver is None or new.solver is None:
        yield same("estimate", old.solver is new.solver)
        return
    is_found = old.solver.status in FOUND and new.solver.status in FOUND
    is_same = is_close(old.solver.entropy, new.solver.entropy)
    yield same("entropy of the estimate", is_same, Outcome.DIFFERS if is_found else Outcome.OPEN)


def _timed(
    name: str, old: Worlds | Ensemble | Values | None, new: Worlds | Ensemble | Values | None
) -> Iterator[Compared]:
    """Yield how a section compares; its summary has to be the same where its numbers are."""
    if old is None or new is None:
        if old is not new:
            yield missing(name, in_report=new is None)
        return
    said, found = (each.model_dump(mode="json") for each in (old, new))
    if not (said.get(SOMETIMES) and found.get(SOMETIMES)):
        said.pop(SOMETIMES, None)
        found.pop(SOMETIMES, None)
    numbers = [
        {key: each for key, each in one.items() if _is_number(each)} for one in (said, found)
    ]
    is_forged = is_close(*numbers) and old.summary != new.summary
    if isinstance(old, Worlds) and isinstance(new, Worlds):
        is_forged |= _contradict(old, new)
    yield same(name, is_close(said, found), Outcome.DIFFERS if is_forged else Outcome.OPEN)


def _is_number(value: object) -> bool:
    return value is None or isinstance(value, int | float)


def _contradict(old: Worlds, new: Worlds) -> bool:
    """Return whether one run is certain of more people than the other proves or leaves undecided."""
    if old.reason or new.reason:
        return False
    ends = [(float(each.records_certain), float(each.records_not_decided)) for each in (old, new)]
    return max(low for low, _ in ends) > min(low + open_ for low, open_ in ends)


def _dumped(document: Document, name: str) -> object:
    return document.model_dump(mode="json", include={name})[name]


def _words(name: str) -> str:
    return name.replace("_", " ")

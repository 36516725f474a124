"""Printed tests, ``age <= 30`` or ``sex = F``: read by what all branches of one split agree on, never guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models.codecs.common.grow import belongs, compared
from treewarden.ppdm_models.codecs.common.text_tree import as_float
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.predicate import Predicate

NUMERIC = {"<=": ">", ">": "<=", "<": ">=", ">=": "<"}
SETS = ("=", "==", "in")
PLACES = 50
"""The most operators, or separators, of one line; each may be the one that counts."""


@dataclass(frozen=True, slots=True)
class Said:
    """One way to read a printed branch: the test, and what follows it at a leaf (None: nothing does)."""

    feature: str
    operator: str
    value: str
    rest: str | None = None


def readings(text: str, operators: Sequence[str]) -> Iterator[Said]:
    """Yield each way to read a test, none where there are too many; ``operators`` are written with their blanks."""
    if sum(text.count(operator) for operator in operators) > PLACES:
        return
    for operator in operators:
        start = text.find(operator, 1)
        while start > 0:
            feature, value = text[:start].strip(), text[start + len(operator) :].strip()
            if feature and value:
                yield Said(feature, operator.strip(), value)
            start = text.find(operator, start + 1)


def with_rest(
    text: str, operators: Sequence[str], separator: str, is_rest: Callable[[str], bool]
) -> Iterator[Said]:
    """Yield each way to read a test, the separator, and a rest that can be one."""
    start = text.find(separator) if text.count(separator) <= PLACES else -1
    while start >= 0:
        rest = text[start + len(separator) :]
        if is_rest(rest):
            for said in readings(text[:start], operators):
                yield replace(said, rest=rest)
        start = text.find(separator, start + 1)


def agreed(branches: Sequence[Sequence[Said]], where: str) -> list[Said]:
    """Return the one way to read the branches of a split together.

    Raises:
        TreeFormatError: there is none, or more than one.
    """
    names = {said.feature for said in branches[0]}
    for branch in branches[1:]:
        names &= {said.feature for said in branch}
    ways = []
    for name in sorted(names):
        for kind in (_numeric, _binary, _listed):
            way = kind([[said for said in branch if said.feature == name] for branch in branches])
            if way is None:
                continue
            if any(len(branch) > 1 for branch in way):
                raise TreeFormatError(where, "the split can be read in several ways; none is taken")
            ways.append([branch[0] for branch in way])
    if len(ways) != 1:
        how = "in several ways; none is taken" if ways else "in no way: its branches do not fit"
        raise TreeFormatError(where, f"the split can be read {how}")
    return ways[0]


def tests(
    split: Sequence[Said], where: str, values: Callable[[str], tuple[str, ...]]
) -> list[Predicate]:
    """Return the tests of a split; ``values`` takes a printed set apart.

    Raises:
        TreeFormatError: a value stands in two branches.
    """
    first = split[0]
    if first.operator in NUMERIC:
        threshold = as_float(first.value)
        assert threshold is not None  # or it would not have been read as a number
        return list(compared(first.feature, first.operator, threshold))
    if any(said.operator == "!=" for said in split):
        inside, outside = belongs(first.feature, (first.value,))
        return [outside if said.operator == "!=" else inside for said in split]
    sets = [values(said.value) for said in split]
    listed = [value for each in sets for value in each]
    if len(set(listed)) < len(listed) or not all(sets):
        raise TreeFormatError(where, f"a value of {first.feature[:60]!r} stands in two branches")
    return [belongs(first.feature, each)[0] for each in sets]


def _numeric(branches: Sequence[Sequence[Said]]) -> list[list[Said]] | None:
    """Two branches, ``<= 3`` and ``> 3``."""
    if len(branches) != 2:
        return None
    left, right = ([said for said in branch if said.operator in NUMERIC] for branch in branches)
    left = [said for said in left if as_float(said.value) is not None]
    pairs = [
        (one, other)
        for one in left[:50]
        for other in right[:50]
        if other.operator == NUMERIC[one.operator] and as_float(other.value) == as_float(one.value)
    ]
    return _sides(pairs)


def _binary(branches: Sequence[Sequence[Said]]) -> list[list[Said]] | None:
    """Two branches, ``= a`` and ``!= a``."""
    if len(branches) != 2:
        return None
    pairs = [
        (one, other)
        for one in branches[0][:50]
        for other in branches[1][:50]
        if {one.operator, other.operator} == {"=", "!="} and one.value == other.value
    ]
    return _sides(pairs)


def _sides(pairs: Sequence[tuple[Said, Said]]) -> list[list[Said]] | None:
    if not pairs:
        return None
    return [list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1)]


def _listed(branches: Sequence[Sequence[Said]]) -> list[list[Said]] | None:
    """Any branches, each with a value or a set of its own."""
    found = [[said for said in branch if said.operator in SETS] for branch in branches]
    return found if all(found) else None

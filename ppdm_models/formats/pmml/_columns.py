"""Reads the nodes of a PMML tree column by column, where all of them are plain; any other tree is read node by node."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.arrays import IndexArray
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.xml_elements import (
    COMPOUND,
    DISTRIBUTION,
    FALSE,
    NODE,
    RECORDED,
    SIMPLE,
    TRUE,
    Element,
    ParseTape,
)
from treewarden.ppdm_models.formats.pmml._fields import Fields
from treewarden.ppdm_models.formats.pmml._predicates import read_predicate
from treewarden.ppdm_models.formats.pmml._sources import RawField
from treewarden.ppdm_models.tree.nodes import Cuts, NodeTable, Numbers, Wholes
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import Task

Read = TypeVar("Read")

CUTS = {
    "lessThan": (False, False),
    "lessOrEqual": (False, True),
    "greaterThan": (True, True),
    "greaterOrEqual": (True, False),
}
"""Whether an operator takes what is above its end, and whether the end itself is below."""

NUMERALS = re.compile(r"[0-9.+\-eE \t\r\n]*")
"""What a number is written with; of texts that hold nothing else, Python reads the same as numbers as PMML does."""


class NotPlainError(Exception):
    """The tree is to be read node by node."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Which elements of a tape are nodes, and which stand in which node; all by the numbers of their starts.

    ``events`` are the places of the starts; ``owners`` are the nodes (0 to N - 1) that elements stand in directly, -1
    where they stand in none so.
    """

    kinds: NDArray[np.int8]
    events: IndexArray
    owners: Wholes
    nodes: IndexArray

    def elements_of(self, *kinds: int) -> IndexArray:
        """Return the elements of some kinds that stand in a node directly."""
        return np.flatnonzero(np.isin(self.kinds, kinds) & (self.owners >= 0))


def plain_nodes(tape: ParseTape, fields: Fields, task: Task, is_own: bool) -> NodeTable | None:
    """Return the nodes of a tree; None where something about them asks for a closer look."""
    try:
        return _Columns(tape, fields, task).table(is_own)
    except NotPlainError:
        return None


class _Columns:
    """The nodes of one tree; each method returns a column, or gives up."""

    def __init__(self, tape: ParseTape, fields: Fields, task: Task) -> None:
        self.tape = tape
        self.fields = fields
        self.task = task
        self.labels = fields.classes if task is Task.CLASSIFICATION else ()
        _require(task is Task.REGRESSION or 0 < len(self.labels) <= limits.CLASSES)
        _require(not fields.labels)
        self.layout = _layout(tape)
        self.elements = [tape.attributes[place] for place in self.layout.nodes.tolist()]
        self.parents = self.layout.owners[self.layout.nodes]

    def table(self, is_own: bool) -> NodeTable:
        scores = self._scores()
        has_score = np.fromiter((score is not None for score in scores), np.bool_, len(scores))
        inner = np.bincount(self.parents[1:], minlength=len(self.parents)) > 0
        _require(is_own or self.task is Task.REGRESSION or bool((has_score | inner).all()))
        names = self._names()
        return NodeTable(
            parents=self.parents,
            names=names,
            tests=self._tests(),
            scores=scores,
            records=self._records(),
            class_counts=self._counts(),
            default_children=self._defaults(names),
            lines=[self.tape.lines[place] for place in self.layout.nodes.tolist()],
        )

    def _names(self) -> list[str]:
        names = [attributes.get("id") for attributes in self.elements]
        given = {name for name in names if name is not None}
        _require(len(given) + names.count(None) == len(names))
        if len(given) == len(names):
            return names
        _require(not given)
        return [f"n{index}" for index in range(len(names))]

    def _scores(self) -> Sequence[str | float | None]:
        texts = [attributes.get("score") for attributes in self.elements]
        if self.task is Task.CLASSIFICATION:
            _require(set(texts) <= {None, *self.labels})
            return texts
        found: list[float | None] = [None] * len(texts)
        told = [place for place, text in enumerate(texts) if text is not None]
        values = _numbers([texts[place] for place in told])
        for place, value in zip(told, values.tolist(), strict=True):
            found[place] = value
        return found

    def _records(self) -> Numbers | None:
        texts = [attributes.get("recordCount") for attributes in self.elements]
        if texts.count(None) == len(texts):
            return None
        found = np.full(len(texts), np.nan)
        told = [place for place, text in enumerate(texts) if text is not None]
        found[told] = _amounts([texts[place] for place in told])
        return found

    def _counts(self) -> Numbers | None:
        """Return the class counts: nodes list all classes in their order, with counts and no more, or none."""
        places = self.layout.elements_of(DISTRIBUTION)
        if not len(places) or not self.labels:
            return None
        width, size = len(self.labels), len(self.elements)
        owners = self.layout.owners[places]
        listed = np.bincount(owners, minlength=size)
        nodes = np.flatnonzero(listed)
        _require(
            len(nodes) * width <= limits.CLASS_NUMBERS,
            bool((listed[nodes] == width).all()),
            bool((owners[1:] >= owners[:-1]).all()),
        )
        attributes = [self.tape.attributes[place] for place in places.tolist()]
        labels, texts = _both(attributes, "value", "recordCount")
        _require(labels == list(self.labels) * len(nodes))
        found = np.full((size, width), np.nan)
        found[nodes] = _amounts(texts).reshape(-1, width)
        return found

    def _defaults(self, names: Sequence[str]) -> Wholes | None:
        said = [attributes.get("defaultChild") for attributes in self.elements]
        if said.count(None) == len(said):
            return None
        place = {name: index for index, name in enumerate(names)}
        found = np.array([-1 if one is None else place.get(one, 0) for one in said], dtype=np.int64)
        told = np.flatnonzero(found >= 0)
        _require(bool((self.parents[found[told]] == told).all()))
        return found

    def _tests(self) -> Cuts:
        places = self.layout.elements_of(SIMPLE, COMPOUND, TRUE, FALSE)
        owners = self.layout.owners[places]
        _require(len(places) == len(self.elements), len(np.unique(owners)) == len(places))
        places = places[np.argsort(owners)]
        test_columns = _TestColumns(self.tape, self.fields)
        kinds = self.layout.kinds[places].tolist()
        for node, (kind, place) in enumerate(zip(kinds, places.tolist(), strict=True)):
            if kind == SIMPLE and test_columns.takes(node, self.tape.attributes[place], place):
                continue
            test_columns.others[node] = test_columns.read(
                kind, int(self.layout.events[place]), place
            )
        return test_columns.cuts(len(places))


class _TestColumns:
    """Gathers the tests of a tree, node after node: comparisons as columns, all others as they are read."""

    def __init__(self, tape: ParseTape, fields: Fields) -> None:
        self.tape = tape
        self.fields = fields
        self.others: dict[int, Predicate] = {}
        self.simple: dict[tuple[tuple[str, str], ...], Predicate] = {}
        """Comparisons that were read, by what they say: most stand at many nodes."""
        self.names: list[str] = []
        self.places: dict[str, int] = {}
        self.nodes: list[int] = []
        self.features: list[int] = []
        self.operators: list[tuple[bool, bool]] = []
        self.texts: list[str] = []
        self.rounded: list[int] = []

    def takes(self, node: int, attributes: dict[str, str], place: int) -> bool:
        """Note a comparison of a raw number; return whether it is one."""
        try:
            field, operator, text = attributes["field"], attributes["operator"], attributes["value"]
        except KeyError:
            return False
        known = self.places.get(field)
        if known is None:
            known = self._place(
                field, Element(RECORDED[SIMPLE], attributes, self.tape.lines[place])
            )
        if known < 0 or operator not in CUTS:
            return False
        self.nodes.append(node)
        self.features.append(known)
        self.operators.append(CUTS[operator])
        self.texts.append(text)
        return True

    def read(self, kind: int, event: int, place: int) -> Predicate:
        """Return the test of a kind that begins at an event."""
        said = tuple(self.tape.attributes[place].items())
        known = self.simple.get(said) if kind == SIMPLE else None
        if known is not None:
            return known
        found = _careful(
            lambda: read_predicate(self.tape.grown(event, place)[0], self.fields, self.fields.fail)
        )
        if kind == SIMPLE:
            self.simple[said] = found
        return found

    def cuts(self, size: int) -> Cuts:
        """Return the tests of all nodes."""
        features, ends = np.full(size, -1), np.zeros(size)
        upper, closed = np.zeros(size, dtype=np.bool_), np.zeros(size, dtype=np.bool_)
        features[self.nodes] = self.features
        ends[self.nodes] = _numbers(self.texts)
        if self.operators:
            upper[self.nodes], closed[self.nodes] = np.array(self.operators).T
        is_rounded = np.isin(features, self.rounded)
        with np.errstate(over="ignore"):
            single = ends[is_rounded].astype(np.float32).astype(np.float64)
        ends[is_rounded] = np.where(np.isinf(single), ends[is_rounded], single)
        return Cuts(tuple(self.names), features, ends, upper, closed, self.others)

    def _place(self, field: str, element: Element) -> int:
        """Return where a field stands among those compared as they are; -1 where it is none."""
        source = _careful(lambda: self.fields.source(field, element, self.fields.fail))
        place = -1
        if isinstance(source, RawField) and source.missing is None:
            feature = self.fields.features[source.feature]
            if feature.numeric:
                place = len(self.names)
                self.names.append(feature.name)
                if self.fields.is_single(field):
                    self.rounded.append(place)
        self.places[field] = place
        return place


def _layout(tape: ParseTape) -> Layout:
    events = np.asarray(tape.events, dtype=np.int8)
    starts = np.flatnonzero(events >= 0)
    kinds = events[starts]
    nodes = np.flatnonzero(kinds == NODE)
    open_nodes = np.cumsum((events == NODE).astype(np.int32) - (events == ~NODE))
    around = open_nodes[starts] - (kinds == NODE)
    is_direct = np.cumsum(np.where(events >= 0, 1, -1))[starts] == around + 1
    deepest = int(around[nodes].max())
    _require(bool(is_direct[nodes].all()), len(nodes) <= limits.NODES, deepest <= limits.DEPTH)
    owners = np.full(len(starts), -1, dtype=np.int64)
    for level in range(1, deepest + 2):
        inside = np.flatnonzero((around == level) & is_direct)
        outer = np.flatnonzero(around[nodes] == level - 1)
        owners[inside] = outer[np.searchsorted(nodes[outer], inside) - 1]
    return Layout(kinds, starts, owners, nodes)


def _both(
    attributes: Sequence[dict[str, str]], key: str, other_key: str
) -> tuple[list[str], list[str]]:
    """Return the two attributes that all of some elements have, and no more."""
    _require(set(map(len, attributes)) == {2})
    try:
        return [said[key] for said in attributes], [said[other_key] for said in attributes]
    except KeyError:
        raise NotPlainError from None


def _numbers(texts: Sequence[str]) -> Numbers:
    """Return finite numbers; each text is looked at once."""
    known = dict.fromkeys(texts, 0.0)
    is_plain = NUMERALS.fullmatch("".join(known)) is not None
    _require(is_plain, max(map(len, known), default=0) < 1000)
    try:
        known.update(zip(known, map(float, known), strict=True))
        found = np.asarray(array("d", map(known.__getitem__, texts)), dtype=np.float64)
    except ValueError:
        raise NotPlainError from None
    _require(bool(np.isfinite(found).all()))
    return found


def _amounts(texts: Sequence[str]) -> Numbers:
    found = _numbers(texts)
    _require(bool((found >= 0).all()))
    return found


def _careful(read: Callable[[], Read]) -> Read:
    """Return what is read; its complaint is made by the closer look."""
    try:
        return read()
    except TreeFormatError:
        raise NotPlainError from None


def _require(*conditions: bool) -> None:
    if not all(conditions):
        raise NotPlainError

"""The shape of a JSON format: which keys it has, what each may hold, and so what in a file no reader knows.

A shape is held against the document that was read. A value is known where the model holds it, where it follows from
the model, or where only a few words or numbers can stand; whatever else is there is named, and goes where it may go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from treewarden.ppdm_models.formats import Strippable
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    opens_json,
    pointer,
    read_json,
    written_json,
)
from treewarden.ppdm_models.formats.common.json_layout import odd_layout
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

Scalar = Callable[[object], bool]
"""Whether a value that is no object or list may stand in a place."""


@dataclass(frozen=True, slots=True)
class Entries:
    """An object of known keys, in the order in which they are written; ``optional`` ones no reader needs."""

    shapes: Mapping[str, Shape]
    optional: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NamedEntries:
    """An object whose keys are the names of the model."""

    names: frozenset[str]
    shape: Shape


@dataclass(frozen=True, slots=True)
class Items:
    """A list of values of one shape, of so many where that is known."""

    shape: Shape
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """A part that leaks of its own tell of in full."""


@dataclass(frozen=True, slots=True)
class Either:
    """One of several shapes: the first that fits best."""

    shapes: tuple[Shape, ...]


Shape = Entries | NamedEntries | Items | Judged | Either | Scalar
JUDGED = Judged()


@dataclass(frozen=True, slots=True)
class StrangePart:
    """Something that no reader knows: where it stands, and which keys go for it to be gone, None where none can."""

    steps: tuple[str | int, ...]
    what: str
    goes: tuple[str | int, ...] | None = None


MOST_DIGITS = 12
UNKNOWN_KEY = "an unknown part"
UNKNOWN_VALUE = "an unknown value"
UNKNOWN_ORDER = "keys in an unusual order"


def is_number(value: object) -> bool:
    """Return whether it is a number: one that the model holds."""
    return type(value) in (int, float)


def is_setting(value: object) -> bool:
    """Return whether it is a number of few digits, as people choose them: more would be room for something else."""
    return is_number(value) and len(repr(value)) <= MOST_DIGITS


def is_flag(value: object) -> bool:
    """Return whether it is true or false."""
    return isinstance(value, bool)


def is_text(value: object) -> bool:
    """Return whether it is a text: one that the model holds."""
    return isinstance(value, str)


def is_label(value: object) -> bool:
    """Return whether it is what a class or category can be called: one that the model holds."""
    return isinstance(value, str | int | float)


def one_of(*values: object) -> Scalar:
    """Return whether a value is one of these, and of the same type."""
    return lambda value: any(type(value) is type(known) and value == known for known in values)


def strange_parts(document: object, shape: Shape) -> Iterator[StrangePart]:
    """Yield what does not fit a shape; parts of the same name in many items of lists are told each."""
    pending = [_ShapedValue(document, shape)]
    while pending:
        part = pending.pop()
        value, shape = part.value, _chosen(part.value, part.shape)
        if isinstance(shape, Judged):
            continue
        if isinstance(shape, Entries) and isinstance(value, dict):
            inside = [
                part.entry(name, shape) for name, inner in value.items() if name in shape.shapes
            ]
            pending += reversed(
                [entry for entry in inside if entry.value is not None or entry.goes]
            )
            foreign = [(*part.steps, name) for name in value if name not in shape.shapes]
        elif isinstance(shape, NamedEntries) and isinstance(value, dict):
            known = [name for name in value if name in shape.names]
            pending += [part.inner(name, shape.shape) for name in reversed(known)]
            foreign = [(*part.steps, name) for name in value if name not in shape.names]
        elif isinstance(shape, Items) and isinstance(value, list):
            if shape.size not in (None, len(value)):
                what = f"has {len(value)} values, but {shape.size} are expected"
                yield StrangePart(part.steps, what, part.goes)
            pending += [part.inner(at, shape.shape) for at in reversed(range(len(value)))]
            continue
        else:
            if isinstance(shape, Entries | NamedEntries | Items) or not shape(value):  # type: ignore[operator]  # no Either
                yield StrangePart(part.steps, UNKNOWN_VALUE, part.goes)
            continue
        yield from (StrangePart(place, UNKNOWN_KEY, place) for place in foreign)


@dataclass(frozen=True, slots=True)
class _ShapedValue:
    """A value that is held against a shape; ``goes`` is the innermost place around it that may go."""

    value: Any
    shape: Shape
    steps: tuple[str | int, ...] = ()
    goes: tuple[str | int, ...] | None = None

    def inner(self, step: str | int, shape: Shape) -> _ShapedValue:
        return _ShapedValue(self.value[step], shape, (*self.steps, step), self.goes)

    def entry(self, name: str, entries: Entries) -> _ShapedValue:
        place = (*self.steps, name)
        goes = place if name in entries.optional else self.goes
        return _ShapedValue(self.value[name], entries.shapes[name], place, goes)


def _chosen(value: object, shape: Shape) -> Shape:
    """Return the first of several shapes that fits, or the one that fits best."""
    if not isinstance(shape, Either):
        return shape
    return min(shape.shapes, key=lambda option: sum(1 for _ in strange_parts(value, option)))


def _objects(document: object, shape: Shape) -> Iterator[tuple[dict[str, object], Entries]]:
    """Yield every object of known keys, with its shape."""
    pending: list[tuple[object, Shape]] = [(document, shape)]
    while pending:
        value, shape = pending.pop()
        shape = _chosen(value, shape)
        if isinstance(shape, Entries) and isinstance(value, dict):
            yield value, shape
            shapes = shape.shapes
            pending += [(inner, shapes[name]) for name, inner in value.items() if name in shapes]
        elif isinstance(shape, NamedEntries) and isinstance(value, dict):
            pending += [(inner, shape.shape) for inner in value.values()]
        elif isinstance(shape, Items) and isinstance(value, list):
            pending += [(inner, shape.shape) for inner in value]


def is_in_order(document: object, shape: Shape) -> bool:
    """Return whether all objects have their keys in the shape's order, or all in that of the alphabet."""
    is_own = is_sorted = True
    for value, entries in _objects(document, shape):
        places = {name: place for place, name in enumerate(entries.shapes)}
        names = [name for name in value if name in places]
        is_own = is_own and names == sorted(names, key=places.__getitem__)
        is_sorted = is_sorted and names == sorted(names)
        if not is_own and not is_sorted:
            return False
    return True


def put_in_order(document: object, shape: Shape) -> None:
    """Put the keys of each object into the shape's order; what it does not know comes last."""
    for value, entries in _objects(document, shape):
        names = [*(name for name in entries.shapes if name in value)]
        names += [name for name in value if name not in entries.shapes]
        held = dict(value)
        value.clear()
        value.update((name, held[name]) for name in names)


def without_places(document: object, places: Iterable[Steps]) -> object:
    """Return the document without the keys and the items of lists at some places; the document is used up."""
    for steps in sorted(set(map(tuple, places)), key=_from_the_end, reverse=True):
        holder, last = document, steps[-1]
        for step in steps[:-1]:
            holder = _inside(holder, step)
        if isinstance(holder, dict):
            holder.pop(last, None)
        elif isinstance(holder, list) and isinstance(last, int) and last < len(holder):
            del holder[last]
    return document


def _from_the_end(steps: tuple[str | int, ...]) -> tuple[int, int]:
    """Return what sorts places so that none moves another that is still to go."""
    return len(steps), steps[-1] if isinstance(steps[-1], int) else -1


def _inside(holder: object, step: str | int) -> object:
    if isinstance(holder, dict):
        return holder.get(step)
    if isinstance(holder, list) and isinstance(step, int) and step < len(holder):
        return holder[step]
    return None


def leaks_of_strange(parts: Iterable[StrangePart]) -> Iterator[Leak]:
    """Yield one leak for all parts of the same name and kind, at the place of the first."""
    groups: dict[object, list[StrangePart]] = {}
    for part in parts:
        keys = tuple(step if isinstance(step, str) else 0 for step in part.steps)
        groups.setdefault((keys, part.what, part.goes is None), []).append(part)
    for same in groups.values():
        first = same[0]
        more = f", in {len(same)} places" if len(same) > 1 else ""
        is_removable = first.goes is not None
        yield Leak(
            LeakKind.UNKNOWN, pointer(first.steps), first.what + more, removable=is_removable
        )


@dataclass(frozen=True, slots=True)
class Account:
    """What is known of a format's files: their shape, and what stands there that a shape cannot say.

    ``removable`` are the places that leaks of a kind name, which go if that kind goes.
    """

    shape: Shape
    strange: tuple[StrangePart, ...] = ()
    removable: Mapping[LeakKind, tuple[Steps, ...]] = field(default_factory=dict)


def _goes(leak: Leak, account: Account) -> bool:
    """Return whether what a leak names goes from the file together with its kind."""
    places = account.removable.get(leak.kind, ())
    return any(f"{pointer(steps)}/".startswith(f"{leak.where}/") for steps in places)


class AccountedJson(Strippable):
    """A JSON file of which everything is in the model, or named.

    ``Account`` comes from the document and its model; its bytes stay, not the document, which is read again.
    """

    def __init__(
        self,
        data: bytes,
        document: object,
        model: Model,
        leaks: Iterable[Leak],
        account: Account,
    ) -> None:
        """Look through the document; ``leaks`` are those that the format itself tells."""
        accounted_leaks = [
            replace(leak, removable=leak.removable or _goes(leak, account)) for leak in leaks
        ]
        self._account = account
        self._strange = (*strange_parts(document, account.shape), *account.strange)
        self._is_ordered = is_in_order(document, account.shape)
        odd = odd_layout(data) if opens_json(data) else ""
        layout = [odd] if odd else []
        if not self._is_ordered:
            layout.append(UNKNOWN_ORDER)
        where = (Leak(LeakKind.UNKNOWN, "layout", what, removable=True) for what in layout)
        super().__init__(model, (*accounted_leaks, *leaks_of_strange(self._strange), *where))
        self._data = data

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        document = read_json(self._data, self.model.source, allow_nan=True)
        places = [
            steps
            for kind, some in self._account.removable.items()
            if kind in kinds
            for steps in some
        ]
        if LeakKind.UNKNOWN in kinds:
            places += [part.goes for part in self._strange if part.goes is not None]
        document = without_places(document, places)
        if LeakKind.UNKNOWN in kinds and not self._is_ordered:
            put_in_order(document, self._account.shape)
        return written_json(document, self._data)

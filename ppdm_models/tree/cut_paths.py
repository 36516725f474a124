"""What must hold for a record to come to each leaf of a tree of plain splits, in text: an interval for each feature.

The general way (``fingerprint``) makes a test for what holds at each node; here only the ends of intervals are carried
down, with their texts, so that the millions of nodes of a forest take seconds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from json.encoder import encode_basestring_ascii
from typing import NamedTuple

from treewarden.ppdm_models.tree.cuts import Numbers
from treewarden.ppdm_models.tree.plain import Plain, plain_of
from treewarden.ppdm_models.tree.single import single_ends
from treewarden.ppdm_models.tree.tree import Tree

Say = Callable[[float], str]
NO_END = "[]"


class _Interval(NamedTuple):
    """What a number of one feature must lie in, the ends in text, and the whole as JSON and as a text in JSON."""

    low: float = -math.inf
    has_low: bool = False
    low_text: str = NO_END
    high: float = math.inf
    has_high: bool = False
    high_text: str = NO_END
    text: str = ""
    item: str = ""


ANY = _Interval()


def paths_in_text(
    tree: Tree, say: Say, wanted: frozenset[int] | None = None
) -> list[tuple[int, str]] | None:
    """Return each leaf, or those ``wanted``, with the items of a JSON list of all that leads there, in their order.

    ``say`` is how an end is said; ends of 32-bit features are moved to 32-bit numbers. None: the tree has other splits
    than plain ones, or a path that nobody can take.
    """
    plain = plain_of(tree)
    if plain is None:
        return None
    moved = single_ends(plain.cuts, {each.name for each in tree.features if each.single})
    if moved is None:
        return None
    found = []
    for leaf, way in _ways(plain, moved, say, _asked(plain, wanted)):
        if way is None:
            return None
        found.append((leaf, ", ".join(each.item for each in sorted(way, key=_by_text))))
    return found


def _by_text(interval: _Interval) -> str:
    return interval.text


def _asked(plain: Plain, wanted: frozenset[int] | None) -> list[bool] | None:
    """Return which nodes lead to those that are wanted, themselves included; None where all are."""
    if wanted is None:
        return None
    parents = plain.parents.tolist()
    asked = [False] * len(parents)
    for node in wanted:
        while node >= 0 and not asked[node]:
            asked[node] = True
            node = parents[node]
    return asked


def _ways(
    plain: Plain, ends: Numbers, say: Say, asked: list[bool] | None
) -> Iterator[tuple[int, list[_Interval] | None]]:
    """Yield each leaf with the intervals that lead there; None for one that nobody comes to, which ends it."""
    cuts, inner, parents = plain.cuts, plain.inner.tolist(), plain.parents.tolist()
    places, values = cuts.features.tolist(), ends.tolist()
    upper, closed = cuts.upper.tolist(), cuts.closed.tolist()
    names = [json.dumps(name) for name in cuts.names]
    ways: dict[int, Mapping[int, _Interval]] = {}
    for node, parent in enumerate(parents):
        if asked is not None and not asked[node]:
            continue
        way: Mapping[int, _Interval] = {}
        if parent >= 0:
            above, place = ways[parent], places[node]
            own, end = above.get(place, ANY), values[node]
            inside = (
                _above(own, end, not closed[node], names[place], say)
                if upper[node]
                else _below(own, end, closed[node], names[place], say)
            )
            if inside is None:
                yield node, None
                return
            way = {**above, place: inside}
        if inner[node]:
            ways[node] = way
        else:
            yield node, list(way.values())


def _above(own: _Interval, end: float, is_in: bool, name: str, say: Say) -> _Interval | None:
    """Return what of an interval is above an end, which ``is_in`` or not; None where that is nothing."""
    if end < own.low:
        return own
    has = is_in and (end > own.low or own.has_low)
    if end > own.high or (end == own.high and not (has and own.has_high)):
        return None
    low_text = _end(end, has, say)
    text, item = _texts(name, low_text, own.high_text)
    return _Interval(end, has, low_text, own.high, own.has_high, own.high_text, text, item)


def _below(own: _Interval, end: float, is_in: bool, name: str, say: Say) -> _Interval | None:
    """Return what of an interval is below an end, which ``is_in`` or not; None where that is nothing."""
    if end > own.high:
        return own
    has = is_in and (end < own.high or own.has_high)
    if end < own.low or (end == own.low and not (has and own.has_low)):
        return None
    high_text = _end(end, has, say)
    text, item = _texts(name, own.low_text, high_text)
    return _Interval(own.low, own.has_low, own.low_text, end, has, high_text, text, item)


def _end(value: float, is_in: bool, say: Say) -> str:
    return f'["{say(value)}", {"true" if is_in else "false"}]'


def _texts(name: str, low_text: str, high_text: str) -> tuple[str, str]:
    """Return an interval of a feature as JSON, and that as a text in JSON."""
    text = f'["number", {name}, {low_text}, {high_text}]'
    return text, encode_basestring_ascii(text)

"""Who says what to whom about one node, as a picture: a lane for each side, an arrow for each kind of message."""

from __future__ import annotations

from dataclasses import dataclass

from reports.document.vertical import LeakageDocument, Traffic
from reports.document.words import count, counted

LANE, ROW, TOP, LEFT = 170.0, 34.0, 46.0, 90.0
MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class Lane:
    """A side: where its line stands."""

    name: str
    x: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """A kind of message from one lane to another: ``head`` is the path of its point; the words stand in the middle."""

    x1: float
    x2: float
    y: float
    head: str
    middle: float
    words: str


@dataclass(frozen=True, slots=True)
class Flow:
    """The picture, in units of which ``width`` by ``height`` are drawn; ``note`` says what is left out."""

    width: float
    height: float
    bottom: float
    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...]
    note: str


def message_flow(document: LeakageDocument) -> Flow | None:
    """Return the picture of the messages about the root; None where there were none."""
    if not document.flow:
        return None
    there = {name for each in document.flow for name in (each.sender, each.receiver)}
    first = [name for name in ("miner", "ideal box") if name in there]
    parties = [each.name for each in document.session.parties if each.name in there]
    lanes = [Lane(name, LEFT + LANE * number) for number, name in enumerate([*first, *parties])]
    at = {lane.name: lane.x for lane in lanes}
    shown = document.flow[:MOST_ROWS]
    arrows = tuple(_arrow(each, at, TOP + ROW * (1 + row)) for row, each in enumerate(shown))
    left_out = len(document.flow) - len(shown)
    note = f"… and {counted(left_out, 'more kind', 'more kinds')} of message." if left_out else ""
    bottom = TOP + ROW * (len(shown) + 0.7)
    return Flow(2 * LEFT + LANE * (len(lanes) - 1), bottom + 14, bottom, tuple(lanes), arrows, note)


def _arrow(each: Traffic, at: dict[str, float], y: float) -> Arrow:
    start, end = at[each.sender], at[each.receiver]
    back = -7 if end > start else 7
    head = f"M{end:.0f} {y:.0f}l{back} -4v8z"
    times = f"{count(each.messages)} × " if each.messages > 1 else ""
    words = f"{times}{each.kind.partition(',')[0]}, {count(each.bytes)} B"
    return Arrow(start, end, y, head, (start + end) / 2, words)

"""Pages and the picture of messages, put together from templates: text that strangers wrote is escaped."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from treewarden.ppdm_models.tree.column import brief
from treewarden.reports.document.methods import LeakageDocument, Traffic
from treewarden.reports.document.words import count, counted, is_command, printable, sentence
from treewarden.reports.figures.drawing import short, width
from treewarden.reports.figures.finding_rows import (
    lack_rows,
    told_apart,
    told_once,
    untold_together,
)


@cache
def environment() -> Environment:
    """Return what finds the templates, and prints every name escaped; a template that asks for nothing known fails.

    There is one in a process: compiling a template takes longer than filling it.
    """
    found = Environment(
        loader=PackageLoader("treewarden.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_escape_names,
    )
    found.filters["told_once"] = told_once
    found.filters["lack_rows"] = lack_rows
    found.filters["brief"] = brief
    found.filters["sentence"] = sentence
    found.filters["told_apart"] = told_apart
    found.filters["untold_together"] = untold_together
    found.tests["command"] = is_command
    return found


def _escape_names(value: Any) -> Any:  # noqa: ANN401  # whatever a template prints
    """Escape control and direction-changing characters in every name that is printed."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return printable(value)
    return value


# The messages about one node as a picture: a lane for each side, a row for each kind of message.
#
# What one side says to several, several to one, or all to all others, is one row: a dot for who speaks, a point for who
# hears.

LANE, ROW, TOP, FOOT = 150.0, 32.0, 34.0, 24.0
SPACE = 20.0
SIGN = 8.0
"""Width in px of a character of a side's name, which is bold."""
MOST_ROWS = 80


@dataclass(frozen=True, slots=True)
class Lane:
    """A side: where its line stands, and its name, cut to the room there is."""

    name: str
    full: str
    x: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """A row: a line with a dot for each sender, and a path for the point at each receiver; words at its left end."""

    x1: float
    x2: float
    y: float
    dots: tuple[float, ...]
    heads: tuple[str, ...]
    words: str


@dataclass(frozen=True, slots=True)
class MessageFlow:
    """The picture, in units of which ``width`` by ``height`` are drawn; ``note`` says what is left out."""

    width: float
    height: float
    bottom: float
    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...]
    note: str


def message_flow(document: LeakageDocument) -> MessageFlow | None:
    """Return the picture of the messages about the root; None where there were none."""
    rows = _rows(document.flow)
    if not rows:
        return None
    there = {name for traffic in document.flow for name in (traffic.sender, traffic.receiver)}
    first = [name for name in ("miner", "ideal box") if name in there]
    names = [*first, *(party.name for party in document.session.parties if party.name in there)]
    place = {name: number for number, name in enumerate(names)}
    shown = rows[:MOST_ROWS]
    lane = max([LANE, *(_room(row, place) for row in shown)])
    at = {name: lane * (number + 0.5) for name, number in place.items()}
    lanes = tuple(Lane(short(name, int((lane - SPACE) / SIGN)), name, at[name]) for name in names)
    arrows = tuple(_arrow(row, at, TOP + ROW * (1 + number)) for number, row in enumerate(shown))
    left_out = len(rows) - len(shown)
    note = f"… and {counted(left_out, 'more row', 'more rows')} of messages." if left_out else ""
    bottom = TOP + ROW * len(shown) + FOOT
    return MessageFlow(lane * len(lanes), bottom + 8, bottom, lanes, arrows, note)


def message_flow_svg(document: LeakageDocument) -> bytes | None:
    """Return the picture as a file of its own; None where there were no messages."""
    flow = message_flow(document)
    if flow is None:
        return None
    page = environment().get_template("message_flow.svg.j2")
    return page.render(flow=flow, is_file=True).encode("utf-8")


def _rows(flow: Sequence[Traffic]) -> list[list[Traffic]]:
    """Return messages by kind, and by the one who sends them to several, or hears them of several."""
    heard = Counter((traffic.kind, traffic.sender) for traffic in flow)
    said = Counter((traffic.kind, traffic.receiver) for traffic in flow)
    speakers = Counter(kind for (kind, _), receivers in heard.items() if receivers > 1)
    rows: dict[tuple[str, ...], list[Traffic]] = defaultdict(list)
    for each in flow:
        if speakers[each.kind] > 1:
            key: tuple[str, ...] = (each.kind,)
        elif heard[each.kind, each.sender] > 1:
            key = (each.kind, "from", each.sender)
        elif said[each.kind, each.receiver] > 1:
            key = (each.kind, "to", each.receiver)
        else:
            key = (each.kind, each.sender, each.receiver)
        rows[key].append(each)
    return list(rows.values())


def _words(row: Sequence[Traffic]) -> str:
    messages = sum(traffic.messages for traffic in row)
    times = f"{count(messages)} × " if messages > 1 else ""
    return (
        f"{times}{row[0].kind.partition(',')[0]}, {count(sum(traffic.bytes for traffic in row))} B"
    )


def _room(row: Sequence[Traffic], place: dict[str, int]) -> float:
    """Return how far apart lanes have to be for the words of a row."""
    over = [place[name] for traffic in row for name in (traffic.sender, traffic.receiver)]
    return (width(_words(row)) + SPACE) / (max(over) - min(over))


def _arrow(row: Sequence[Traffic], at: dict[str, float], y: float) -> Arrow:
    over = [at[name] for traffic in row for name in (traffic.sender, traffic.receiver)]
    dots = tuple(dict.fromkeys(at[traffic.sender] for traffic in row))
    heads = []
    for each in row:
        end = at[each.receiver]
        back = -7 if end > at[each.sender] else 7
        path = f"M{end:.1f} {y:.1f}l{back} -4v8z"
        if path not in heads:
            heads.append(path)
    return Arrow(min(over), max(over), y, dots, tuple(heads), _words(row))


# What sides learnt from each other, as one self-contained page: it needs no library that draws.

REAL = "Confidential: shows who saw what about people"
SIMULATED = f"Simulated: no protection. {REAL}"


def leakage_page(document: LeakageDocument) -> bytes:
    """Return the page; same document, same bytes."""
    page = environment().get_template("leakage.html.j2")
    return page.render(
        doc=document,
        flow=message_flow(document),
        is_file=False,
        running=SIMULATED if document.is_ideal else REAL,
    ).encode("utf-8")

"""The pictures of one audit as plain SVG: a curve, a histogram and bars in the same frame, readable without colour.

They are in every page of an audit, so they are written out here: importing a library for plots takes longer than a
small audit. Numbers that need one (logarithmic axes, labels that make room for each other) are drawn in ``plots``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from treewarden.reports.document.inferred_parts import Certainty, Divergence, Level
from treewarden.reports.document.parts import Number, Value
from treewarden.reports.document.words import printable

INK, FAINT, BLUE, ORANGE, PAPER, GRID = (
    f"var(--{name})" for name in ("ink", "faint", "blue", "orange", "paper", "grid")
)
"""Variables of the page's style, so that pictures follow a dark page."""
WIDTH, HEIGHT = 388.8, 237.6
TOP, RIGHT = 8.0, 370.0
"""Where the field between the axes begins and ends, in px."""
LEFT = 58.0
SIZE, SMALL = 10.5, 9.0
SIGN = 5.9
"""How wide a sign of the usual size is; a little too much rather than too little."""
MOST_SIGNS = 24
TRUTH_DASHES, TABLES_DASHES, LIMIT_DASHES, RANGE_DASHES = (
    "10 4",
    "8.4 2.8 1.4 2.8",
    "1.2 2",
    "3.7 1.6",
)
FEW_TICKS = 6
PAST_HUNDRED = 132.0
"""Where an axis of per cents ends, so that both ends of a bar can be written behind it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from ``low`` to ``high`` with a mark, and its words, at each tick."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    name: str = ""

    def share(self, value: float) -> float:
        """Return how far along the axis a value is: 0 to 1."""
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True, slots=True)
class Field:
    """The field between two axes; places in it are in px from the upper left."""

    across: Axis
    up: Axis
    left: float
    bottom: float

    def x(self, value: float) -> float:
        return self.left + (RIGHT - self.left) * self.across.share(value)

    def y(self, value: float) -> float:
        return self.bottom + (TOP - self.bottom) * self.up.share(value)


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a line is drawn, and what it is called in the legend."""

    name: str
    colour: str
    width: float
    dashes: str = ""


GUESS = Stroke("most likely value", BLUE, 2)
TRUTH = Stroke("true value", ORANGE, 2, TRUTH_DASHES)
HUNDREDTHS = tuple((at, f"{at} %") for at in range(0, 101, 20))
QUARTERS = tuple((at, f"{at} %") for at in range(0, 101, 25))


def certainty(series: Certainty) -> Markup:
    """Draw how many records the adversary is how sure about."""
    name = "adversary's probability of a value, at least"
    drawn = Field(
        Axis(0, 100, HUNDREDTHS, name), Axis(0, 104, HUNDREDTHS, "share of people"), LEFT, 160
    )
    curves = [(GUESS, series.guess)]
    if series.truth is not None:
        curves.append((TRUTH, series.truth))
    if series.worlds is not None:
        is_least = series.worlds_are_proved_only
        tables = "proved, at least" if is_least else "over all consistent tables"
        curves.append((Stroke(tables, INK, 1.4, TABLES_DASHES), series.worlds))
    parts = [_axes(drawn, is_gridded=(True, True))]
    for stroke, shares in curves:
        places = [100 * p for p in series.probability]
        parts.append(_steps(drawn, places, [100 * share for share in shares], stroke))
    entries = [(_sample(stroke), stroke.name) for stroke, _ in curves]
    if series.certain is not None:
        parts.append(_dot(drawn.x(100), drawn.y(100 * series.certain)))
        entries.append((_dot(10, -3.5), "proved"))
    if series.limit is not None:
        parts.append(_limit(drawn, 100 * series.limit))
    parts.append(_legend(entries, drawn.bottom + 46))
    return _picture("certainty", "Confidence of the adversary", series.summary, parts)


def divergence(series: Divergence) -> Markup:
    """Draw how far from the truth the adversary's picture of each record is."""
    shares = [100 * share for share in series.shares]
    width = series.edges[-1] - series.edges[-2]
    end = series.edges[-1] + (2 * width if series.infinite > 0 else 0.0)
    limits = () if series.limit is None else (series.limit,)
    top = 1.12 * max(*shares, 100 * series.infinite) or 1.0
    across = Axis(
        min((series.edges[0], *limits)),
        max((end, *limits)),
        tuple((at, f"{at:g}") for at in _round_ticks(series.edges[-1])),
        "distance from the truth, in nats (0: all is disclosed)",
    )
    heights = tuple((at, f"{at:g} %") for at in _round_ticks(top))
    drawn = Field(across, Axis(0, top, heights, "share of people"), LEFT, 190)
    parts = [_axes(drawn, is_gridded=(False, True))]
    for low, high, share in zip(series.edges, series.edges[1:], shares, strict=False):
        parts.append(_box(drawn, (low, high), (0, share), BLUE, PAPER))
    if series.infinite > 0:
        ends = series.edges[-1] + width, series.edges[-1] + 2 * width
        parts.append(_box(drawn, ends, (0, 100 * series.infinite), "url(#divergence-hatch)", BLUE))
        at = drawn.x(sum(ends) / 2), drawn.y(100 * series.infinite) - 3
        parts.append(_text(*at, "infinite", anchor="middle", size=SMALL))
    if series.limit is not None:
        parts.append(_limit(drawn, series.limit))
    title = "Distance from the truth per record"
    return _picture("divergence", title, series.summary, parts, hatched=BLUE)


def levels(series: Sequence[Level], summary: str) -> Markup:
    """Draw what each kind of published information adds; a range is dashed, what could not be told is said."""
    names = [_fitted(level.name) for level in series]
    rows = tuple((-float(at), name) for at, name in enumerate(names))
    left = max(LEFT, SIGN * max(map(len, names)) + 8)
    drawn = Field(Axis(0, PAST_HUNDRED, QUARTERS), Axis(0.4 - len(series), 0.6, rows), left, 190)
    parts = [_axes(drawn, is_gridded=(True, False))]
    for at, level in enumerate(series):
        parts += _range(drawn, 0.19 - at, level.guess_accuracy, BLUE, BLUE)
        parts += _range(drawn, -0.19 - at, level.disclosure, "url(#levels-hatch)", ORANGE)
    entries = [
        (_swatch(BLUE, BLUE), "inferred correctly"),
        (_swatch("url(#levels-hatch)", ORANGE), "highest confidence in a true value"),
    ]
    parts.append(_legend(entries, drawn.bottom + 32))
    title = "What each kind of published information adds"
    return _picture("levels", title, summary, parts, hatched=ORANGE)


def _range(field: Field, place: float, reading: Value, fill: str, edge: str) -> list[str]:
    """Return a bar up to the low end of a reading, what is open beyond it, and both ends in words."""
    ends: tuple[Number | None, Number | None] = reading.low, reading.high
    low, high = (None if end is None or isinstance(end, str) else 100 * end for end in ends)
    y = field.y(place)
    if low is None or high is None:
        return [_text(field.x(1), y + 3, "not decided", size=SMALL)]
    band = place - 0.17, place + 0.17
    parts = [_box(field, (0, low), band, fill, edge)]
    if high > low:
        parts.append(_box(field, (low, high), band, PAPER, edge, RANGE_DASHES))
    words = " to ".join(dict.fromkeys(f"{end:.0f}" for end in (low, high)))
    return [*parts, _text(field.x(high + 1.5), y + 3, f"{words} %", size=SMALL)]


def _axes(field: Field, is_gridded: tuple[bool, bool]) -> str:
    """Return both axes with their ticks, words, and the lines across the field where these are wanted."""
    right, bottom = RIGHT, field.bottom
    lines, words = [], []
    for value, said in field.across.ticks:
        if not field.across.low <= value <= field.across.high:
            continue
        x = field.x(value)
        if is_gridded[0]:
            lines.append(_line((x, bottom), (x, TOP), GRID, 0.8))
        lines.append(_line((x, bottom), (x, bottom + 3.5), INK, 0.8))
        words.append(_text(x, bottom + 15, said, anchor="middle"))
    for value, said in field.up.ticks:
        if not field.up.low <= value <= field.up.high:
            continue
        y = field.y(value)
        if is_gridded[1]:
            lines.append(_line((field.left, y), (right, y), GRID, 0.8))
        words.append(_text(field.left - 7, y + 4, said, anchor="end"))
    lines.append(_line((field.left, TOP), (field.left, bottom), FAINT, 0.8))
    lines.append(_line((field.left, bottom), (right, bottom), FAINT, 0.8))
    if field.across.name:
        words.append(
            _text((field.left + right) / 2, bottom + 30, field.across.name, anchor="middle")
        )
    if field.up.name:
        x, y = 12.0, (TOP + bottom) / 2
        words.append(_text(x, y, field.up.name, anchor="middle", turned=True))
    return "".join([*lines, *words])


def _steps(field: Field, places: Sequence[float], heights: Sequence[float], stroke: Stroke) -> str:
    """Return a falling curve of steps: at each place the height that begins after the one before."""
    path = [f"M{field.x(places[0]):.2f} {field.y(heights[0]):.2f}"]
    for place, height in zip(places[1:], heights[1:], strict=True):
        path.append(f"V{field.y(height):.2f}H{field.x(place):.2f}")
    return _path("".join(path), stroke)


def _limit(field: Field, at: float) -> str:
    """Return the line of a policy's limit, with its word beside it."""
    x = field.x(at)
    dashed = _line((x, field.bottom), (x, TOP), INK, 1.2, LIMIT_DASHES)
    beside = x - 3 if x - field.left > 3 * SMALL else x + SMALL
    return dashed + _text(beside, TOP + 2, "limit", anchor="end", size=SMALL, turned=True)


def _legend(entries: Sequence[tuple[str, str]], top: float) -> str:
    """Return samples with their names, two in a line."""
    widths = [24 + SIGN * len(name) for _, name in entries]
    parts = []
    for first in range(0, len(entries), 2):
        room = widths[first : first + 2]
        x = max(4.0, (WIDTH - sum(room)) / 2)
        for (sample, name), width in zip(entries[first : first + 2], room, strict=True):
            y = top + 7.5 * first
            parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{sample}</g>')
            parts.append(_text(x + 26, y, name, size=9.5))
            x += width + 8
    return "".join(parts)


def _sample(stroke: Stroke) -> str:
    return _path("M0 -3.5H20", stroke)


def _swatch(fill: str, edge: str) -> str:
    style = f"fill: {fill}; stroke: {edge}; stroke-width: 1"
    return f'<rect x="0" y="-7.5" width="20" height="8" style="{style}"/>'


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.2f}" cy="{y:.2f}" r="2.5" style="fill: {INK}"/>'


def _box(
    field: Field,
    across: tuple[float, float],
    up: tuple[float, float],
    fill: str,
    edge: str,
    dashes: str = "",
) -> str:
    left, right = field.x(across[0]), field.x(across[1])
    top, bottom = field.y(up[1]), field.y(up[0])
    size = f'width="{right - left:.2f}" height="{bottom - top:.2f}"'
    style = f"fill: {fill}; stroke: {edge}; stroke-width: 0.9{_dashed(dashes)}"
    return f'<rect x="{left:.2f}" y="{top:.2f}" {size} style="{style}"/>'


def _line(
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    width: float,
    dashes: str = "",
) -> str:
    where = f"M{start[0]:.2f} {start[1]:.2f}L{end[0]:.2f} {end[1]:.2f}"
    return _path(where, Stroke("", colour, width, dashes))


def _path(where: str, stroke: Stroke) -> str:
    style = f"fill: none; stroke: {stroke.colour}; stroke-width: {stroke.width:g}"
    return f'<path d="{where}" style="{style}{_dashed(stroke.dashes)}"/>'


def _dashed(dashes: str) -> str:
    return f"; stroke-dasharray: {dashes}" if dashes else ""


def _text(
    x: float,
    y: float,
    words: str,
    anchor: str = "start",
    size: float = SIZE,
    *,
    turned: bool = False,
) -> str:
    style = f"font: {size:g}px sans-serif; text-anchor: {anchor}; fill: {INK}"
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" style="{style}"{turn}>{escape(words)}</text>'


def _fitted(name: str) -> str:
    """Return a name with its control characters escaped, and no longer than fits."""
    said = printable(name)
    return said if len(said) <= MOST_SIGNS else f"{said[: MOST_SIGNS - 1]}…"


def _round_ticks(high: float) -> list[float]:
    """Return about five round numbers from 0 to at most ``high``."""
    rough = high / (FEW_TICKS - 1)
    size = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(size * part for part in (1, 2, 2.5, 5, 10) if size * part >= rough)
    return [step * number for number in range(math.floor(high / step + 1e-9) + 1)]


def _picture(
    name: str, title: str, summary: str, parts: Sequence[str], hatched: str = ""
) -> Markup:
    """Return an element of a page: its title and summary are what a reader of the screen says."""
    said = escape(printable(summary))
    hatch = ""
    if hatched:
        lines = f'<path d="M-1 6L6 -1M4 11L11 4" style="stroke: {hatched}; stroke-width: 0.8"/>'
        ground = f'<rect width="5" height="5" style="fill: {PAPER}"/>'
        size = 'width="5" height="5" patternUnits="userSpaceOnUse"'
        hatch = f'<defs><pattern id="{name}-hatch" {size}>{ground}{lines}</pattern></defs>'
    return Markup(
        f'<svg role="img" aria-labelledby="{name}-title {name}-summary" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-summary">{said}</desc>{hatch}{"".join(parts)}</svg>'
    )

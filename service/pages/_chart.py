"""The history of a model as a chart: where each bar and point stands, in pixels; the template draws it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.service.use_cases.model_history import Past

LEFT = 112
"""The words beside the rows stand here; sizes are pixels, as a chart that is made smaller could not be read."""
STEP = 64
HIGHEST = 96
TOP = 22
VERDICTS = TOP + HIGHEST + 12
POINTS = VERDICTS + 72
LOWEST = 56


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a bar: findings of one verdict."""

    tone: str
    y: float
    height: float


@dataclass(frozen=True, slots=True)
class ChartColumn:
    """A version on the chart; ``total`` stands above its bar, ``size`` above its point. None where there is none."""

    x: float
    n: int
    verdict: str
    bars: tuple[Bar, ...]
    total: int | None
    top: float
    size: int | None
    y: float


@dataclass(frozen=True, slots=True)
class Chart:
    """All versions, and the lines between the points of those that follow each other."""

    width: int
    columns: tuple[ChartColumn, ...]
    lines: tuple[tuple[ChartColumn, ChartColumn], ...]
    has_points: bool


def charted(history: Sequence[Past]) -> Chart:
    """Return where each version stands: findings as bars of one scale, smallest leaves on a scale of logarithms."""
    most = max((_total(past) or 0 for past in history), default=0)
    largest = max((past.smallest_leaf or 0 for past in history), default=0)
    columns = tuple(_column(number, past, most, largest) for number, past in enumerate(history))
    lines = tuple(
        (before, after)
        for before, after in zip(columns, columns[1:], strict=False)
        if before.size is not None and after.size is not None
    )
    return Chart(
        width=LEFT + STEP * len(history) + 8,
        columns=columns,
        lines=lines,
        has_points=any(column.size is not None for column in columns),
    )


def _total(past: Past) -> int | None:
    return None if past.audited is None else past.audited.failed + past.audited.undecided


def _column(number: int, past: Past, most: int, largest: int) -> ChartColumn:
    bars = tuple(_bars(past, most))
    share = math.log1p(past.smallest_leaf or 0) / (math.log1p(largest) or 1.0)
    return ChartColumn(
        x=LEFT + STEP * (number + 0.5),
        n=past.n,
        verdict=past.audited.verdict if past.audited else "",
        bars=bars,
        total=_total(past),
        top=min((bar.y for bar in bars), default=TOP + HIGHEST),
        size=past.smallest_leaf,
        y=round(POINTS + LOWEST * (1 - share), 1),
    )


def _bars(past: Past, most: int) -> Iterator[Bar]:
    """Yield what a bar is made of, failures below."""
    if past.audited is None:
        return
    y = float(TOP + HIGHEST)
    for tone, count in (("fail", past.audited.failed), ("undetermined", past.audited.undecided)):
        if count:
            height = max(2.0, round(HIGHEST * count / most, 1))
            y -= height
            yield Bar(tone, round(y, 1), height)

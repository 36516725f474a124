"""Plots of some reports as inline SVG by Matplotlib: deterministic, without links, readable without colour."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from treewarden.reports.document.document import Repair
from treewarden.reports.document.inferred_parts import Ensemble
from treewarden.reports.document.methods import Column, Series
from treewarden.reports.document.parts import Number
from treewarden.reports.document.words import Word, printable
from treewarden.reports.figures.curve import AS_GIVEN, CurvePoint, curve_of

INK = "#1f2933"
FAINT = "#9aa5b1"
BLUE = "#0b5c94"
ORANGE = "#c2410c"
PAPER = "#fefefe"
GRID = "#e4e7eb"
COLOURS = {INK: "ink", FAINT: "faint", BLUE: "blue", ORANGE: "orange", PAPER: "paper", GRID: "grid"}
"""Each is a variable of the page's style, so that pictures follow a dark page."""
MOST_NUMBERS = 6
PLOT_POINTS = (310.0, 158.0)
"""About how wide and high the field between the axes is, in points."""
SIGN_POINTS = 5.4
LINE_POINTS = 11.0
LABEL_MARGIN = 30.0
LABEL_LEVELS = 6
"""How large a sign and a line of the labels of marks are, how far these may stand out at the right (at the left are
those of the axis), and how many lines up."""
VERDICT_MARKS: dict[Word, tuple[str, str]] = {
    "PASS": (BLUE, "o"),
    "UNDETERMINED": (FAINT, "D"),
    "FAIL": (ORANGE, "X"),
}
VERDICT_WORDS: dict[Word, str] = {
    "PASS": "passes",
    "UNDETERMINED": "not decided",
    "FAIL": "fails",
}
SIZE_INCHES = (5.4, 3.3)
STYLE = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "treewarden",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "hatch.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
}


@dataclass(frozen=True, slots=True)
class _MarkArea:
    """What a mark or its label covers, in points from the origin of the axes."""

    left: float
    low: float
    right: float
    high: float

    def meets(self, area: _MarkArea) -> bool:
        """Whether the two cover a point together."""
        across = self.left < area.right and area.left < self.right
        return across and self.low < area.high and area.low < self.high


def over_trees(ensemble: Ensemble, people: Number) -> Markup | None:
    """Draw of how many people the first trees tell so much; None where fewer than two numbers of trees are known."""
    series = ensemble.over_trees
    if len(series) < 2 or isinstance(people, str) or not people:
        return None
    lines: tuple[tuple[str, list[Number | None], str, object], ...] = (
        ("proved by all leaves", [each.certain for each in series], ORANGE, "-"),
        ("proved by one leaf", [each.by_leaf for each in series], ORANGE, (0, (1, 2))),
        ("inferred correctly", [each.guessed for each in series], BLUE, "-"),
        ("predicted correctly by the model", [each.predicted for each in series], INK, (0, (5, 2))),
    )
    with new_figure() as figure:
        axes = figure.add_subplot()
        for name, found, colour, dashes in lines:
            known = [
                (each.trees, 100 * float(value) / float(people))
                for each, value in zip(series, found, strict=True)
                if value is not None
            ]
            if known:
                x, y = zip(*known, strict=True)
                axes.plot(x, y, color=colour, ls=dashes, marker="o", ms=3.5, lw=1.8, label=name)
        axes.set_xscale("log")
        trees = [each.trees for each in series]
        axes.set_xticks(trees, [str(tree) for tree in trees])
        axes.minorticks_off()
        axes.set(ylim=(0, 104))
        axes.set_xlabel("trees")
        axes.set_ylabel("share of people")
        axes.yaxis.set_major_formatter(PercentFormatter(decimals=0, symbol=" %"))
        axes.grid(visible=True)
        figure.legend(loc="outside lower center", ncols=2)
        return svg(
            figure, "over-trees", "What the first trees and all trees disclose", ensemble.summary
        )


def tradeoff(repair: Repair) -> Markup | None:
    """Draw privacy against utility of all attempts, numbered as in their table; None where there is nothing to draw."""
    curve = curve_of(repair)
    if not any(point.number for point in curve.points):
        return None
    with new_figure() as figure:
        axes = figure.add_subplot()
        line = curve.line
        if len(line) > 1:
            at = [point.utility for point in line], [point.privacy for point in line]
            axes.plot(*at, color=BLUE, lw=1.2, zorder=2)
        places: dict[tuple[float, float], list[str]] = {}
        for point in curve.points:
            _mark(axes, point)
            at_place = (round(point.utility, 1), round(point.privacy, 1))
            names = places.setdefault(
                at_place if curve.is_percent else (point.utility, point.privacy), []
            )
            names.append(str(point.number) if point.number else AS_GIVEN)
        axes.axhline(100, color=INK, lw=1.2, ls=":")
        way = "" if curve.is_percent else " (less is better)"
        axes.set_xlabel(f"utility: {_ascii(curve.label)}{way}")
        axes.set_ylabel("privacy score")
        axes.xaxis.set_major_locator(MaxNLocator(5))
        if curve.is_percent:
            axes.xaxis.set_major_formatter(lambda place, _: f"{place:.4g} %")
        else:
            axes.xaxis.set_major_formatter(lambda place, _: f"{-place:.3g}")
        axes.yaxis.set_major_formatter(PercentFormatter(decimals=0, symbol=" %"))
        axes.set_ylim(0, max(115.0, *(1.1 * y for _, y in places)))
        axes.margins(x=0.12)
        axes.grid(visible=True)
        _numbers(axes, places)
        changes = [point for point in curve.points if point.number]
        for verdict, words in VERDICT_WORDS.items():
            if any(point.verdict == verdict for point in changes):
                colour, marker = VERDICT_MARKS[verdict]
                axes.plot([], [], marker, ms=8, color=colour, label=words)
        if not all(point.is_unbeaten for point in changes):
            axes.plot([], [], "o", ms=8, mfc="none", mec=FAINT, label="dominated")
        if any(point.is_chosen for point in curve.points):
            axes.plot([], [], "o", ms=13, mfc="none", mec=INK, label="chosen")
        figure.legend(loc="outside lower center", ncols=5, handletextpad=0.1, columnspacing=1)
        return svg(figure, "tradeoff", "Privacy against utility", repair.summary)


def _mark(axes: Axes, point: CurvePoint) -> None:
    at = point.utility, point.privacy
    if not point.number:
        axes.plot(*at, "s", ms=7, color=INK, clip_on=False)
        return
    colour, marker = VERDICT_MARKS[point.verdict]
    face, layer = (colour, 4) if point.is_unbeaten else (PAPER, 3)
    axes.plot(*at, marker, ms=8, mfc=face, mec=colour, mew=1.6, clip_on=False, zorder=layer)
    if point.is_chosen:
        axes.plot(*at, "o", ms=16, mfc="none", mec=INK, mew=1.2, clip_on=False)


def _numbers(axes: Axes, places: dict[tuple[float, float], list[str]]) -> None:
    """Write the numbers of the attempts beside their marks, those of one place together, and none over another."""
    x, y = axes.get_xlim(), axes.get_ylim()
    marks = [
        (PLOT_POINTS[0] * (at[0] - x[0]) / (x[1] - x[0]), PLOT_POINTS[1] * at[1] / (y[1] - y[0]))
        for at in places
    ]
    mark_areas = [_MarkArea(left - 5, low - 5, left + 5, low + 5) for left, low in marks]
    for (at, numbers), mark in zip(places.items(), marks, strict=True):
        said = ", ".join(
            [*numbers[:MOST_NUMBERS], *(["..."] if len(numbers) > MOST_NUMBERS else [])]
        )
        beside, box = _beside(mark, SIGN_POINTS * len(said), mark_areas)
        mark_areas.append(box)
        side = "right" if beside[0] < 0 else "left"
        axes.annotate(said, at, xytext=beside, textcoords="offset points", ha=side, fontsize=9)


def _beside(
    mark: tuple[float, float], width: float, taken: Sequence[_MarkArea]
) -> tuple[tuple[float, float], _MarkArea]:
    """Return how far from its mark a label of a width goes, and what it covers: the nearest place that is free."""
    found = []
    for level in range(LABEL_LEVELS):
        for aside in (-8.0, 8.0):
            left = mark[0] + aside - (width if aside < 0 else 0.0)
            low = mark[1] + 6 + level * LINE_POINTS
            box = _MarkArea(left, low, left + width, low + LINE_POINTS)
            found.append(((aside, 6 + level * LINE_POINTS), box))
            is_inside = box.left >= 0 and box.right <= PLOT_POINTS[0] + LABEL_MARGIN
            if is_inside and not any(box.meets(mark_area) for mark_area in taken):
                return found[-1]
    return found[0]


def _ascii(words: str) -> str:
    return printable(words.encode("ascii", "backslashreplace").decode())


@contextmanager
def new_figure() -> Iterator[Figure]:
    """Give an empty figure in the style of reports, whatever the settings of the machine."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(STYLE)
        figure = Figure(figsize=SIZE_INCHES, layout="constrained")
        FigureCanvasSVG(figure)
        yield figure


def svg(figure: Figure, name: str, title: str, summary: str) -> Markup:
    """Return the figure as an element of a page: no prologue, no style that leaks, names that no other plot has."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", metadata=nothing)
    drawn = file.getvalue()
    drawn = drawn[drawn.index("<svg") :]
    drawn = re.sub(r"<style.*?</style>|<metadata>.*?</metadata>", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r' xmlns(:\w+)?="[^"]*"| version="[^"]*"', "", drawn)
    drawn = re.sub(r' (width|height)="[\d.]+pt"', "", drawn, count=2)
    for colour, name_of in COLOURS.items():
        drawn = drawn.replace(colour, f"var(--{name_of})")
    drawn = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{name}-", drawn)
    said = escape(printable(summary))
    named = (
        f'<svg role="img" aria-labelledby="{name}-title {name}-summary"',
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-summary">{said}</desc>',
    )
    opening, rest = drawn.split(">", 1)
    return Markup(f"{named[0]}{opening.removeprefix('<svg')}>{named[1]}{rest.strip()}")


def histogram(column: Column, number: int) -> Markup:
    """Draw how a column's values are distributed: noisy, reconstructed, and true where that is given."""
    distribution = column.distribution
    if distribution is None:
        raise ValueError("there is no distribution to draw")
    with new_figure() as made:
        axes = made.add_subplot()
        _outline(axes, distribution.noisy, FAINT, "noisy", fill=True)
        if distribution.true is not None:
            _outline(axes, distribution.true, ORANGE, "true", width=2.6)
        _outline(axes, distribution.reconstructed, BLUE, "reconstructed", width=1.8)
        axes.set_xlabel("value")
        axes.set_ylabel("density")
        axes.set_yticks([])
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_locator(MaxNLocator(6))
        axes.grid(visible=True, axis="x")
        made.legend(loc="outside lower center", ncols=3)
        title = "How the values are distributed"
        return svg(made, f"distribution-{number}", title, distribution.summary)


def _outline(
    axes: Axes, series: Series, colour: str, name: str, width: float = 1.0, *, fill: bool = False
) -> None:
    """Draw a distribution as a density, so that intervals of other widths can be compared."""
    edges = series.edges
    heights = [
        share / (high - low)
        for low, high, share in zip(edges, edges[1:], series.shares, strict=False)
    ]
    axes.stairs(
        heights, edges, color=colour, lw=width, fill=fill, alpha=0.45 if fill else 1, label=name
    )

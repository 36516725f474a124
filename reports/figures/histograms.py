"""A hidden column of a table of noisy records as a picture: how its values are distributed."""

from __future__ import annotations

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from treewarden.reports.document.methods import Column, Series
from treewarden.reports.figures.plots import BLUE, FAINT, ORANGE, new_figure, svg


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

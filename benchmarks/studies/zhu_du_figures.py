"""The figures of the study of Zhu & Du 2010: small, the same bytes every time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#8172b3")


def bars(
    path: Path, groups: Sequence[str], series: Mapping[str, Sequence[float]], label: str
) -> None:
    """Draw one group of bars per tree, one colour per series."""
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        places = np.arange(len(groups)) + (number - (len(series) - 1) / 2) * width
        axes.bar(places, values, width, label=name, color=COLOURS[number])
    axes.set_xticks(range(len(groups)), groups, fontsize=7)
    axes.set_ylabel(label)
    axes.legend(fontsize=7, frameon=False, loc="upper right")
    write(figure, path)


def curves(path: Path, series: Mapping[str, tuple[np.ndarray, np.ndarray]], label: str) -> None:
    """Draw one line per series over a logarithmic axis of K."""
    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.add_subplot()
    for number, (name, (x, y)) in enumerate(series.items()):
        axes.plot(x, y, label=name, color=COLOURS[number % 4], ls=("-", "--")[number // 4 % 2])
    axes.set_xscale("log")
    axes.set_xlabel("K")
    axes.set_ylabel(label)
    axes.legend(fontsize=7, frameon=False)
    write(figure, path)


def write(figure: Figure, path: Path) -> None:
    """Write a figure without what differs from run to run."""
    for side in ("top", "right"):
        figure.axes[0].spines[side].set_visible(False)
    # Fixed ids and no date: the same figures, the same file.
    with mpl.rc_context({"svg.hashsalt": "treewarden", "svg.fonttype": "none"}):
        figure.savefig(path, format="svg", metadata={"Date": None})

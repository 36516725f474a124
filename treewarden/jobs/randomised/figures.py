"""What is left of privacy in each column, as lines for a terminal."""

from __future__ import annotations

from treewarden.audit.randomised.result import HiddenColumn, Randomisation
from treewarden.reports.document.words import percent, wrapped

HEADINGS = ("column", "level", "2^h(X|W)", "mean width", "worst 1 %", "attacked")
LEGEND = (
    "shares of each domain's width: what the noise alone hides (level), how wide a uniform distribution would be as "
    "uncertain (2^h(X|W)), the 95 % interval that is left on average and for the worst 1 % of the records, and what "
    "is left after the best attack by all hidden columns"
)


def figure_lines(found: Randomisation) -> list[str]:
    """Return a table of all hidden columns in lines, and what its figures mean."""
    rows = [HEADINGS, *(_row(column) for column in found.columns)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    return [*lines, *wrapped(LEGEND)]


def _row(column: HiddenColumn) -> tuple[str, ...]:
    left = column.left
    attacked = min((each.width for each in column.recovered), default=None)
    shown = (left.equivalent_width, left.mean_width, left.worst_width)
    level = f"{100 * column.said.level:g} %"
    return (
        column.said.name,
        level,
        *map(percent, shown),
        "-" if attacked is None else percent(attacked),
    )

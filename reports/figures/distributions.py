"""A hidden column of a table of noisy records in lines, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.reports.document.randomised import Column
from treewarden.reports.document.words import count


def column_lines(column: Column) -> Iterator[str]:
    """Yield what a report says of a column in words."""
    yield (
        f"{column.name}: {column.hidden_by}, a level of {100 * float(column.level):g} %; domain "
        f"{float(column.low):g} to {float(column.high):g}, {column.domain}"
    )
    if column.left is not None:
        left = column.left
        yield (
            f"{column.name}: left of the domain {left.mean_width.text} on average, {left.worst_width.text} to the 1 % "
            f"hidden least; 2^h(X|W) {left.equivalent_width.text}, given away {left.loss.text}"
        )
    for each in column.recovered:
        yield f"{column.name}: the {each.attack} leaves {each.width.text}"
    if column.missing:
        yield f"{column.name}: {count(column.missing)} records have no value"
    if column.distribution is not None:
        yield f"{column.name}: {column.distribution.summary}"


# A hidden column of a table of noisy records as a picture: how its values are distributed.

"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; the first column is text, the others stand right."""
    lines = [
        f"| {' | '.join(head)} |",
        f"|---|{'---:|' * (len(head) - 1)}",
        *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows),
    ]
    return "\n".join(lines)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many decimals; a dash where there is none."""
    return "–" if value is None or value != value else f"{value:,.{digits}f}"

"""Which column of a class table is which label, by the label that stands where that column is largest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Numbers = Sequence[float]


def named_classes(width: int, seen: Iterable[tuple[Numbers, str]]) -> tuple[str, ...] | None:
    """Return the labels in the order of the columns; None where two nodes contradict each other.

    A class that no node predicts has no label in the file, and is called ``(class 3)`` after its column.
    """
    found: dict[int, str] = {}
    for numbers, label in seen:
        top = max(numbers)
        best = [place for place, number in enumerate(numbers) if number == top]
        if len(best) == 1 and found.setdefault(best[0], label) != label:
            return None
    if len(set(found.values())) < len(found):
        return None
    names = tuple(found.get(place, f"(class {place + 1})") for place in range(width))
    return names if len(set(names)) == width else None

"""Readings that could not be taken, many for one reason: told together, so that those that were are seen."""

from __future__ import annotations

from collections.abc import Mapping

from treewarden.reports.document.parts import Reading

FEWEST = 3
"""So many readings that one reason kept from being taken are told in one line."""


def untold_together(readings: Mapping[str, Reading]) -> dict[str, tuple[str, ...]]:
    """Return the names of readings that could not be taken, by the reason that they share."""
    found: dict[str, list[str]] = {}
    for name, reading in readings.items():
        if reading.reason:
            found.setdefault(reading.reason, []).append(name)
    return {reason: tuple(names) for reason, names in found.items() if len(names) >= FEWEST}


def told_apart(readings: Mapping[str, Reading]) -> dict[str, Reading]:
    """Return the other readings, in their order."""
    together = untold_together(readings)
    return {name: each for name, each in readings.items() if each.reason not in together}

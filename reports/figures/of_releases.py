"""Findings as people read them of several releases or adversaries: one a clause, and of whom else it is the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from treewarden.audit.of_releases import ALONE, WITH_OTHERS, WITH_TABLE, is_adversary
from treewarden.reports.document.parts import Accepted, Finding
from treewarden.reports.document.words import listed

LIKEWISE = {
    WITH_OTHERS: "The same of other releases, with all that all releases tell",
    WITH_TABLE: "The same of releases of one table, with all that these tell",
    ALONE: "The same by itself",
}


@dataclass(frozen=True, slots=True)
class Told:
    """A finding, and in words where else its clause came to the same verdict for the same reason.

    ``likewise`` says shortly what these are; "" where there are none.
    """

    finding: Finding
    others: tuple[str, ...] = ()
    likewise: str = ""


def told_once(findings: Iterable[Finding]) -> tuple[Told, ...]:
    """Return findings in their order, those of others (releases, adversaries) that come to the same with the first."""
    groups: dict[tuple[str, str, str, str, Accepted | None], list[Finding]] = {}
    for each in findings:
        key = (each.clause, each.verdict, each.value.reason, each.under, each.accepted)
        groups.setdefault(key, []).append(each)
    return tuple(
        Told(first, tuple(_others(others)), _likewise(others)) for first, *others in groups.values()
    )


def _likewise(others: list[Finding]) -> str:
    found = {"adversaries" if is_adversary(each.of) else "releases" for each in others}
    kinds = sorted(found, reverse=True)
    return f"So it is of other {' and '.join(kinds)}." if kinds else ""


def _others(others: list[Finding]) -> list[str]:
    lines = []
    for template, said in LIKEWISE.items():
        suffix = template.removeprefix("{}")
        values: dict[str, list[str]] = {}
        for each in others:
            if each.of.endswith(suffix):
                values.setdefault(each.value.text, []).append(each.of.removesuffix(suffix))
        if values:
            lines.append(f"{said}: {'; '.join(map(_together, values.items()))}.")
    alike = [f"{each.of} ({each.value.text})" for each in others if is_adversary(each.of)]
    if alike:
        lines.append(f"The same of {listed(alike)}.")
    return lines


def _together(found: tuple[str, list[str]]) -> str:
    value, names = found
    return f"{listed(names)} ({value})"

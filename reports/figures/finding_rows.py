"""Rows that several forms of a report show alike: findings of several releases or adversaries, and meanings of columns.

A finding has one row for each check, and for whom else it is the same. Of the columns the sensitive one comes first,
each with its name, its label and its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treewarden.audit.reading import ALONE, WITH_OTHERS, WITH_TABLE, is_adversary
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import (
    Accepted,
    Adversary,
    ColumnMeaning,
    Finding,
    Lack,
    Reading,
)
from treewarden.reports.document.words import Word, listed, printable, wrapped
from treewarden.reports.figures.remaining import Cell, Paragraph, ReportSection, ReportTable

LIKEWISE = {
    WITH_OTHERS: "The same check for other releases, with all releases combined",
    WITH_TABLE: "The same check for releases of one table, with these combined",
    ALONE: "The same by itself",
}


@dataclass(frozen=True, slots=True)
class ToldFinding:
    """A finding, and in words where else its clause came to the same verdict for the same reason.

    ``likewise`` says shortly what these are; "" where there are none.
    """

    finding: Finding
    others: tuple[str, ...] = ()
    likewise: str = ""


def told_once(findings: Iterable[Finding]) -> tuple[ToldFinding, ...]:
    """Return findings in their order, those of others (releases, adversaries) that come to the same with the first."""
    groups: dict[tuple[str, str, str, str, Accepted | None], list[Finding]] = {}
    for finding in findings:
        key = (
            finding.clause,
            finding.verdict,
            finding.value.reason,
            finding.under,
            finding.accepted,
        )
        groups.setdefault(key, []).append(finding)
    return tuple(
        ToldFinding(first, tuple(_others(others)), _likewise(others))
        for first, *others in groups.values()
    )


def _likewise(others: list[Finding]) -> str:
    found = {"adversaries" if is_adversary(finding.of) else "releases" for finding in others}
    kinds = sorted(found, reverse=True)
    return f"So it is of other {' and '.join(kinds)}." if kinds else ""


def _others(others: list[Finding]) -> list[str]:
    lines = []
    for template, said in LIKEWISE.items():
        suffix = template.removeprefix("{}")
        values: dict[str, list[str]] = {}
        for finding in others:
            if finding.of.endswith(suffix):
                values.setdefault(finding.value.text, []).append(finding.of.removesuffix(suffix))
        if values:
            lines.append(f"{said}: {'; '.join(map(_together, values.items()))}.")
    alike = [f"{each.of} ({each.value.text})" for each in others if is_adversary(each.of)]
    if alike:
        lines.append(f"The same of {listed(alike)}.")
    return lines


def _together(found: tuple[str, list[str]]) -> str:
    value, names = found
    return f"{listed(names)} ({value})"


# The adversaries of an audit as rows of a table: what each knows, and what each can tell.

COLUMNS: Mapping[str, str] = {
    "certain_disclosure": "People proved",
    "confidence": "Highest confidence",
    "disclosure": "Highest confidence in a true value",
    "guess_accuracy": "Correct inferences",
}
"""What is told of each, by measure."""
MOST_COLUMNS = 6
UNTOLD = "not available"
INDENT = " " * 16


@dataclass(frozen=True, slots=True)
class AdversaryRow:
    """One adversary: the name, what they know in words, what each of ``COLUMNS`` reads, and the verdict."""

    name: str
    knows: str
    cells: tuple[str, ...]
    verdict: Word


def adversary_rows(adversaries: Sequence[Adversary]) -> list[AdversaryRow]:
    """Return a row each, in their order."""
    return [_row(adversary) for adversary in adversaries]


def _row(each: Adversary) -> AdversaryRow:
    knows = list(each.knows[:MOST_COLUMNS])
    if len(each.knows) > MOST_COLUMNS:
        knows.append(f"and {len(each.knows) - MOST_COLUMNS} more")
    if each.target_known:
        knows.append("and what the tree predicts")
    readings = (each.readings.get(measure) for measure in COLUMNS)
    cells = (UNTOLD if reading is None or reading.reason else reading.text for reading in readings)
    return AdversaryRow(each.name, ", ".join(knows) or "nothing", tuple(cells), each.verdict)


@dataclass(frozen=True, slots=True)
class LackRow:
    """An adversary without one column: what is certain and likely then, and why where it is not told."""

    column: str
    cells: tuple[str, ...]
    reasons: tuple[str, ...]


def lack_rows(lacking: Sequence[Lack]) -> list[LackRow]:
    """Return a row for each column that one adversary could lack, in their order."""
    return [_lack_row(lack) for lack in lacking]


def _lack_row(lack: Lack) -> LackRow:
    found = (lack.certain, lack.confidence, lack.guess_accuracy)
    cells = tuple(UNTOLD if value.reason else value.text for value in found)
    reasons = dict.fromkeys(f"{value.reason.rstrip('.')}." for value in found if value.reason)
    return LackRow(lack.column, cells, tuple(reasons))


def adversary_notes(document: Document) -> Iterator[str]:
    """Yield what has to be known of the table: what a pass of one of them says, and why something is not told."""
    if any(adversary.verdict == "PASS" for adversary in document.adversaries):
        accepted = any(finding.accepted is not None for finding in document.findings)
        but = ", but for what is accepted" if accepted else ""
        yield (
            f"A PASS means that this adversary stays below the policy’s limits{but}. An adversary "
            "who knows more may not. "
            "The audit does not search for columns that only several known columns together disclose."
        )
    for each in document.adversaries:
        why = dict.fromkeys(
            reading.reason
            for measure in COLUMNS
            if (reading := each.readings.get(measure)) is not None and reading.reason
        )
        for reason in why:
            yield f"Not told of “{each.name}”: {reason.rstrip('.')}."


def adversary_lines(document: Document) -> Iterator[str]:
    """Yield the same as lines of text: the verdict and who, and below what they know and what they can tell."""
    if not document.adversaries:
        return
    yield ""
    yield "Adversaries with partial knowledge"
    for row in adversary_rows(document.adversaries):
        yield from wrapped(f"{row.verdict:12}  {printable(row.name)}", "  ")
        yield from wrapped(f"knows {row.knows}", INDENT)
        pairs = zip(COLUMNS.values(), row.cells, strict=True)
        yield from wrapped("; ".join(f"{name.lower()}: {cell}" for name, cell in pairs), INDENT)
    for each in adversary_notes(document):
        yield from wrapped(f"- {each}", "  ")


# Readings that could not be taken, grouped by reason, so that the others can be seen.

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
    return {name: reading for name, reading in readings.items() if reading.reason not in together}


TITLE = "Meaning of the columns"
ORIGIN = (
    "Labels come from the table's file or from a data dictionary. They explain the names in this report; nothing was "
    "judged by them."
)
NO_LABEL = "–"


def values_text(meaning: ColumnMeaning) -> str:
    """Return what the values of a column are called: ``1 = yes; 2 = no``."""
    labels = [f"{row.name} = {row.text}" for row in meaning.values]
    if meaning.values_left_out:
        labels.append(f"and {meaning.values_left_out:,} more")
    return "; ".join(labels) or NO_LABEL


def meaning_lines(document: Document) -> Iterator[str]:
    """Yield a line for each column that has a label, or whose values have."""
    for meaning in document.columns:
        label = f": {meaning.label}" if meaning.label else ""
        values = f" ({values_text(meaning)})" if meaning.values else ""
        yield f"{meaning.name}{label}{values}"


def meaning_sections(document: Document) -> Iterator[ReportSection]:
    """Yield the section of a filed report; none where nobody says what the columns mean."""
    if not document.columns:
        return
    rows = tuple(
        (
            Cell(meaning.name, aside="sensitive" if meaning.is_sensitive else ""),
            Cell(meaning.label or NO_LABEL),
            Cell(values_text(meaning)),
        )
        for meaning in document.columns
    )
    table = ReportTable("Columns of the table", ("Column", "Meaning", "Values"), rows, (24, 36, 40))
    yield ReportSection("columns", TITLE, (Paragraph(ORIGIN), table))


def with_label(document: Document, name: str) -> str:
    """Return a column as its label and its name, ``influenza this winter (flu)``; its name where it has no label."""
    label = next((each.label for each in document.columns if each.name == name), "")
    return f"{label} ({name})" if label else name

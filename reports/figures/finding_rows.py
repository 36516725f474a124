"""Rows that several forms of a report show alike: findings of several releases or adversaries, and meanings of columns.

A finding has one row for each check, and for whom else it is the same. Of the columns the sensitive one comes first,
each with its name, its label and its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from treewarden.audit.population.audited_columns import LACKS
from treewarden.audit.reading import ALONE, WITH_OTHERS, WITH_TABLE, is_adversary
from treewarden.policies.verdict import FindingKind
from treewarden.reports.document.document import Document
from treewarden.reports.document.inferred_parts import Adversary, Claim, Lack
from treewarden.reports.document.parts import Accepted, ColumnMeaning, Finding, Number, Reading
from treewarden.reports.document.words import (
    Word,
    amount_text,
    count,
    counted,
    listed,
    printable,
    sentence,
    wrapped,
)
from treewarden.reports.figures.remaining import Cell, Paragraph, ReportSection, ReportTable

SURE = 0.9
"""The confidence from which on an inference is told as one."""
SINGULAR = {"have": "has", "are": "is"}
NOT_JUDGED = "not judged"
"""The figure of what needs an input that was not given."""


class LearnedFact(NamedTuple):
    """A figure, and what it counts or measures."""

    figure: str
    words: str


def learned_facts(document: Document) -> tuple[LearnedFact, ...]:
    """Return the facts of an audit's report; none where it is redacted, as each is about the table."""
    return () if document.redacted_below is not None else tuple(_facts(document))


def _facts(document: Document) -> Iterator[LearnedFact]:
    is_file = document.basis == "file"
    if document.model.task == "regression":
        yield from _learned_numbers(document)
    elif not is_file:
        yield _proved(document)
        yield _inferred(document)
        yield from _rebuilt(document)
    smallest = document.readings.get("k_anonymity")
    if smallest is not None and not smallest.reason:
        low, high = _number(smallest.low), _number(smallest.high)
        people = counted(high, "person", "people")
        if low != high:
            people = f"{count(low)} to {people}"
        exposed = _alone_in_leaves(document)
        if people == "1 person" and exposed > 1:  # the smallest leaf is one of several
            yield LearnedFact(
                counted(exposed, "person", "people"),
                "are each alone in a leaf",
            )
        else:
            yield LearnedFact(
                people, f"{'is alone' if people == '1 person' else 'are'} in the smallest leaf"
            )
    if not is_file:
        yield _members(document)


def _proved(document: Document) -> LearnedFact:
    found = document.readings.get("certain_disclosure")
    words = "have a value that the file proves"
    if found is None or found.reason:
        reason = "" if found is None else f": {found.reason.rstrip('.')}"
        return LearnedFact(
            "not decided", f"how many people have a value that the file proves{reason}"
        )
    low, high = _number(found.low), _number(found.high)
    if high <= low:
        return LearnedFact(_of_all(document, low), _verb(low, words))
    more = f" ({count(low)} for certain, {count(high - low)} not decided and treated as proved)"
    return LearnedFact(f"{count(low)} to {_of_all(document, high)}", f"{words}{more}")


def _verb(people: float, words: str) -> str:
    """Return words that begin with a verb of several people, as they are of so many."""
    verb, _, rest = words.partition(" ")
    return f"{SINGULAR[verb] if people == 1 else verb} {rest}"


def _alone_in_leaves(document: Document) -> float:
    """Return how many people a leaf of their own tells the class of; 0 where that is not known exactly."""
    exposed = document.readings.get("exposed_values")
    if document.model.task == "regression" or exposed is None or exposed.low != exposed.high:
        return 0.0
    return _number(exposed.low)


def _members(document: Document) -> LearnedFact:
    """Return what was proved of who was in the table, or that this was not judged."""
    if document.provenance.candidates is None:
        return LearnedFact(
            NOT_JUDGED,
            "whether a person is in the table (membership). To judge this, give a register of candidates",
        )
    found = document.readings.get("membership_proved")
    if found is None or found.reason:
        reason = "" if found is None else f": {found.reason.rstrip('.')}"
        return LearnedFact("not decided", f"who was in the table{reason}")
    low, high = _number(found.low), _number(found.high)
    more = f" ({count(high - low)} more are not decided)" if high > low else ""
    words = _verb(low, "are proved to have been in the table")
    return LearnedFact(_of_all(document, low), f"{words}{more}")


def _inferred(document: Document) -> LearnedFact:
    certainty = document.plots.certainty
    if certainty is None:
        reason = document.plots.certainty_reason.rstrip(".")
        return LearnedFact(
            "not decided", f"how many people have a value that can be inferred: {reason}"
        )
    at = min(range(len(certainty.probability)), key=lambda i: abs(certainty.probability[i] - SURE))
    people = round(certainty.guess[at] * _number(document.population.records), 6)
    return LearnedFact(
        _of_all(document, people),
        _verb(people, "have a value that can be inferred with at least 90 % confidence"),
    )


RECORD = " (a record is the class and the columns that the model tests)"


def _rebuilt(document: Document) -> Iterator[LearnedFact]:
    """Yield whose whole records follow from the file alone, where there are some."""
    rebuilt = document.readings.get("records_rebuilt")
    if rebuilt is not None and not rebuilt.reason and _number(rebuilt.low):
        people = _number(rebuilt.low)
        words = _verb(people, "have a record that follows completely from the file alone")
        domain = document.rebuilt_domain.rstrip(".")
        more = f". {domain}" if domain else ""
        linked = document.readings.get("rebuilt_linkable")
        unique = None if linked is None or linked.reason else linked.high
        if unique is not None and not _number(unique):
            more = f"; none of these records is unique, so none singles out a person{more}"
        yield LearnedFact(_of_all(document, people), f"{words}{RECORD}{more}")


def _learned_numbers(document: Document) -> Iterator[LearnedFact]:
    values = document.values
    if values is None or values.exact is None:
        if values is not None:
            yield LearnedFact(
                "not decided",
                f"how many people have a number that the file proves: {values.summary.rstrip('.')}",
            )
        return
    exact = _number(values.exact)
    yield LearnedFact(
        _of_all(document, exact), _verb(exact, "have a number that the file proves exactly")
    )
    if values.median_width is not None and values.range is not None:
        span = _number(values.range[1]) - _number(values.range[0])
        width = _number(values.median_width)
        yield LearnedFact(
            "half of all people",
            f"have a number that is proved to lie in an interval of {amount_text(width)} "
            f"(all numbers: {amount_text(span)})",
        )


def _of_all(document: Document, people: float) -> str:
    return f"{count(people)} of {counted(_number(document.population.records), 'person', 'people')}"


def _number(value: Number | None) -> float:
    return float(value) if value is not None else 0.0


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
    return f"The verdict is the same for other {' and '.join(kinds)}." if kinds else ""


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
        lines.append(f"The same for {listed(alike)}.")
    return lines


def _together(entry: tuple[str, list[str]]) -> str:
    value, names = entry
    return f"{listed(names)} ({value})"


# What comes before all figures: that the table is not the model's, or lacks what the model predicts.


def table_statements(document: Document) -> Iterator[str]:
    """Yield each statement in full, with what to do."""
    doubts = [each for each in document.findings if each.clause == FindingKind.TABLE_AGREES]
    yield from (sentence(doubt.message) for doubt in doubts)
    if not doubts:
        yield from _without_truth(document)
    contradicted = [each for each in document.dropped if not each.is_published]
    if contradicted:
        statements = counted(len(contradicted), "statement", "statements")
        was = "was" if len(contradicted) == 1 else "were"
        yield (
            f"The table contradicts {statements} of the assumed knowledge, which {was} not used (--verbose lists "
            "them). Correct the knowledge, or check that this is the table on which the model was trained."
        )


def lacks_target(document: Document) -> bool:
    """Return whether a required check does not pass because the table has no column with what the model predicts."""
    return any(
        LACKS in finding.message
        if finding.clause == FindingKind.TABLE_AGREES
        else finding.value.reason.startswith(LACKS)
        for finding in document.findings
        if finding.verdict != "PASS" and document.counts(finding)
    )


def _without_truth(document: Document) -> Iterator[str]:
    """Yield that the table lacks what the model predicts, and which checks need it."""
    unlabelled: dict[str, list[str]] = {}
    for finding in document.findings:
        if finding.value.reason.startswith(LACKS):
            unlabelled.setdefault(finding.value.reason, []).append(finding.clause)
    for reason, clauses in unlabelled.items():
        number = counted(len(dict.fromkeys(clauses)), "check is", "checks are")
        yield f"{sentence(reason)} Without it, {number} not decided."


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


def _row(adversary: Adversary) -> AdversaryRow:
    knows = list(adversary.knows[:MOST_COLUMNS])
    if len(adversary.knows) > MOST_COLUMNS:
        knows.append(f"and {len(adversary.knows) - MOST_COLUMNS} more")
    if adversary.target_known:
        knows.append("and what the tree predicts")
    readings = (adversary.readings.get(measure) for measure in COLUMNS)
    cells = (UNTOLD if reading is None or reading.reason else reading.text for reading in readings)
    return AdversaryRow(
        adversary.name, ", ".join(knows) or "nothing", tuple(cells), adversary.verdict
    )


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
        but = ", except for the accepted findings" if accepted else ""
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
            yield f"Not decided for “{each.name}”: {reason.rstrip('.')}."


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


def value_label(document: Document, quoted: str) -> str:
    """Return a value of the sensitive column with its label, ``“1” (yes)``; other words as they are."""
    column = next((each for each in document.columns if each.is_sensitive), None)
    labels = {} if column is None else {f"“{row.name}”": row.text for row in column.values}
    return f"{quoted} ({labels[quoted]})" if labels.get(quoted) else quoted


def claim_lines(claims: Sequence[Claim]) -> Iterator[str]:
    """Yield a line for each claim."""
    for claim in claims:
        of = f"{claim.of}: " if claim.of else ""
        words = f" ({claim.words})" if claim.words else ""
        yield f"{of}{claim.outcome.upper()}{words}. {claim.summary}"

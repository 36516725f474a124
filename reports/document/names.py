"""What findings are called: the same in every report, and told from each other by what they are about."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from treewarden.policies.verdict import OF_EXCEPTIONS, FindingKind
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import AssumedKnown, Finding
from treewarden.reports.document.words import counted


def finding_id(clause: str, leaf: str = "") -> str:
    """Return the name of what breaks a clause in a leaf, or in the model as a whole: the same in every output."""
    return hashlib.sha256(f"{clause}\n{leaf}".encode("utf-8", "backslashreplace")).hexdigest()[:16]


def is_about_waivers(clause: str, measure: str) -> bool:
    """Return whether a finding is about a waiver or a baseline, and so about nobody in the table."""
    return not measure and clause.startswith(OF_EXCEPTIONS)


def its_own_words(found: Finding) -> str | None:
    """Return the message of a finding that is about nobody in the table, as it may be read by anybody; else None."""
    is_of_nobody = is_about_waivers(found.clause, found.measure) or (
        not found.measure and found.clause == FindingKind.RELEASES_LINKED
    )
    return found.message if is_of_nobody else None


def accepted_undecided(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return the clauses that are not decided and accepted all the same, each with who accepted it, why, until when."""
    return tuple(
        f"{finding.clause}: {finding.accepted.reason}"
        for finding in findings
        if finding.verdict == "UNDETERMINED" and finding.accepted is not None
    )


# One line that says which columns were assumed known and not judged: names first, the rest of many counted.

NONE_TESTED = "nothing: the model tests no column"
MOST_IN_A_LINE = 5
LONGEST_NAME = 60


def one_line(names: Sequence[str], proved: Sequence[str] = ()) -> str:
    """Return in one line which columns were assumed known, and of which sizes prove something; the first of many."""
    said = f"assumed known and not judged: {_first_names(names) if names else NONE_TESTED}"
    return f"{said}. The sizes of leaves disclose: {_first_names(proved)}" if proved else said


def without_counts(found: AssumedKnown | None) -> str:
    """Return the same line without a count of people."""
    if found is None:
        return ""
    return one_line(
        found.columns,
        list(dict.fromkeys(proved_by_sizes.column for proved_by_sizes in found.proved)),
    )


def _first_names(names: Sequence[str]) -> str:
    shown = [
        each if len(each) <= LONGEST_NAME else f"{each[: LONGEST_NAME - 1]}…"
        for each in names[:MOST_IN_A_LINE]
    ]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def assumed_sentences(document: Document) -> str:
    """Return the same in sentences, for a reader who sees the report for the first time."""
    known = document.assumed_known
    if known is None:
        return ""
    if not known.columns:
        return "The model tests no column, so the adversary was assumed to know none."
    said = (
        f"The audit assumes that the adversary knows {_first_names(known.columns)}. "
        "It did not judge these columns."
    )
    proved = dict.fromkeys(
        each.column
        if each.people is None
        else f"{each.column} for {counted(float(each.people), 'person', 'people')}"
        for each in known.proved
    )
    if not proved:
        return said
    return (
        f"{said} An adversary who knows all but one of them can work out the last one for some people, from the "
        f"sizes of the leaves: {_first_names(list(proved))}."
    )


def summary_of(document: Document) -> str:
    """Return in one line which columns were assumed known; "" of documents that do not tell."""
    assumed_known = document.assumed_known
    return (
        ""
        if assumed_known is None
        else f"{assumed_known.summary[:1].upper()}{assumed_known.summary[1:]}"
    )

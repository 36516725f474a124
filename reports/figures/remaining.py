"""The two honest sections of a compliance report: what risk remains, and what nobody looked at."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from treewarden.policies.verdict import Severity
from treewarden.ppdm_models.tables.dialect import as_number
from treewarden.reports.document.document import Document, summary_of
from treewarden.reports.document.inferred_parts import Level
from treewarden.reports.document.parts import ColumnMeaning, Finding, Place
from treewarden.reports.document.words import Word, sentence, wrapped

if TYPE_CHECKING:
    from treewarden.reports.document.gate import Entry

# What a report that is filed consists of: sections of words, lists, tables and lines to fill in, whatever its form.
#
# A page and a PDF are both made of these, so that they cannot say different things.


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: what it says, an aside to it, and a note under it; a code is not broken at its spaces."""

    text: str
    note: str = ""
    aside: str = ""
    kind: Literal["words", "verdict", "code"] = "words"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    text: str
    kind: Literal["words", "note", "strong"] = "words"


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    items: tuple[str, ...]
    kind: Literal["items"] = "items"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table whose first cells name the rows; ``shares`` are the widths of its columns, in parts of their sum."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    shares: tuple[int, ...]
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Blanks:
    """Lines that somebody fills in by hand, each with its label."""

    labels: tuple[str, ...]
    kind: Literal["blanks"] = "blanks"


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of which somebody ticks one."""

    labels: tuple[str, ...]
    kind: Literal["boxes"] = "boxes"


Block = Paragraph | Items | ReportTable | Blanks | Boxes


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A part of the report under its own heading."""

    ident: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Filing:
    """A report as it is filed. ``banner`` says who may read it, ``running`` the same on top of each printed page."""

    title: str
    banner: str
    running: str
    verdict: Word
    headline: str
    meaning: str
    disclaimer: str
    created: str
    sections: tuple[ReportSection, ...]


# The columns that were assumed known to adversaries and not judged, as lines and items that every form shows alike.

MOST_PROVED = 10
"""So many columns that sizes prove are told in text; the other forms have all."""
LABEL = "Assumed known to adversaries, so not judged"


def assumed_words(entry: Entry) -> str:
    """Return the same of a model in a gate."""
    return entry.assumed_known


def assumed_items(document: Document) -> Iterator[str]:
    """Yield all columns that were assumed known, what sizes of nodes prove of them, and why there may be more."""
    assumed_known = document.assumed_known
    if assumed_known is None:
        return
    yield f"{LABEL}: {', '.join(assumed_known.columns) or 'nothing, as the model tests no column'}."
    for proved_by_sizes in assumed_known.proved:
        yield f"The leaf sizes disclose {proved_by_sizes.text}."
    for why in assumed_known.incomplete:
        yield f"The leaf sizes may disclose more. This was not computed, because {why}."


def assumed_lines(document: Document) -> Iterator[str]:
    """Yield the same as lines of text; of the columns that sizes prove the first ones."""
    assumed_known = document.assumed_known
    if assumed_known is None:
        return
    first, *others = assumed_items(document)
    yield from wrapped(first, "  ")
    more = len(assumed_known.proved) - MOST_PROVED
    shown = others[:MOST_PROVED] if more > 0 else others
    for each in shown:
        yield from wrapped(f"- {each}", "  ", "    ")
    if more > 0:
        yield from wrapped(
            f"- and {more:,} more columns; the other formats name them", "  ", "    "
        )
        for each in others[len(assumed_known.proved) :]:
            yield from wrapped(f"- {each}", "  ", "    ")


GRAVITY: tuple[Severity, ...] = ("note", "warning", "error")
LEFT_OUT = "left out"
NO_LIMIT = "–"
NOT_DECIDED = ("not decided", "could not tell")
"""What a value without figures says, in reports of this version and of earlier ones."""
REMAINS: dict[Word, str] = {
    "PASS": "The policy is met. Up to each of its limits, an adversary can still learn something about people in the "
    "table. A PASS does not mean that nothing can be learned.",
    "UNDETERMINED": "No required check failed, but at least one could not be decided. The risk may be larger than "
    "the policy allows, by an unknown amount.",
    "FAIL": "The policy is not met: more can be learned about some people than it allows. Publishing "
    "the model unchanged means accepting that.",
}
BUT_FOR_ACCEPTED = (
    "The policy is met only because the findings under “Waivers in force” were accepted. For these, more can be "
    "learned than the policy allows."
)
NO_MEMBERSHIP = (
    "Membership was not judged, because no register of candidates was given. The "
    "adversary is assumed to know who is in the table."
)
NO_REBUILDING = "Whole records that the file alone proves: not decided."
BY_COUNTS = (
    "Whole records that the file alone proves: judged by the counts of the trees and, for "
    "scikit-learn and columns of few values, by the choice of splits."
)
LIMITS = (
    "Another file: the result holds for exactly the model named here. A changed file needs a new audit.",
    "An adversary who knows more than is listed, for example several people who cooperate, or another register.",
    "Other columns: only what the model discloses about its target is judged.",
    "People who are not in the table: what the model shows about a large group may also hold for "
    "similar people elsewhere.",
    "Whether data on these people may be processed for this purpose, and whether the policy is strict enough.",
)
OF_RELEASES = "Several releases: other models of the same people, or next year's version, disclose more together."
OF_SEVERAL_TREES = (
    "What the trees disclose together: each tree is measured alone, and the worst one decides."
)
OF_REGRESSION = (
    "Probable numbers: the audit judges which numbers of a person are possible, not which are "
    "probable."
)
OF_REDACTION = (
    "This redacted report omits everything that only the holders of the table may see, for example "
    "why a check is not decided."
)


def is_clause(finding: Finding) -> bool:
    """Return whether a finding is a clause of the policy; others are about the evidence itself."""
    return finding.limit_text not in ("", NO_LIMIT)


def counts(finding: Finding, fail_on: Severity) -> bool:
    """Return whether a finding is one that makes up the verdict."""
    return finding.accepted is None and GRAVITY.index(finding.severity) >= GRAVITY.index(fail_on)


def aside(finding: Finding, fail_on: Severity) -> str:
    """Return what a reader must know beside a result: why it does not count, where it does not."""
    if finding.accepted is not None:
        return f"accepted by a {finding.accepted.by}"
    if finding.verdict != "PASS" and not counts(finding, fail_on):
        return f"{finding.severity} only"
    return ""


def reading_cell(finding: Finding) -> Cell:
    """Return how a clause reads; of a redacted report often nothing, its reason standing in the banner."""
    if not is_clause(finding):
        return Cell(NO_LIMIT)
    if finding.value.low is None and finding.value.text not in NOT_DECIDED:
        return Cell(LEFT_OUT)
    return Cell(finding.value.text, note=finding.value.reason)


def place_text(place: Place, trees: int) -> str:
    """Return where something is, for people: which tree, the way there, the profile, the line of the file."""
    if place.kind == "file":
        return f"{place.path} ({place.node})"
    if not place.node:  # where such people stop is not known to who knows only some columns
        return place.profile
    line = f", line {place.line}" if place.line is not None else ""
    who = f"; {place.profile}" if place.profile else ""
    which = f"tree {place.tree + 1}: " if trees > 1 else ""
    return f"{which}{place.path or 'every record'}{who} (node {place.node}{line})"


# Conditions of paths in the words of a data dictionary: "thal > 6.5" is "Thallium scan: reversible defect".

NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
MOST_LABELS = 3
"""So many labels are told one by one; of more, the first and the last."""
SIDES = {"<": False, "≤": True, ">": False, "≥": True}
"""Whether the threshold itself belongs to an interval."""


class LabelledConditions:
    """The conditions on columns that have labels, as paths write them, and their words."""

    def __init__(self, columns: Sequence[ColumnMeaning]) -> None:
        self._columns = {column.name: column for column in columns}
        names = _alternatives(self._columns)
        values = _alternatives({row.name for column in columns for row in column.values})
        ends = r"(?=$|[\s),;]|\.(?!\d))"
        self._pattern = re.compile(
            rf"(?<![\w.])(?:(?P<low>{NUMBER}) (?P<from>[<≤]) )?(?P<name>{names}) (?:"
            rf"(?P<not>not )?in {{(?P<values>[^{{}}]*)}}"
            rf"|(?P<is>[=≠]) (?P<value>{values}|{NUMBER}){ends}"
            rf"|(?P<side>[<≤>≥]) (?P<cut>{NUMBER}){ends})"
        )

    def in_words(self, text: str) -> str:
        """Return a text with these conditions in words."""
        return self._pattern.sub(self._words, text)

    def _words(self, match: re.Match[str]) -> str:
        column = self._columns[match["name"]]
        called = column.label or column.name
        if match["side"] is None:
            labels = {row.name: row.text for row in column.values}
            values = [match["value"]] if match["is"] else match["values"].split(", ")
            is_negated = match["is"] == "≠" or match["not"]
            words = any_of([labels.get(value, value) for value in values])
            return f"{called} is {'not ' if is_negated else ''}{words}"
        start, end = (at - match.start() for at in match.span("name"))
        as_written = f"{match[0][:start]}{called}{match[0][end:]}"
        labels_there = _labels_between(column, match) if column.all_labelled else ""
        return (
            f"{called} is {labels_there}" if labels_there else as_written + _beside(column, match)
        )


def _alternatives(texts: Iterable[str]) -> str:
    """Return what matches one of some texts, the longest first; nothing where there are none."""
    return "|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)"


def any_of(labels: Sequence[str]) -> str:
    """Return labels as alternatives: ``“a”, “b” or “c”``."""
    quoted = [f"“{label}”" for label in labels]
    return " or ".join(filter(None, [", ".join(quoted[:-1]), *quoted[-1:]]))


def _labels_between(column: ColumnMeaning, match: re.Match[str]) -> str:
    """Return the labels of the values within an interval, and of those that are not; "" where that tells nothing."""
    numbers = [(as_number(row.name), row.text) for row in column.values]
    ordered = sorted((number, label) for number, label in numbers if number is not None)
    inside = [label for number, label in ordered if _is_inside(number, match)]
    outside = [label for number, label in ordered if not _is_inside(number, match)]
    if not inside or not outside:
        return ""
    is_short = len(inside) <= MOST_LABELS
    words = any_of(inside) if is_short else f"from “{inside[0]}” to “{inside[-1]}”"
    is_told = len(ordered) > 2 and len(outside) <= MOST_LABELS
    return f"{words} (not {any_of(outside)})" if is_told else words


def _is_inside(number: float, match: re.Match[str]) -> bool:
    cut, is_closed = float(match["cut"]), SIDES[match["side"]]
    low = match["low"]
    beyond = number == cut if is_closed else False
    beyond |= number > cut if match["side"] in ">≥" else number < cut
    if low is None:
        return beyond
    return beyond and (number > float(low) or (number == float(low) and SIDES[match["from"]]))


def _beside(column: ColumnMeaning, match: re.Match[str]) -> str:
    """Return between which labels a threshold lies, in brackets; "" unless both codes next to it have one."""
    labels = {as_number(row.name): row.text for row in column.values}
    cut = float(match["cut"])
    below, above = labels.get(math.floor(cut)), labels.get(math.floor(cut) + 1)
    is_told = below and above and match["low"] is None and cut != math.floor(cut)
    return f" (between “{below}” and “{above}”)" if is_told else ""


LABELS_ONLY = "labels only"
LABELS_TOO = (
    "The first row does not say that labels alone are harmless: it assumes that nobody knows how often the labels are "
    "right. Labels that are nearly always right disclose the true value."
)


def remaining_risk(document: Document) -> Iterator[Block]:
    """Yield what an adversary can still learn, in plain words."""
    accepted = any(finding.accepted is not None for finding in document.findings)
    yield Paragraph(
        BUT_FOR_ACCEPTED if accepted and document.verdict == "PASS" else REMAINS[document.verdict]
    )
    broken = [finding for finding in document.findings if finding.verdict != "PASS"]
    counting = [finding for finding in broken if counts(finding, document.fail_on)]
    for said, findings in (
        ("Failed or not decided:", counting),
        (
            "Failed, but not required (warnings, notes, and accepted findings):",
            [finding for finding in broken if finding not in counting],
        ),
    ):
        if findings:
            yield Paragraph(said)
            yield Items(tuple(map(_failed_in_words, findings)))
    learned = [
        f"{lesson.figure} {lesson.text} {lesson.detail}".rstrip()
        for lesson in document.lessons
        if lesson.is_known
    ]
    if document.worlds is not None and not document.worlds.reason:
        learned.append(document.worlds.summary)
    if learned:
        yield Paragraph("In figures:")
        yield Items(tuple(learned))
    if document.plots.levels:
        yield ReportTable(
            "What each published element adds",
            (
                "The adversary knows",
                "People inferred correctly",
                "Highest confidence in a true value",
            ),
            tuple(_level(level) for level in document.plots.levels),
            (40, 30, 30),
        )
        if document.plots.levels[0].name == LABELS_ONLY:
            yield Paragraph(LABELS_TOO)


def _failed_in_words(finding: Finding) -> str:
    """Return what a check came to, after its name where that does not say it already."""
    is_named = finding.clause.casefold() in finding.message.casefold()
    return finding.message if is_named else f"{finding.clause}: {finding.message}"


def _level(level: Level) -> tuple[Cell, ...]:
    read = (level.guess_accuracy, level.disclosure)
    return Cell(level.name), *(Cell(each.text, note=each.reason) for each in read)


ALL_DECIDED = "Every check of the policy that applies to this model was decided."
OPEN_BESIDE = " What is called not decided below is limited by no check of it."


def not_examined(document: Document) -> Iterator[Block]:
    """Yield what no verdict covers: clauses not judged, readings not taken, and the limits of the method."""
    if document.not_judged:
        rows = tuple((Cell(row.name), Cell(row.text)) for row in document.not_judged)
        yield ReportTable("Checks that do not apply", ("Check", "Why"), rows, (30, 70))
    else:
        yield Paragraph("Every check of the policy applies to this model.")
    open_ = [finding for finding in document.findings if finding.verdict == "UNDETERMINED"]
    if open_:
        rows = tuple((Cell(finding.clause), Cell(_why_open(finding))) for finding in open_)
        yield ReportTable("Checks that could not be decided", ("Check", "Why"), rows, (30, 70))
    else:
        yield Paragraph(ALL_DECIDED + (OPEN_BESIDE if _is_open_beside(document) else ""))
    yield from assumed_blocks(document)
    more = tuple(_left_open(document))
    if more:
        yield Paragraph("Besides:")
        yield Items(more)
    yield Paragraph("No audit of this kind covers:")
    yield Items(tuple(_limits(document)))


def assumed_blocks(document: Document) -> Iterator[Block]:
    """Yield which columns were assumed known, so that nobody judged what the model tells of them."""
    if summary_of(document):
        yield Items(tuple(assumed_items(document)))


def _why_open(finding: Finding) -> str:
    """Return why a clause is open: the reason where there is no reading, else that its range spans the limit."""
    return sentence(finding.value.reason) if finding.value.reason else finding.message


def _is_open_beside(document: Document) -> bool:
    """Return whether something that no check limits is called not decided below."""
    rebuilt = document.readings.get("records_rebuilt")
    is_searched = document.worlds is not None and bool(document.worlds.not_decided)
    return is_searched or (rebuilt is not None and rebuilt.low is None)


def _left_open(document: Document) -> Iterator[str]:
    worlds = document.worlds
    if worlds is not None:
        if worlds.reason:
            yield f"Proved values were not searched for: {sentence(worlds.reason)}"
        yield from (f"Neither proved nor refuted: {sentence(each)}" for each in worlds.not_decided)
    if document.solver is not None and document.solver.reason:
        yield f"The inference is not complete: {sentence(document.solver.reason)}"
    for each in document.dropped:
        what = each.constraint.replace("_", " ")
        yield f"A statement that the table contradicts was not used ({what}, {each.where}): {each.problem}"
    yield from document.warnings
    yield from document.model.notes


def _is_told_together(document: Document) -> bool:
    """Return whether it was worked out what all trees prove together."""
    ensemble, values = document.ensemble, document.values
    of_classes = ensemble is not None and ensemble.recovered_leaves > 0
    return of_classes or (values is not None and values.narrowest is not None)


def _limits(document: Document) -> Iterator[str]:
    reading = document.readings.get("membership_proved")
    if reading is None or reading.low is None:
        yield NO_MEMBERSHIP
    rebuilt = document.readings.get("records_rebuilt")
    judged = NO_REBUILDING if rebuilt is None or rebuilt.low is None else BY_COUNTS
    yield f"{judged} {document.rebuilt_domain}".rstrip()
    yield from LIMITS
    if not document.provenance.earlier:
        yield OF_RELEASES
    if document.model.trees > 1 and not _is_told_together(document):
        yield OF_SEVERAL_TREES
    if document.model.task == "regression":
        yield OF_REGRESSION
    if document.redacted_below is not None:
        yield OF_REDACTION

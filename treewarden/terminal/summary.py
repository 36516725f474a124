"""What a terminal shows of an audit: the verdict, what an adversary can learn, the checks, and what to type next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from treewarden.audit.measures import measures
from treewarden.audit.reading import MOST_SPOTS
from treewarden.policies.judging.figures import figure
from treewarden.reports.document.document import Document
from treewarden.reports.document.names import accepted_undecided, summary_of
from treewarden.reports.document.parts import Finding, Number, Place, Value
from treewarden.reports.document.words import (
    WIDTH,
    Word,
    count,
    counted,
    listed,
    printable,
    sentence,
    wrapped,
)
from treewarden.reports.figures.finding_rows import ToldFinding, adversary_rows, told_once
from treewarden.reports.figures.learned import NOT_JUDGED, learned_facts
from treewarden.terminal.outputs import NextStep, step_lines

MOST_LINES = 30
"""A failing audit has no more lines than that; rows that do not fit are counted."""
FEWEST_ROWS = 1
MOST_NOTE_LINES = 2
MOST_ADVERSARIES = 4
UNKNOWN = "not decided"
ALONE = "No table was given: the verdict rests on the file alone, whose numbers were not checked."
SIGNS = {"at_least": ">=", "at_most": "<=", "above": ">", "below": "<"}
KINDS = {
    "leaf": ("leaf", "leaves"),
    "profile": ("group", "groups"),
    "file": ("place", "places"),
    "tree": ("tree", "trees"),
    "column": ("column", "columns"),
}
LABEL = 16
"""Columns that the name of a list takes in front of its items."""
VERBOSE = "--verbose"


def summary_lines(document: Document, steps: Sequence[NextStep], about: str = "") -> list[str]:
    """Return the lines for an audit's report; ``about`` is the column that is to stay secret, "" where it has no name.

    A failing audit has at most ``MOST_LINES`` lines where paths are not too long for one each.
    """
    lines = list(_lines(document, steps, about))
    if len(lines) > MOST_LINES:
        lines = list(
            _lines(document, steps, about, len(document.findings), with_warning_words=True)
        )
    for most in range(len(document.findings), FEWEST_ROWS - 1, -1):
        if len(lines) <= MOST_LINES:
            break
        lines = list(_lines(document, steps, about, most))
    return lines


def _lines(
    document: Document,
    steps: Sequence[NextStep],
    about: str,
    most: int | None = None,
    *,
    with_warning_words: bool = False,
) -> Iterator[str]:
    """Yield the lines; with ``most``, no more rows of checks than that, and warnings in one list.

    That list has names only, unless ``with_warning_words`` adds what each measures.
    """
    yield from _opening(document)
    if document.verdict != "PASS":
        yield from _facts(document, about)
        yield from _adversaries(document)
        yield from _checks(document, most, with_warning_words=with_warning_words)
    else:
        yield from _accepted(document)
    yield from _notes(document, MOST_NOTE_LINES if most is None else 1)
    yield from step_lines(steps)


# The verdict, in one line that can be acted on, and what it rests on.


def _opening(document: Document) -> Iterator[str]:
    name, policy = printable(document.model.file), f"the policy “{printable(document.policy.name)}”"
    if document.verdict == "PASS":
        alone = ", as far as its file tells the truth" if document.basis == "file" else ""
        but = ", but for what is accepted" if any(f.accepted for f in document.findings) else ""
        yield f"PASS: {name} meets {policy}{but}{alone}."
        for words in accepted_undecided(document.findings):
            yield from wrapped(f"Accepted, not passed: {printable(words)}.", "  ", "    ")
    elif document.verdict == "FAIL":
        yield f"FAIL: Do not publish {name}."
    else:
        yield f"UNDETERMINED: Do not publish {name}: the audit could not decide. Treat this as a FAIL."
    yield from wrapped(_counts(document), "  ")
    if document.basis == "file":
        yield f"  {ALONE}"
    elif document.verdict == "PASS":
        yield from wrapped(_scope(document), "  ")
    if _tells_sizes(document):
        assumed, _, proved = summary_of(document).partition("; ")
        is_named = document.verdict == "PASS" and document.basis != "file"
        yield from wrapped(
            sentence(proved if is_named and proved else f"{assumed}; {proved}"), "  "
        )
    if document.redacted_below is not None:
        yield from wrapped(f"[{document.confidential}]", "  ")
    elif document.basis == "file":
        yield "  [Confidential until the model is published.]"
    else:
        yield f"  [Confidential: keep this output with the table.{_not_judged(document)}]"


def _not_judged(document: Document) -> str:
    """Return that membership was not judged; "" where it was, or where a check or the scope says so."""
    names = [finding.clause for finding in document.findings]
    names += [clause.name for clause in document.not_judged]
    is_said = document.verdict == "PASS" or any(name.startswith("membership") for name in names)
    if document.provenance.candidates is not None or is_said:
        return ""
    return " Membership was not judged (--population)."


def _tells_sizes(document: Document) -> bool:
    """Return whether columns that were assumed known need a line of their own, as the scope of a pass names others."""
    assumed_known = document.assumed_known
    if assumed_known is None:
        return False
    others = set(assumed_known.columns) - set(document.population.quasi_identifiers)
    if document.verdict != "PASS":
        return document.verdict == "UNDETERMINED" and bool(assumed_known.proved)
    return bool(assumed_known.proved or others)


def _counts(document: Document) -> str:
    """Return how the checks came out: required and advisory ones apart, each check once."""
    required = _outcomes(document, lambda finding: document.counts(finding))
    advisory = _outcomes(document, lambda finding: not document.counts(finding))
    policy = f"of the policy “{document.policy.name}”"
    if not required:
        said = [f"The policy “{document.policy.name}” has no required check for this model"]
    else:
        said = [f"{_share(required, document.verdict)} {policy} {_outcome(document.verdict)}"]
        undecided = list(required.values()).count("UNDETERMINED")
        if document.verdict == "FAIL" and undecided:
            said.append(f"{count(undecided)} could not be decided")
    raised = [name for name, verdict in advisory.items() if verdict != "PASS"]
    if raised:
        checks = counted(len(advisory), "advisory check", "advisory checks")
        names = f": {', '.join(raised)}" if document.verdict == "PASS" else ""
        said.append(f"{len(raised)} of {checks} raised a warning{names}")
    return f"{'; '.join(said)}."


def _outcomes(document: Document, is_of: Callable[[Finding], bool]) -> dict[str, Word]:
    """Return the worst verdict of each check of a kind; what is accepted passes, doubts about files are no checks."""
    worst: Sequence[Word] = ("PASS", "UNDETERMINED", "FAIL")
    outcomes: dict[str, Word] = {}
    for finding in document.findings:
        if finding.measure and is_of(finding):
            verdict: Word = "PASS" if finding.accepted is not None else finding.verdict
            before = outcomes.get(finding.clause, "PASS")
            outcomes[finding.clause] = max(before, verdict, key=worst.index)
    return outcomes


def _share(outcomes: dict[str, Word], verdict: Word) -> str:
    number = list(outcomes.values()).count(verdict)
    return f"{count(number)} of {counted(len(outcomes), 'required check', 'required checks')}"


def _outcome(verdict: Word) -> str:
    return {"PASS": "passed", "FAIL": "failed", "UNDETERMINED": "could not be decided"}[verdict]


def _scope(document: Document) -> str:
    """Return for which adversary a pass holds."""
    names = document.population.quasi_identifiers
    if not names:
        return "It holds for an adversary who has this file, and for no one who knows more."
    return (
        f"It covers an adversary who has this file and knows of everyone: {_first_names(names)} (assumed, not "
        f"judged). It does not cover one who knows more{_membership_scope(document)}."
    )


def _membership_scope(document: Document) -> str:
    """Return that a pass does not cover who was in the table, where no register was given."""
    return (
        ", or membership (who was in the table)" if document.provenance.candidates is None else ""
    )


def _first_names(names: Sequence[str], most: int = 8) -> str:
    rest = [f"{len(names) - most:,} more"] if len(names) > most else []
    return listed([*names[:most], *rest])


# What an adversary can learn: three facts, each with its figure in front.


def _facts(document: Document, about: str) -> Iterator[str]:
    # What was not judged stands beside the verdict, and takes no line here.
    facts = [fact for fact in learned_facts(document) if fact.figure and fact.figure != NOT_JUDGED]
    if not facts:
        return
    known = document.population.quasi_identifiers
    who = "an adversary"
    if known:
        columns = counted(len(known), "column", "columns")
        who += f" who knows {columns} of everyone"
    what = f" about “{printable(about)}”" if about else ""
    yield ""
    yield from wrapped(f"{sentence(who)[:-1]} can learn{what}:")
    width = max(len(fact.figure) for fact in facts)
    for fact in facts:
        lines = wrapped(f"{fact.figure:{width}}  {fact.words}", "  ", " " * (width + 4))
        yield from few_lines(lines, 1 if fact.figure == UNKNOWN else MOST_NOTE_LINES)
    if document.ensemble is not None:
        for difference in document.ensemble.differences[:1]:
            yield from few_lines(wrapped(difference, "  ", "    "))


def _adversaries(document: Document) -> Iterator[str]:
    """Yield a line for each adversary that was asked about, where there are several."""
    if not document.adversaries:
        return
    yield ""
    yield "Adversaries"
    rows = adversary_rows(document.adversaries)
    for row in rows[:MOST_ADVERSARIES]:
        is_plain = row.name.startswith(("who knows ", "knows "))
        name = "" if is_plain else f"{printable(row.name)}: "
        yield _cut(f"  {row.verdict:12}  {name}knows {printable(row.knows)}")
    if len(rows) > MOST_ADVERSARIES:
        yield f"  and {len(rows) - MOST_ADVERSARIES} more ({VERBOSE})"


# The checks: one line each of those that failed or warn, then the others by name.


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check as a line of the table."""

    check: str
    words: str
    measured: str
    required: str
    where: str


def _checks(document: Document, most: int | None, *, with_warning_words: bool) -> Iterator[str]:
    once = told_once(finding for finding in document.findings if finding.accepted is None)
    failed, undecided, warned = [], [], []
    for told_finding in once:
        finding = told_finding.finding
        if finding.verdict == "PASS":
            continue
        if not document.counts(finding):
            warned.append(told_finding)
        elif finding.verdict == "FAIL":
            failed.append(told_finding)
        else:
            undecided.append(told_finding)
    open_rows = [told_finding for told_finding in undecided if _has_value(told_finding.finding)]
    rows = {
        "Failed": [_row(told_finding, document) for told_finding in failed],
        "Not decided": [_row(told_finding, document) for told_finding in open_rows],
        "Warning": [_row(told_finding, document) for told_finding in warned if most is None],
    }
    yield from _table(rows, len(document.findings) if most is None else most)
    if most is not None:
        names = dict.fromkeys(
            f"{each.finding.clause} ({check_words(each.finding)})"
            if with_warning_words and each.finding.measure
            else each.finding.clause
            for each in warned
        )
        yield from _names("Warning", names)
    without_value = [each.finding for each in undecided if not _has_value(each.finding)]
    yield from _reasons(without_value, is_short=most is not None)
    yield from _accepted(document)
    passed = [
        name for name, verdict in _outcomes(document, lambda _: True).items() if verdict == "PASS"
    ]
    accepted = {finding.clause for finding in document.findings if finding.accepted is not None}
    yield from _names("Passed", [name for name in passed if name not in accepted])
    reasons: dict[str, list[str]] = {}
    for row in document.not_judged:
        reasons.setdefault(row.text.removeprefix("applies to "), []).append(row.name)
    left_out = [f"{listed(names)} ({text})" for text, names in reasons.items()]
    yield from _names("Not applicable", left_out)


def _has_value(finding: Finding) -> bool:
    return bool(finding.measure) and not finding.value.reason


def _row(told_finding: ToldFinding, document: Document) -> CheckRow:
    finding = told_finding.finding
    if not finding.measure:
        return CheckRow(finding.clause, finding.message.rstrip("."), "", "", "")
    where = _where(finding, document.model.trees)
    if told_finding.others:
        where = f"{where}; more with {VERBOSE}" if where else f"more with {VERBOSE}"
    measured = measured_text(finding.value, finding.unit, finding.limit)
    return CheckRow(finding.clause, check_words(finding), measured, _required(finding), where)


def check_words(finding: Finding) -> str:
    """Return what a check measures, in the few words that a row has room for."""
    measure = measures().get(finding.measure)
    if measure is None:  # several metrics in one check
        return finding.limit_text
    words = measure.row_words(dict(finding.parameters))
    return f"{words}, if an adversary knew {finding.under}" if finding.under else words


def measured_text(value: Value, unit: str, limit: Number | None) -> str:
    """Return what was measured, without its unit, with as many digits as tell it from the limit."""
    if value.reason:
        return UNKNOWN
    beside = None if limit is None else float(limit)
    ends = [_figure(float(end), unit, beside) for end in (value.low, value.high) if end is not None]
    if not ends:
        return value.text
    return ends[0] if ends[0] == ends[-1] else f"{ends[0].removesuffix(' %')} to {ends[-1]}"


def _figure(value: float, unit: str, beside: float | None) -> str:
    """Return a figure without its unit, which the words beside it tell; a share in per cent."""
    return figure(value, unit, beside) if unit == "share" else figure(value, "", beside).strip()


def _required(finding: Finding) -> str:
    if finding.limit is None:
        return "0" if finding.parts else ""
    limit = _figure(float(finding.limit), finding.unit, None)
    if finding.rule == "at_most" and finding.limit == 0:
        return limit
    return f"{SIGNS.get(finding.rule, finding.rule)} {limit}"


def _where(finding: Finding, trees: int) -> str:
    """Return how many places break a check, and the worst of them."""
    if finding.of:
        return printable(finding.of)
    places = finding.where
    if not places:
        return ""
    one, several = KINDS[places[0].kind]
    number = f"{count(len(places))} or more" if len(places) >= MOST_SPOTS else count(len(places))
    return f"{number} {one if len(places) == 1 else several}, e.g. {_example(places[0], trees)}"


def _example(place: Place, trees: int) -> str:
    if place.kind == "file":
        return printable(place.path)
    if place.kind in ("tree", "column"):
        return printable(place.node)
    if not place.node:
        return printable(place.profile)
    name = place.node.removeprefix(f"tree {place.tree + 1}: ") if trees > 1 else place.node
    tree = f"tree {place.tree + 1}, " if trees > 1 else ""
    return f"{tree}line {place.line}" if place.line else f"{tree}node {printable(name)}"


def _table(rows: dict[str, list[CheckRow]], most: int) -> Iterator[str]:
    """Yield the rows under their headings, at most so many; columns are as wide as what stands in them.

    Where no row is left for a heading, its checks are named behind it.
    """
    cells = [row for some in rows.values() for row in some if row.required or row.measured]
    widths = [
        max((len(getattr(row, name)) for row in cells), default=0)
        for name in ("check", "words", "measured", "required")
    ]
    widths[0], widths[1] = min(widths[0], 24), min(widths[1], 44)
    left = most
    head: tuple[str, ...] = ("measured", "required", "where")
    first = True
    for title, some in rows.items():
        if not some:
            continue
        if left <= 0:
            yield from _names(title, dict.fromkeys(row.check for row in some))
            continue
        if first:
            yield ""
            start = f"{title:{widths[0] + widths[1] + 4}}"
            named = [
                name.ljust(max(width, len(name)))
                for name, width in zip(head[:2], widths[2:], strict=True)
            ]
            yield "  ".join([start, *named, head[2]]).rstrip() if cells else title
            widths[2], widths[3] = max(widths[2], len(head[0])), max(widths[3], len(head[1]))
            first = False
        else:
            yield title
        for row in some[:left]:
            yield from _row_lines(row, widths)
        if len(some) > left:
            names = ", ".join(dict.fromkeys(printable(row.check) for row in some[left:]))
            yield _cut(f"  and {count(len(some) - left)} more ({VERBOSE}): {names}")
        left -= len(some)


def _row_lines(row: CheckRow, widths: Sequence[int]) -> Iterator[str]:
    if not (row.required or row.measured):
        yield from few_lines(wrapped(f"{row.check}  {row.words}", "  ", "    "))
        return
    cells = (row.check, row.words, row.measured, row.required)
    line = "  ".join(
        printable(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)
    )
    line = f"  {line}  {row.where}".rstrip()
    if len(line) > WIDTH and ", e.g. " in row.where:
        line = f"{line[: -len(row.where)]}{row.where.partition(', e.g. ')[0]}"
    yield line


def _reasons(findings: Sequence[Finding], *, is_short: bool) -> Iterator[str]:
    """Yield the checks that could not be decided, by why."""
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        why = finding.value.reason if finding.measure else finding.message
        reasons.setdefault(why.rstrip(". "), []).append(finding.clause)
    if not reasons:
        return
    if not is_short:
        yield ""
    yield "Not decided, and why"
    for why, clauses in reasons.items():
        names = ", ".join(dict.fromkeys(clauses))
        yield from few_lines(wrapped(f"{names}: {why}.", "  ", "    "), 3)


def _accepted(document: Document) -> Iterator[str]:
    accepted = {
        finding.clause: f"{finding.clause} ({finding.accepted.by})"
        for finding in document.findings
        if finding.accepted is not None
    }
    yield from _names("Accepted", list(accepted.values()))


def _names(label: str, items: Iterable[str]) -> Iterator[str]:
    said = ", ".join(items)
    if said:
        yield from wrapped(f"{label:{LABEL}}{said}", "", " " * LABEL)


def _notes(document: Document, most: int) -> Iterator[str]:
    """Yield the first remarks about the files and the audit, and how many more there are."""
    notes = [*document.warnings, *document.model.notes]
    contradicted = [each for each in document.dropped if not each.is_published]
    if contradicted:
        them = counted(len(contradicted), "statement", "statements")
        notes.insert(
            0, f"The table contradicts {them} of the assumed knowledge, so they were not used."
        )
    if not notes:
        return
    more = f" (and {len(notes) - 1:,} more: {VERBOSE})" if len(notes) > 1 else ""
    lines = few_lines(wrapped(f"Note: {notes[0]}", "  ", "    "), most)
    yield from lines[:-1]
    yield f"{_cut(lines[-1], len(more))}{more}"


def few_lines(lines: list[str], most: int = MOST_NOTE_LINES) -> list[str]:
    """Return the first lines; the last of them says by a mark that there are more."""
    return lines if len(lines) <= most else [*lines[: most - 1], _cut(f"{lines[most - 1]} …")]


def _cut(line: str, room: int = 0) -> str:
    """Return a line that leaves so much room for what is put behind it."""
    if len(line) <= WIDTH - room:
        return line
    return f"{line[: WIDTH - 2 - room].rstrip(' …')} …"

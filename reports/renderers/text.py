"""A report as text: the verdict, the failed checks and where, all metrics. No colours, no control characters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from treewarden.audit.reading import MOST_SPOTS
from treewarden.reports.document.document import Document
from treewarden.reports.document.gate import Gate
from treewarden.reports.document.inferred_parts import Release
from treewarden.reports.document.methods import Column, RandomisedDocument
from treewarden.reports.document.parts import Accepted, Finding, Place
from treewarden.reports.document.words import WIDTH, count, is_command, printable, wrapped
from treewarden.reports.figures.curve import advice_lines, attempt_lines
from treewarden.reports.figures.finding_rows import (
    TITLE,
    adversary_lines,
    claim_lines,
    meaning_lines,
    told_apart,
    told_once,
    untold_together,
)
from treewarden.reports.figures.gate_rows import (
    GateRow,
    NoAuditGroup,
    basis_words,
    gate_rows,
    grouped_entries,
    in_words,
    open_and_accepted,
    single_rows,
)
from treewarden.reports.figures.remaining import assumed_lines, assumed_words
from treewarden.reports.renderers import GateRenderer, RandomisedRenderer

MOST_PLACES = 3
MOST_CONTRADICTED = 10
INDENT = " " * 16


class TextRenderer(GateRenderer, RandomisedRenderer):
    """UTF-8 text, lines of up to 100 characters where no name is longer; of several models a line each finding."""

    media_type = "text/plain; charset=utf-8"
    suffix = "txt"
    has_reports = True

    def render(self, document: Document) -> bytes:
        lines = [
            *wrapped(f"{document.verdict}: {document.headline}"),
            *(wrapped(document.rests_on, "  ") if document.rests_on else ()),
            *wrapped(f"[{document.confidential}]", "  "),
            *wrapped(document.title, "  "),
            *wrapped(document.meaning, "  "),
            *wrapped(document.unlimited, "  "),
            *assumed_lines(document),
            *_repair(document),
            *_findings(document),
            *_list(
                "Not applicable", tuple(f"{row.name}: {row.text}" for row in document.not_judged)
            ),
            *_list("Knowledge assumed", document.knowledge.sentences),
            *_list(TITLE, tuple(meaning_lines(document))),
            *_list("Not assumed, as the table contradicts it", tuple(_contradicted(document))),
            *_list("What an adversary can infer", _lessons(document)),
            *_list("Proved values", _certain(document)),
            *_list("Numbers that prove values", document.blame.sentences if document.blame else ()),
            *_list("Claim of differential privacy", tuple(claim_lines(document.claims))),
            *_list("Attacks tried", document.attacks.sentences if document.attacks else ()),
            *adversary_lines(document),
            *_readings(document),
            *_list("Warnings", (*document.model.notes, *document.warnings)),
            *_list("Next steps", document.next_steps),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8")

    def render_gate(self, gate: Gate) -> bytes:
        rows = gate_rows(gate)
        single = single_rows(gate, rows)
        lines = [
            *wrapped(f"{gate.outcome}: {in_words(gate)}; {open_and_accepted(rows)}"),
            *_models(gate, rows),
            *_lines("Failed or not decided", [row for row in single if not row.accepted]),
            *_lines("Accepted", [row for row in rows if row.accepted]),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8")

    def render_randomised(self, document: RandomisedDocument) -> bytes:
        head = f"{document.verdict}: {document.headline}" if document.verdict else document.headline
        lines = [
            *wrapped(head),
            *wrapped(f"[{document.confidential}]", "  "),
            *wrapped(document.title, "  "),
            *wrapped(document.meaning, "  "),
            *_findings(document),
            *_list(
                "Not applicable", tuple(f"{row.name}: {row.text}" for row in document.not_judged)
            ),
            *_list("Columns", tuple(chain.from_iterable(map(_column_lines, document.columns)))),
            *_list("What it is not", document.limits),
            *_list("Warnings", document.warnings),
            *_list("Next steps", document.next_steps),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8")


def _models(gate: Gate, rows: Sequence[GateRow]) -> Iterator[str]:
    """Yield a table of the models: the outcome, the name, how many findings, and why; below, where that is too wide."""
    if not gate.entries:
        return
    yield ""
    yield "Models"
    shown = list(grouped_entries(gate))
    entries = [entry for entry in shown if not isinstance(entry, NoAuditGroup)]
    names = {entry.name: printable(entry.name) for entry in entries}
    found = {
        id(entry): open_and_accepted([row for row in rows if row.entry is entry])
        for entry in entries
    }
    width = max(map(len, names.values()), default=0)
    wide = max(map(len, found.values()), default=0)
    for entry in shown:
        if isinstance(entry, NoAuditGroup):
            yield from wrapped(f"{'NO AUDIT':12}  {entry.head}", "  ", INDENT)
            yield from wrapped(entry.names(), INDENT)
            yield from wrapped(f"Next: {entry.advice}" if entry.advice else "", INDENT)
            continue
        said = found[id(entry)]
        basis = f" ({basis_words(entry)})" if basis_words(entry) else ""
        head = f"  {entry.outcome:12}  {names[entry.name]:{width}}  {said:{wide}}"
        why = printable(f"{entry.headline}{basis}")
        assumed = assumed_words(entry)
        if len(head) + 2 + len(why) <= WIDTH:
            yield f"{head}  {why}"
        else:
            yield head.rstrip()
            yield from wrapped(why, INDENT)
        yield from wrapped(assumed, INDENT)


def _lines(heading: str, rows: Sequence[GateRow]) -> Iterator[str]:
    """Yield one line a finding, worst first, as compilers print them: a terminal can jump to the place."""
    if rows:
        yield ""
        yield heading
        yield from map(_line, rows)


def _line(row: GateRow) -> str:
    place = printable(f"{row.entry.file}:{row.line}")
    what = printable(f"{row.result.severity} {row.rule_id}: {row.sentence}")
    return f"  {place}: {what} [{printable(row.result.id)}]"


def _repair(document: Document) -> Iterator[str]:
    repair = document.repair
    if repair is None:
        return
    yield ""
    yield from wrapped(repair.message, "  ")
    yield from attempt_lines(repair)
    for refusal in repair.refusals:
        yield from wrapped(f"- {refusal}", "  ", "    ")
    yield from advice_lines(repair, "  ")


def _findings(document: Document | RandomisedDocument) -> Iterator[str]:
    broken = [finding for finding in document.findings if finding.verdict != "PASS"]
    yield from _listed(
        document,
        "Failed, not decided, or a warning",
        [finding for finding in broken if finding.accepted is None],
    )
    accepted = [finding for finding in broken if finding.accepted is not None]
    yield from _listed(document, "Accepted: does not count", accepted)


def _listed(
    document: Document | RandomisedDocument, heading: str, findings: list[Finding]
) -> Iterator[str]:
    if not findings:
        return
    yield ""
    yield heading
    for told_finding in told_once(findings):
        finding = told_finding.finding
        weight = "" if document.counts(finding) else f" ({finding.severity})"
        yield from wrapped(
            f"{finding.verdict}{weight} {finding.clause}: {finding.message}", "  ", "    "
        )
        if finding.accepted is not None:
            yield from wrapped(_accepted(finding.accepted), "      ", "        ")
        if not finding.of:  # the places in other releases are in the other forms
            yield from _places(finding)
        for line in told_finding.others:
            yield from wrapped(line, "      ", "        ")


def _places(finding: Finding) -> Iterator[str]:
    leaf = ""
    for place in finding.where[:MOST_PLACES]:
        if place.kind in ("tree", "column"):
            yield from wrapped(f"{place.value.text} in {place.node}", "      ", "        ")
            continue
        if place.kind == "file":
            yield from wrapped(f"{place.node}, {place.path}: {place.note}", "      ", "        ")
            continue
        line = f", line {place.line}" if place.line else ""
        profile = f"; {place.profile}" if place.profile else ""
        yield from wrapped(
            f"{place.value.text} {_at(place)}{line}: {place.path}{profile}",
            "      ",
            "        ",
        )
        if place.leaf not in ("", leaf):
            leaf = place.leaf
            yield f"        fingerprint of the leaf, for waivers: {printable(leaf)}"
        if place.accepted is not None and finding.accepted is None:
            yield from wrapped(_accepted(place.accepted), "        ", "        ")
    more = len(finding.where) - MOST_PLACES
    if more > 0:
        least = "at least " if len(finding.where) >= MOST_SPOTS else ""
        yield f"      ... and {least}{count(more)} more (the JSON report lists them)"


def _at(place: Place) -> str:
    """Return where a place of a tree is: ``at node 3``, or ``in tree 8, node 3`` where there are several trees."""
    inner = place.node.removeprefix(f"tree {place.tree + 1}: ")
    return f"at node {inner}" if inner == place.node else f"in tree {place.tree + 1}, node {inner}"


def _accepted(accepted: Accepted) -> str:
    return f"accepted by a {accepted.by}: {accepted.reason}"


def _contradicted(document: Document) -> Iterator[str]:
    for each in document.dropped[:MOST_CONTRADICTED]:
        yield f"{each.where} ({each.constraint}): {each.problem}"
    if len(document.dropped) > MOST_CONTRADICTED:
        yield f"and {count(len(document.dropped) - MOST_CONTRADICTED)} more: the JSON report lists them"


def _lessons(document: Document) -> tuple[str, ...]:
    return tuple(
        f"{lesson.figure} {lesson.text}" if lesson.is_known else f"{lesson.text} {lesson.detail}"
        for lesson in document.lessons
    )


def _certain(document: Document) -> tuple[str, ...]:
    worlds, ensemble, values = document.worlds, document.ensemble, document.values
    together: tuple[str, ...] = ()
    if ensemble:
        together = (ensemble.summary, *map(_release, ensemble.releases), *ensemble.differences)
    if values:
        together = (*dict.fromkeys((*together, values.summary, *values.reasons)),)
    return (*together, worlds.summary, *worlds.not_decided) if worlds else together


def _release(release: Release) -> str:
    moved = [f"{release.joined:,} joined"] if release.joined else []
    moved += [f"{release.left:,} left"] if release.left else []
    people = ", ".join([f"{release.people:,} people", *moved])
    if release.certain_alone is None or release.certain_so_far is None:
        return f"{release.name} ({people}): it is not known whose values this release proves."
    alone, so_far = f"{release.certain_alone:,}", f"{release.certain_so_far:,}"
    return (
        f"{release.name} ({people}): this release alone proves the values of at least "
        f"{alone} people, all releases so far those of {so_far}."
    )


def _readings(document: Document) -> Iterator[str]:
    if not document.readings:
        return
    yield ""
    yield "Metrics"
    apart = told_apart(document.readings)
    width = max((len(printable(name)) for name in apart), default=0)
    for name, reading in apart.items():
        reason = f": {reading.reason}" if reading.reason else ""
        said = f"{printable(name):{width}}  {reading.text}{reason}"
        yield from wrapped(said, "  ", " " * (width + 4))
    for reason, names in untold_together(document.readings).items():
        yield from wrapped(f"not decided: {', '.join(names)}: {reason}", "  ", "    ")


def _list(heading: str, items: tuple[str, ...]) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield heading
    for item in items:
        if is_command(item):
            yield f"      {printable(item)}"
        else:
            yield from wrapped(f"- {item}", "  ", "    ")


RENDERER = TextRenderer()


def _column_lines(column: Column) -> Iterator[str]:
    """Yield what a report says of a column in words."""
    yield (
        f"{column.name}: {column.hidden_by}, a level of {100 * float(column.level):g} %; domain "
        f"{float(column.low):g} to {float(column.high):g}, {column.domain}"
    )
    if column.left is not None:
        left = column.left
        yield (
            f"{column.name}: 95 % interval of a true value {left.mean_width.text} of the "
            f"domain on average, {left.worst_width.text} for the 1 % least protected "
            f"people. Equivalent width 2^h(X|W) {left.equivalent_width.text}, uncertainty "
            f"removed {left.loss.text}"
        )
    for each in column.recovered:
        yield f"{column.name}: the {each.attack} leaves {each.width.text}"
    if column.missing:
        yield f"{column.name}: {count(column.missing)} records have no value"
    if column.distribution is not None:
        yield f"{column.name}: {column.distribution.summary}"

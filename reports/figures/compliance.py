"""The compliance report: what a data protection officer files about a model, section by section.

It carries evidence to the person who signs, and claims nothing beyond it. Of a redacted document it says what that
document still says, as nothing else is looked at.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from treewarden.policies.explain.sentences import AUTHORS, OWN
from treewarden.policies.verdict import Severity, capital
from treewarden.reports.document.document import Attempt, Document, Repair
from treewarden.reports.document.parts import Accepted, File, Finding, Value
from treewarden.reports.document.words import listed, sentence
from treewarden.reports.figures.finding_rows import (
    claim_lines,
    meaning_sections,
    value_label,
    with_label,
)
from treewarden.reports.figures.officer import (
    labelled_columns,
    named_clauses,
    questions,
    signed,
    signed_section,
    terms,
    words_of_code,
)
from treewarden.reports.figures.remaining import (
    Blanks,
    Block,
    Boxes,
    Cell,
    Filing,
    Items,
    Paragraph,
    ReportSection,
    ReportTable,
    aside,
    is_clause,
    not_examined,
    place_text,
    reading_cell,
    remaining_risk,
)

# The repair in a compliance report: what was changed so that the model passes, and what that costs.

NOTHING = "–"


def repair_section(repair: Repair) -> ReportSection:
    """Return what was changed, or that nothing was."""
    return ReportSection("repair", "Repair made", tuple(_blocks(repair)))


def _blocks(repair: Repair) -> Iterator[Block]:
    yield Paragraph(repair.message)
    attempt = next((each for each in repair.attempts if each.is_applied), None)
    if attempt is None or repair.after is None:
        yield Paragraph("No change was made.")
        return
    if attempt.title not in repair.message:
        yield Paragraph(f"The change: {attempt.title}.")
    yield ReportTable(
        "Before and after", ("Item", "Before", "After"), tuple(_rows(repair, attempt)), (34, 33, 33)
    )
    if attempt.withheld:
        yield Paragraph(f"Withheld in the file: {listed(list(attempt.withheld))}.")


def _rows(repair: Repair, made: Attempt) -> Iterator[tuple[Cell, ...]]:
    before, after = repair.before, repair.after
    assert after is not None
    yield (
        Cell("Result"),
        Cell(before.verdict, kind="verdict"),
        Cell(after.verdict, kind="verdict"),
    )
    yield Cell("Failed checks"), _names(before.failing), _names(after.failing)
    yield Cell("Leaves"), Cell(f"{before.leaves:,}"), Cell(f"{after.leaves:,}")
    yield (
        Cell("Training accuracy"),
        _value(made.accuracy_before),
        _value(made.accuracy_after),
    )
    if made.loss_before is not None and made.loss_after is not None:
        yield (
            Cell("Expected loss on held-out records"),
            _value(made.loss_before),
            _value(made.loss_after),
        )
    yield (
        Cell("Changed predictions"),
        Cell(NOTHING),
        Cell(_paragraphs(made.predictions_changed_text)),
    )
    yield Cell("Numbers withheld"), Cell(NOTHING), Cell(made.numbers_withheld_text)


def _names(clauses: tuple[str, ...]) -> Cell:
    return Cell(listed(list(clauses)) or "none")


def _value(value: Value) -> Cell:
    return Cell(_paragraphs(value.text), note=value.reason)


def _paragraphs(text: str) -> str:
    return "not determined" if text == NOTHING else text


CLAIMED = "Claim of differential privacy"
KNOWLEDGE = "Adversary and knowledge assumed"
QUALITY = {
    "exact": "counts of people",
    "derived": "counts of people, which follow from other numbers",
    "weighted": "sums of weights, not of people",
    "normalised": "shares, not counts of people",
    "hessian": "sums of second derivatives, not counts of people",
    "absent": "no counts",
    "inconsistent": "counts that contradict each other",
}
DISCLAIMER = (
    "This report contains evidence about what the model could disclose. It does not state that a law, a regulation or "
    "any guidance is complied with. The people who sign it have to judge that."
)
ASKED = "What the model is published for, by whom it will be used, and why it needs data on people:"
MAPPED = (
    "Some checks of the policy refer to a paragraph of guidance. This table lists the evidence for each paragraph. A "
    "check that passes does not mean that the paragraph is complied with."
)
SCOPES = {
    "leaf": "leaf by leaf",
    "profile": "group by group",
    "tree": "tree by tree",
    "model": "over the whole model",
}
MOST_PLACES = 100
"""So many accepted places are listed; the JSON report has all."""
COUNTED: dict[Severity, str] = {
    "error": "errors decide the verdict, warnings and notes do not",
    "warning": "errors and warnings decide the verdict, notes do not",
    "note": "errors, warnings and notes decide the verdict",
}
DECISION = (
    "publish this file",
    "publish a changed file after its own audit",
    "do not publish",
)
SIGN_OFF = ("Name", "Role", "Date", "Signature")
WHO_DECIDES = "The controller decides and signs. The data protection officer advises (GDPR, Articles 38 and 39)."


def filing(document: Document, report_sections: tuple[ReportSection, ...] = ()) -> Filing:
    """Return the report in sections, in its order; ``report_sections`` stand before the signature."""
    is_public = document.redacted_below is not None
    columns = document.columns
    document = labelled_columns(named_clauses(document))
    meaning = " ".join(filter(None, (document.meaning, document.unlimited)))
    repaired = () if document.repair is None else (repair_section(document.repair),)
    return Filing(
        title=f"Compliance report on {document.model.file}",
        banner=signed(document.confidential),
        running="Redacted report" if is_public else "Confidential: describes people in the table",
        verdict=document.verdict,
        headline=signed(document.headline),
        meaning=signed(meaning.replace("“Knowledge assumed”", f"“{KNOWLEDGE}”")),
        disclaimer=DISCLAIMER,
        created=document.provenance.created or "",
        sections=(
            *(signed_section(each, columns) for each in (*_sections(document), *repaired)),
            *report_sections,
            ReportSection("sign-off", "Decision and signature", _sign_off()),
            terms(),
        ),
    )


def _sections(document: Document) -> tuple[ReportSection, ...]:
    """Return the sections that the document fills."""
    return (
        ReportSection("purpose", "Purpose", _purpose(document)),
        ReportSection("subject", "Model and data", tuple(_subject(document))),
        *meaning_sections(document),
        ReportSection("adversary", KNOWLEDGE, _adversary(document)),
        questions(document),
        ReportSection("policy", "Policy", tuple(_policy(document))),
        ReportSection("clauses", "Each check: value, limit and result", (_clauses(document),)),
        ReportSection("guidance", "Evidence by paragraph of guidance", tuple(_guidance(document))),
        ReportSection("waivers", "Waivers in force", tuple(_waivers(document))),
        ReportSection("risk", "Remaining risk", tuple(remaining_risk(document))),
        ReportSection("unexamined", "What was not examined", tuple(not_examined(document))),
    )


def _purpose(document: Document) -> tuple[Block, ...]:
    if document.purpose:
        return (Paragraph(document.purpose),)
    return (Paragraph(ASKED, "note"), Blanks(("Purpose", "")))


def _subject(document: Document) -> Iterator[Block]:
    provenance, model = document.provenance, document.model
    trees = f"{model.trees:,} trees ({model.combination})" if model.combination else "one tree"
    size = f"{trees}, {model.nodes:,} nodes, {model.leaves:,} leaves, depth {model.depth}"
    yield _facts(
        "The model" if provenance.written is None else "The model before and after the repair",
        *_named(provenance.model),
        *(_named(provenance.written, ", repaired") if provenance.written is not None else ()),
        ("Format", Cell(f"{words_of_code(model.format)}, {model.task}")),
        ("Size" if document.repair is None else "Size, as audited", Cell(size)),
        ("Numbers in the leaves", Cell(QUALITY.get(model.quality, model.quality))),
        ("Sensitive column", Cell(_sensitive(document))),
        *((CLAIMED, Cell(line)) for line in claim_lines(document.claims)),
    )
    if provenance.outputs:
        rows = (row for output in provenance.outputs for row in _named(output))
        yield _facts("Outputs that are published with the model, and judged with it", *rows)
    names = document.population.quasi_identifiers
    known = "; ".join(with_label(document, name) for name in names) or "none"
    yield _facts(
        "The data",
        *(
            _named(provenance.table)
            if provenance.table is not None
            else (("Name", Cell("no table was given")),)
        ),
        *(
            _named(provenance.candidates, " of the register")
            if provenance.candidates is not None
            else ()
        ),
        *((value_label(document, row.name), Cell(row.text)) for row in document.population.shares),
        ("Quasi-identifiers", Cell(known)),
        *([] if document.columns or provenance.table is None else [UNLABELLED]),
    )
    made = (("Made", Cell(provenance.created)),) if provenance.created else ()
    report = Cell(f"treewarden, version {provenance.version}")
    yield _facts("This report", ("Program and format", report), *made)


UNLABELLED = (
    "Labels",
    Cell(
        "none were given: columns and values have the names of the table (a data dictionary adds labels)"
    ),
)


def _sensitive(document: Document) -> str:
    name = document.model.target
    return with_label(document, name) if name else "the target, which the file does not name"


def _named(file: File, which: str = "") -> Iterator[tuple[str, Cell]]:
    yield f"Name{which}", Cell(file.name)
    yield f"SHA-256{which}", _digest(file.sha256)


def _digest(digest: str) -> Cell:
    left_out = "omitted: a digest could confirm a guess of the content"
    return Cell(digest, kind="code") if digest else Cell(left_out)


def _facts(caption: str, *rows: tuple[str, Cell]) -> ReportTable:
    said = tuple((Cell(name), cell) for name, cell in rows)
    return ReportTable(caption, ("Item", "What it is"), said, (25, 75))


def _adversary(document: Document) -> tuple[Block, ...]:
    return (
        Paragraph(
            "The adversary reads the published model in order to learn something about a person. "
            "The audit assumes that "
            "the adversary knows what is listed here. It does not cover an adversary who knows more."
        ),
        Items(document.knowledge.sentences),
    )


def _policy(document: Document) -> Iterator[Block]:
    policy = document.policy
    if policy.description:
        yield Paragraph(policy.description)
    yield _facts(
        "The policy",
        ("Name", Cell(f"{policy.title} ({policy.name})")),
        ("Version", Cell(policy.version)),
        ("SHA-256", _digest(policy.sha256)),
        ("Checks that count", Cell(COUNTED[document.fail_on])),
    )
    findings = [finding for finding in document.findings if is_clause(finding)]
    rows = tuple(
        (Cell(finding.clause), Cell(finding.limit_text), Cell(_source(finding)))
        for finding in findings
    )
    if rows:
        yield ReportTable("Source of each limit", ("Check", "Limit", "Source"), rows, (40, 20, 40))


def _source(finding: Finding) -> str:
    return finding.source.replace(OWN, AUTHORS) or "none given"


def _clauses(document: Document) -> Block:
    if not document.findings:
        return Paragraph("The policy has no checks.")
    rows = tuple(_clause(finding, document.fail_on) for finding in document.findings)
    headings = ("Check, and what it measures", "Result", "Value", "Limit")
    return ReportTable("Every check of the policy", headings, rows, (40, 24, 18, 18))


def _clause(finding: Finding, fail_on: Severity) -> tuple[Cell, ...]:
    is_named = finding.clause.startswith(capital(finding.plain))
    plain = "" if is_named else sentence(finding.plain)
    said = " ".join(part for part in (plain, finding.why, *_judged(finding)) if part)
    return (
        Cell(finding.clause, note=said),
        Cell(finding.verdict, aside=aside(finding, fail_on), kind="verdict"),
        reading_cell(finding),
        Cell(finding.limit_text),
    )


def _judged(finding: Finding) -> Iterator[str]:
    """Yield where a clause is judged, and under which knowledge, where it says so."""
    if finding.scope:
        yield f"Judged {SCOPES.get(finding.scope, finding.scope)}."
    if finding.under:
        yield f"Checked as if an adversary knew: {finding.under}."


def _guidance(document: Document) -> Iterator[Block]:
    served = [(guidance, finding) for finding in document.findings for guidance in finding.guidance]
    if not served:
        yield Paragraph("No check of this policy refers to guidance.")
        return
    first = {
        name: at
        for at, name in reversed(list(enumerate(guidance.document for guidance, _ in served)))
    }
    served.sort(key=lambda pair: first[pair[0].document])
    yield Paragraph(MAPPED)
    rows = tuple(
        (
            Cell(f"{guidance.document}, {guidance.paragraph}", note=guidance.says),
            Cell(finding.clause),
            Cell(finding.verdict, aside=aside(finding, document.fail_on), kind="verdict"),
            reading_cell(finding),
        )
        for guidance, finding in served
    )
    headings = ("Guidance, and what it says", "Check", "Result", "Value")
    yield ReportTable("Evidence by paragraph", headings, rows, (36, 28, 18, 18))


def _accepted(
    document: Document, finding: Finding
) -> Iterator[tuple[Finding, str, Accepted | None]]:
    """Yield where a finding was accepted, and why; as a whole only where no leaf says it."""
    if finding.accepted and not any(place.accepted for place in finding.where):
        yield finding, "the model as a whole", finding.accepted
    for place in finding.where:
        yield finding, place_text(place, document.model.trees), place.accepted


def _waivers(document: Document) -> Iterator[Block]:
    rows = [row for finding in document.findings for row in _accepted(document, finding)]
    said = [
        (Cell(finding.clause), Cell(where), Cell(given.by, note=given.reason))
        for finding, where, given in rows
        if given is not None
    ]
    public = document.redacted_below is not None
    if said:
        yield Paragraph(
            "An accepted finding is still reported, but does not count toward the verdict."
        )
        headings = ("Check", "Where", "Accepted by, and why")
        yield ReportTable("Accepted findings", headings, tuple(said[:MOST_PLACES]), (24, 38, 38))
        if len(said) > MOST_PLACES:
            yield Paragraph(f"{len(said) - MOST_PLACES:,} more are in the JSON report.", "note")
    elif not public:
        yield Paragraph("None: no finding was accepted by a waiver or a baseline.")
    if public:
        yield Paragraph("Only the full report lists the waivers of single leaves.", "note")


def _sign_off() -> tuple[Block, ...]:
    return (Paragraph(WHO_DECIDES, "note"), Boxes(DECISION), Blanks(SIGN_OFF))


# Text as the fonts of a PDF can show it: a sign that they lack, or that could reorder a line, is written by its code.
#
# PDF/UA wants a glyph and a meaning for every sign, and the fonts that come with the PDF writer hold Latin, Greek and
# Cyrillic letters and some symbols. Only those pass. Accents that stand apart are joined to their letters first.

KNOWN = (
    (0x20, 0x7E),
    (0xA1, 0xAC),
    (0xAE, 0x24F),
    (0x391, 0x3A1),
    (0x3A3, 0x3CE),
    (0x400, 0x45F),
    (0x490, 0x491),
    (0x1E00, 0x1EFF),
    (0x2010, 0x2027),
    (0x2030, 0x2037),
    (0x2039, 0x203F),
    (0x20A0, 0x20B5),
    (0x2122, 0x2122),
    (0x2190, 0x21FF),
    (0x2200, 0x222E),
    (0x2260, 0x226B),
    (0x2610, 0x2612),
)
"""First and last code of each range; a test shows them all."""
LONGEST = 24
PIECE = 12
BREAK = "\u200b"
"""A place where a line may end; it has no width and no glyph."""


def drawable(text: str) -> str:
    r"""Return the text with every sign outside the known ranges as its code (``\u4e2d``)."""
    joined = unicodedata.normalize("NFC", text)
    return "".join(sign if _is_known(sign) else _code(sign) for sign in joined)


def breakable(text: str) -> str:
    """Return the text with places to break its long words, so that none leaves its column."""
    return " ".join(_broken(word) for word in text.split(" "))


def _is_known(sign: str) -> bool:
    return any(first <= ord(sign) <= last for first, last in KNOWN)


def _code(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def _broken(word: str) -> str:
    if len(word) <= LONGEST:
        return word
    return BREAK.join(word[start : start + PIECE] for start in range(0, len(word), PIECE))

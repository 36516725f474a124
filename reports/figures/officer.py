"""What guidance on anonymity asks of a model, question by question: what was measured, what was not, and why.

For the data protection officer who advises, and the controller who decides. The questions are those of EDPB Opinion
28/2024 (its summary, on when a model is anonymous), of recital 26 of the GDPR, and of the UK Information Commissioner's
guidance on anonymisation ("How do we ensure anonymisation is effective?"), in our own words. Nothing is measured here:
what a report does not tell is said to be not measured.

It is in plain words, without flags of a command or ids of code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from treewarden.policies.verdict import capital
from treewarden.reports.document.document import Document, Side
from treewarden.reports.document.parts import ColumnMeaning, Finding
from treewarden.reports.document.words import listed, sentence
from treewarden.reports.figures.finding_rows import with_label
from treewarden.reports.figures.remaining import (
    Block,
    Cell,
    Items,
    LabelledConditions,
    Paragraph,
    ReportSection,
    ReportTable,
)

OPINION = "EDPB, Opinion 28/2024, summary"
RECITAL = "GDPR, recital 26"
INTRUDER = "ICO, anonymisation guidance"
MEMBERSHIP = (
    ("membership_proved", "people proved to have been in the table"),
    ("membership_advantage", "share of them found at 1 false alarm in 1,000"),
)
HEADINGS = ("Guidance, and its question", "What was measured", "What was not, and why")
INTRO = (
    "Guidance asks these questions about a model that was trained on data about people. The "
    "table shows what this audit "
    "measured for each question, and what it did not measure. The people who sign have to judge "
    "whether a likelihood is "
    "insignificant, and which means are reasonably likely to be used."
)
LABELS_TELL = (
    "A model that shows only its predictions can disclose data too: a prediction that is nearly always right discloses "
    "the true value, with or without further numbers."
)
NOT_MEASURED = "Not measured."
REDACTED = "left out of this report"
EXTRACTION = {
    "classification": (
        ("certain_disclosure", "people whose value the file proves"),
        ("disclosure", "highest confidence in a value that is true"),
        ("records_rebuilt", "people whose whole record the file alone proves"),
    ),
    "regression": (
        ("value_disclosure", "people whose number is known closely"),
        ("value_width", "narrowest proved interval of a number"),
    ),
}
"""By what the model predicts."""
GROUPS = {
    "classification": (
        ("k_anonymity", "people in the smallest leaf"),
        ("certain_in_small_groups", "people proved in small groups"),
    ),
    "regression": (("k_anonymity", "people in the smallest leaf"),),
}
BESIDE = (
    (
        "side_leaks[kind=people]",
        "records, names or unrecognised content in the file, outside its trees",
    ),
    ("side_leaks", "all findings outside its trees, such as seeds, statistics and dates"),
)


def questions(document: Document) -> ReportSection:
    """Return the questions of guidance on anonymity, each with what the report tells of it."""
    rows = tuple(
        (Cell(question, note=where), Cell(measured), Cell(missing))
        for where, question, measured, missing in _question_rows(document)
    )
    table = ReportTable("Extraction, queries and means", HEADINGS, rows, (30, 36, 34))
    return ReportSection(
        "questions",
        "Questions of guidance on anonymity",
        (Paragraph(INTRO), table, Paragraph(LABELS_TELL)),
    )


def _question_rows(document: Document) -> Iterator[tuple[str, str, str, str]]:
    yield (
        OPINION,
        (
            "How likely is it that personal data can be extracted from the model directly, "
            "with certainty or with a probability?"
        ),
        _measured_words(
            document, EXTRACTION.get(document.model.task, EXTRACTION["classification"])
        ),
        "Adversaries who know more than is listed under “Adversary and knowledge assumed”."
        + _undecided_clauses(document),
    )
    yield (
        OPINION,
        "How likely is it that queries yield personal data, intentionally or not?",
        "The audit of the file covers this: each answer of the model follows from the file, so answers cannot disclose "
        "more than the row above states.",
        f"{NOT_MEASURED} Queries to a model whose file stays secret were not tested.{_other_answers(document)}",
    )
    yield (
        OPINION,
        "Does the model hold records of its training data as such?",
        _measured_words(document, BESIDE),
        "Whether a record could be reproduced from other sources than the file."
        if _reading_text(document, "side_leaks") or document.redacted_below is not None
        else f"{NOT_MEASURED} The rest of the file was not read, so its content is unknown.",
    )
    yield (
        OPINION,
        "Can an adversary find out whether a person's data were used for the training (membership inference)?",
        *_membership_words(document),
    )
    yield from _means_rows(document)


def _means_rows(document: Document) -> Iterator[tuple[str, str, str, str]]:
    yield (
        f"{RECITAL}; {OPINION}",
        "Which means are reasonably likely to be used, by the controller or by another person?",
        (
            "The strongest inference from the columns that are assumed known for everyone: "
            f"{_known_columns(document)}. It is not limited by cost, time or skill."
        ),
        "Which means are likely: whether others can get these columns, at what cost and with what technology, now or "
        "later. This needs knowledge of the recipients and of other sources.",
    )
    yield (
        RECITAL,
        "Can a person be singled out?",
        _measured_words(document, GROUPS.get(document.model.task, GROUPS["classification"])),
        "Singling out by columns that the model does not test.",
    )
    earlier = document.provenance.earlier
    yield (
        f"{RECITAL}; {INTRUDER}",
        "Can the model be linked with other data about the same people?",
        f"Linked with {len(earlier):,} earlier {'release' if len(earlier) == 1 else 'releases'} of the same people."
        if earlier
        else "Linked with a register of everyone's known columns, which the adversary is assumed to hold."
        + _linked_outputs(document),
        "Links to further registers, publications or models of the same people.",
    )
    others = [adversary.name for adversary in document.adversaries]
    yield (
        INTRUDER,
        "Would a motivated intruder, who starts without prior knowledge, succeed?",
        f"Adversaries with partial knowledge: {listed(others)}."
        if others
        else "The audit assumes a stronger adversary, who has already found the known columns of everyone.",
        f"{NOT_MEASURED} Nobody searched public sources, asked around or tried to identify real people. If this report "
        "does not pass, such a test can show how much of the assumed knowledge is really available.",
    )
    yield (
        INTRUDER,
        "Who gets access, and what would they want to know?",
        NOT_MEASURED if not document.purpose else f"As stated by the owner: {document.purpose}",
        "Recipients, contracts and access safeguards cannot be seen in the file or the table.",
    )


def _known_columns(document: Document) -> str:
    names = document.population.quasi_identifiers
    return listed([with_label(document, name) for name in names]) or "no column"


def _membership_words(document: Document) -> tuple[str, str]:
    """Return what was measured of membership, and what was not."""
    if _reading_text(document, "membership_proved"):
        return (
            _measured_words(document, MEMBERSHIP),
            "Registers that hold other people, or more columns, than the one that was given.",
        )
    return (
        NOT_MEASURED,
        (
            "The adversary is assumed to know who is in the table. If membership itself is "
            "sensitive, repeat the audit with a register of candidates."
        ),
    )


def _reading_text(document: Document, measure: str) -> str:
    """Return what a measure read, in words; "" where it was not told."""
    reading = document.readings.get(measure)
    return "" if reading is None or reading.low is None else reading.text


def _measured_words(document: Document, measures: tuple[tuple[str, str], ...]) -> str:
    """Return what measures read, each after its name, and of those that read nothing why."""
    told, untold, reasons = [], [], []
    for name, words in measures:
        reading = document.readings.get(name)
        if reading is None:
            continue
        if reading.low is not None:
            told.append(f"{words}: {reading.text}")
        elif reading.reason and document.redacted_below is None:
            untold.append(f"{words} ({reading.reason})")
            reasons.append(sentence(reading.reason))
    if not told:
        if document.redacted_below is not None:
            return f"Measured or not decided: {REDACTED}."
        return " ".join([NOT_MEASURED, *dict.fromkeys(reasons)])
    known = sentence("; ".join(told))
    return f"{known} Not decided: {'; '.join(untold)}." if untold else known


def _linked_outputs(document: Document) -> str:
    """Return that what is published with the model was judged with it, as a sentence behind another."""
    names = [output.name for output in document.provenance.outputs]
    return f" Also linked with what is published with the model: {listed(names)}." if names else ""


def _other_answers(document: Document) -> str:
    """Return that answers of other versions were not looked at, where none was audited together with this one."""
    if document.provenance.earlier:
        return ""
    return " Answers of its earlier or later versions were not tested either."


def _undecided_clauses(document: Document) -> str:
    """Return which checks could not be decided, as a sentence behind another."""
    undecided = [each.clause for each in document.findings if each.verdict == "UNDETERMINED"]
    return f" Not decided: {listed(undecided)}." if undecided else ""


# The terms that a report uses, for its signatory.

TERMS = (
    (
        "Adversary",
        "A person who reads the published model in order to learn something about somebody.",
    ),
    ("Leaf", "The end of a path in the tree. All people in a leaf meet the same conditions."),
    (
        "Quasi-identifier",
        "A column that an adversary may know about a person from elsewhere, such as age or education.",
    ),
    (
        "Group",
        "All people with the same quasi-identifiers. The adversary cannot distinguish them.",
    ),
    (
        "Inference",
        "The best conclusion of an adversary about each group, from everything known (maximum entropy).",
    ),
    ("Proved", "The value is the same in every table that could have produced the published file."),
    (
        "Not decided",
        "Neither proved nor refuted in the available time. It never counts as safe.",
    ),
    ("Check", "One requirement of the policy: a metric and its limit."),
    ("PASS", "All required checks pass, even at the worse end of each range."),
    ("FAIL", "At least one required check failed."),
    (
        "UNDETERMINED",
        "No required check failed, but at least one could not be decided. Treat it as FAIL.",
    ),
    ("SHA-256", "A fingerprint of a file. It changes if a single byte of the file changes."),
)


def terms() -> ReportSection:
    """Return the page of terms."""
    rows = tuple((Cell(term), Cell(meaning)) for term, meaning in TERMS)
    blocks: tuple[Block, ...] = (
        ReportTable("Terms of this report", ("Term", "Meaning"), rows, (25, 75)),
    )
    return ReportSection("terms", "Terms", blocks)


SETTINGS = {
    "worlds-budget": "more time for proofs",
    "worlds-all": "a search for all proofs",
    "no-worlds": "the setting that leaves out proofs",
    "sensitive": "the sensitive column that was named",
    "secret": "the secret column that was named",
    "qi": "the list of quasi-identifiers",
    "id": "the column that says who is who",
    "weights": "the column of frequencies",
    "sampling-weights": "the column of survey weights",
    "data": "the table",
    "time-limit": "more time for inference",
    "row-order": "what is known of the order of records",
    "learner": "the training program that was named",
    "min-leaf": "the smallest leaf that the training allowed",
}
"""What stands for a flag in a sentence."""
ASIDE = re.compile(r"\s*\((?:say |see |give )?--[a-z][a-z-]*(?: [A-Z][A-Z|,\[\].]*)?\)")
LARGER = re.compile(r"\ba larger (?=--(?:worlds-budget|time-limit)\b)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?:[ =][A-Z][A-Z_|,\[\].]*\b)?")
QUOTED = re.compile(r"['‘`]([\w-]+)['’`]")
NAMES = "anonymize|attest|audit|convert|demo|doctor|gate|grow|inspect|list|policy|redact|repair|sanitize|serve|verify"
COMMAND = re.compile(
    rf"['`‘“]?\btreewarden ({NAMES})\b['`’”]?(?= )|['`‘“]treewarden ({NAMES})['`’”]"
)


def signed(text: str) -> str:
    """Return a sentence without flags and commands: what they ask for, in words."""
    if "--" not in text and "treewarden " not in text:
        return text
    text = LARGER.sub("", ASIDE.sub("", text))
    text = FLAG.sub(
        lambda flag: SETTINGS.get(flag[1], f"the setting “{flag[1].replace('-', ' ')}”"), text
    )
    return COMMAND.sub(lambda command: f"the program's {command[1] or command[2]}", text)


def named_clauses(document: Document) -> Document:
    """Return a document whose clauses have names in words: what they measure, and the limit where two measure the same.

    One that combines several or is about the evidence has no measure: its id is read as words.
    """
    names = _names_of(document.findings)
    for row in document.not_judged:
        if row.plain and row.name not in names:
            names[row.name] = capital(row.plain)

    def name(clause: str) -> str:
        return names.get(clause) or capital(clause.replace("-", " ").replace("_", " "))

    def failing(side: Side | None) -> Side | None:
        if side is None:
            return None
        return side.model_copy(update={"failing": tuple(map(name, side.failing))})

    def in_words(text: str) -> str:
        return QUOTED.sub(lambda quoted: f"“{names.get(quoted[1], quoted[1])}”", text)

    findings = tuple(
        each.model_copy(update={"clause": name(each.clause), "message": in_words(each.message)})
        for each in document.findings
    )
    not_judged = tuple(
        row.model_copy(update={"name": name(row.name)}) for row in document.not_judged
    )
    repair = document.repair
    if repair is not None:
        sides = {"before": failing(repair.before), "after": failing(repair.after)}
        repair = repair.model_copy(update={**sides, "message": in_words(repair.message)})
    changed = {"findings": findings, "not_judged": not_judged, "repair": repair}
    return document.model_copy(update=changed)


def _names_of(findings: Sequence[Finding]) -> dict[str, str]:
    """Return a name for the clause of each finding; clauses that stand for several releases have one name."""
    single = [each for each in findings if each.plain and each.measure and not each.parts]
    plain = {each.clause: capital(each.plain) for each in single}
    for each in findings:
        combined = "; ".join(dict.fromkeys(part.plain for part in each.parts))
        if combined and each.measure != "not":
            plain[each.clause] = capital(combined)
    limits = {each.clause: each.limit_text for each in findings}
    times = Counter(plain.values())
    named: dict[str, str] = {}
    for clause, words in plain.items():
        said = words if times[words] == 1 else f"{words} ({limits[clause]})"
        again = sum(other.startswith(said) for other in named.values())
        named[clause] = f"{said}, {again + 1}" if said in named.values() else said
    return named


def words_of_code(name: str) -> str:
    """Return an id of code as words: ``skops_file`` is "skops file"."""
    return name.replace("_", " ")


OF_PATHS = ("waivers", "risk", "unexamined", "repair")
"""Sections that tell of places in trees; the others quote people, or say what they mean with labels already."""


def signed_section(section: ReportSection, columns: Sequence[ColumnMeaning] = ()) -> ReportSection:
    """Return a section in words for whoever signs it; conditions of paths in those of the ``columns``."""
    conditions = LabelledConditions(columns) if columns and section.ident in OF_PATHS else None

    def in_words(text: str) -> str:
        return signed(text if conditions is None else conditions.in_words(text))

    blocks = tuple(_block(block, in_words) for block in section.blocks)
    return replace(section, blocks=blocks)


def _block(block: Block, in_words: Callable[[str], str]) -> Block:
    if isinstance(block, Paragraph):
        return replace(block, text=in_words(block.text))
    if isinstance(block, Items):
        return replace(block, items=tuple(map(in_words, block.items)))
    if isinstance(block, ReportTable):
        rows = tuple(tuple(_cell(cell, in_words) for cell in row) for row in block.rows)
        return replace(block, rows=rows)
    return block


def _cell(cell: Cell, in_words: Callable[[str], str]) -> Cell:
    if cell.kind == "code":
        return cell
    return replace(cell, text=in_words(cell.text), note=signed(cell.note), aside=signed(cell.aside))


def labelled_columns(document: Document) -> Document:
    """Return a document that names the columns that an adversary knows by their labels."""
    assumed = document.assumed_known
    if not document.columns:
        return document
    names = document.population.quasi_identifiers
    before = f": {', '.join(names)}."
    after = f": {'; '.join(with_label(document, name) for name in names)}."
    sentences = tuple(each.replace(before, after) for each in document.knowledge.sentences)
    changed: dict[str, object] = {
        "knowledge": document.knowledge.model_copy(update={"sentences": sentences})
    }
    if assumed is not None:
        columns = tuple(with_label(document, name) for name in assumed.columns)
        proved = tuple(
            each.model_copy(
                update={
                    "text": with_label(document, each.column) + each.text.removeprefix(each.column)
                }
            )
            for each in assumed.proved
        )
        changed["assumed_known"] = assumed.model_copy(update={"columns": columns, "proved": proved})
    return document.model_copy(update=changed)

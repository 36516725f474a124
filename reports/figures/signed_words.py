"""Words for whoever signs: a report that is filed names no flag of a command and no id of code."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from treewarden.policies.words import capital
from treewarden.reports.document.document import Document, Side
from treewarden.reports.document.parts import Finding
from treewarden.reports.figures.remaining import (
    Block,
    Cell,
    Items,
    Paragraph,
    ReportSection,
    ReportTable,
)

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
    "time-limit": "the time for inference",
    "row-order": "what is known of the order of records",
    "learner": "the training program that was named",
    "min-leaf": "the smallest leaf that the training allowed",
}
"""What stands for a flag in a sentence."""
SENTENCES = {"--redacted writes one without them": "a redacted report leaves them out"}
ASIDE = re.compile(r"\s*\((?:say |see |give )?--[a-z][a-z-]*(?: [A-Z][A-Z|,\[\].]*)?\)")
FLAG = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?:[ =][A-Z][A-Z_|,\[\].]*\b)?")
QUOTED = re.compile(r"['‘`]([\w-]+)['’`]")
COMMAND = re.compile(r"['`‘“]?\btreewarden ([a-z]+)\b['`’”]?(?= )|['`‘“]treewarden ([a-z]+)['`’”]")


def signed(text: str) -> str:
    """Return a sentence without flags and commands: what they ask for, in words."""
    if "--" not in text and "treewarden " not in text:
        return text
    for said, signed_said in SENTENCES.items():
        text = text.replace(said, signed_said)
    text = ASIDE.sub("", text)
    text = FLAG.sub(
        lambda flag: SETTINGS.get(flag[1], f"the setting “{flag[1].replace('-', ' ')}”"), text
    )
    return COMMAND.sub(lambda command: f"the program's {command[1] or command[2]}", text)


def named_clauses(document: Document) -> Document:
    """Return a document whose clauses have names in words: what they measure, and the limit where two measure the same.

    One that was not judged, combines several or is about the evidence has no measure: its id is read as words.
    """
    names = _names_of(document.findings)

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


def signed_section(section: ReportSection) -> ReportSection:
    """Return a section in words for whoever signs it."""
    return replace(section, blocks=tuple(map(_block, section.blocks)))


def _block(block: Block) -> Block:
    if isinstance(block, Paragraph):
        return replace(block, text=signed(block.text))
    if isinstance(block, Items):
        return replace(block, items=tuple(map(signed, block.items)))
    if isinstance(block, ReportTable):
        return replace(block, rows=tuple(tuple(map(_cell, row)) for row in block.rows))
    return block


def _cell(cell: Cell) -> Cell:
    if cell.kind == "code":
        return cell
    return replace(cell, text=signed(cell.text), note=signed(cell.note), aside=signed(cell.aside))

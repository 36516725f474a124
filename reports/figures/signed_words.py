"""Words for whoever signs: a report that is filed names no flag of a command and no id of code."""

from __future__ import annotations

import re
from dataclasses import replace

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

"""What stands in an XML file between its elements and is no part of a model: text, instructions, types, namespaces."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from xml.parsers import expat

from treewarden.ppdm_models.codecs.common.xml_edit import Document, Edit
from treewarden.ppdm_models.codecs.pmml.leaks.known import NAMESPACES, PREFIX

CDATA = b"<![CDATA["


@dataclass(slots=True)
class Unread:
    """One kind of place: where it stands first, how often, and the edits that take it out (None: it stays)."""

    start: int
    line: int
    often: int = 0
    edits: list[Edit] | None = field(default_factory=list)


class Markup:
    """Notes what nobody reads while a parser walks over a file."""

    def __init__(self, document: Document) -> None:
        self.document, self.data = document, document.data
        self.found: dict[str, Unread] = {}
        self.around: list[str] = [""]
        self.text_at, self.text_line = -1, 0
        self.prefixes: list[str] = []
        self.doctype_at: tuple[int, int] | None = None
        encoding = "utf-8" if document.is_recoded else None
        self.parser = expat.ParserCreate(encoding, namespace_separator=" ")
        self.parser.ProcessingInstructionHandler = self.instruction
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.EndDoctypeDeclHandler = self.end_doctype
        self.parser.CommentHandler = lambda _text: self.close_text()
        self.parser.StartNamespaceDeclHandler = self.namespace

    def note(self, what: str, at: int, line: int, edit: Edit | None) -> None:
        one = self.found.setdefault(what, Unread(at, line))
        one.often += 1
        if edit is None:
            one.edits = None
        elif one.edits is not None:
            one.edits.append(edit)

    def open_text(self) -> None:
        """Note where text begins that is no part of the model."""
        self.text_at = self.parser.CurrentByteIndex
        self.text_line = self.parser.CurrentLineNumber

    def close_text(self) -> None:
        if self.text_at >= 0:
            start, end, self.text_at = self.text_at, self.parser.CurrentByteIndex, -1
            begun = self.data.rfind(CDATA, max(0, start - 1_000_000), start)
            if begun >= 0 and b"]]>" not in self.data[begun:start]:
                start = begun
            self.note(f"text in {self.around[-1]}", start, self.text_line, Edit(start, end))

    def instruction(self, target: str, _data: str) -> None:
        self.close_text()
        at = self.parser.CurrentByteIndex
        end = self.data.index(b"?>", at) + 2
        what = f"a processing instruction {target[:40]!r}"
        self.note(what, at, self.parser.CurrentLineNumber, Edit(at, end))

    def doctype(self, *_names: object) -> None:
        start = self.data.rfind(b"<!DOCTYPE", 0, self.parser.CurrentByteIndex + 9)
        self.doctype_at = (start, self.parser.CurrentLineNumber)

    def end_doctype(self) -> None:
        if self.doctype_at is not None:
            start, line = self.doctype_at
            end = self.data.find(b">", self.parser.CurrentByteIndex) + 1
            self.note(
                "a document type", start, line, Edit(start, end) if 0 <= start < end else None
            )

    def namespace(self, prefix: str | None, uri: str | None) -> None:
        if not (NAMESPACES.fullmatch(uri or "") and PREFIX.fullmatch(prefix or "")):
            self.prefixes.append(prefix or "")

    def note_prefixes(self, local: str, at: int, line: int) -> None:
        """Note the namespaces that an element declares, of a kind that no such file needs."""
        for prefix in self.prefixes:
            name = self.document.encoded(f"xmlns:{prefix}" if prefix else "xmlns")
            edit = attribute_edit(self.data, at, self.end_of_tag(at), re.escape(name))
            self.note(f"a namespace in {local[:40]}", at, line, edit)
        self.prefixes.clear()

    def end_of(self, start: int) -> int:
        """Return where the element ends that began at a byte and is just left."""
        end = self.end_of_tag(start)
        if self.data[end - 2 : end] == b"/>":
            return end
        return self.data.index(b">", self.parser.CurrentByteIndex) + 1

    def end_of_tag(self, start: int) -> int:
        """Return where a tag ends: quotes may hold what closes others."""
        at, quote = start, b""
        while True:
            byte = self.data[at : at + 1]
            if quote:
                quote = b"" if byte == quote else quote
            elif byte in (b'"', b"'"):
                quote = byte
            elif byte == b">":
                return at + 1
            at += 1


def attribute_edit(data: bytes, start: int, end: int, name: bytes) -> Edit | None:
    """Return the edit that takes an attribute of the tag between two bytes off."""
    found = re.search(rb"\s+" + name + rb"\s*=\s*(?:\"[^\"]*\"|'[^']*')", data[start:end])
    return None if found is None else Edit(start + found.start(), start + found.end())

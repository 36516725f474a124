"""Finds what stands in a PMML file and is no part of its model: no list of bad places, but of all that is known.

An element, attribute or text that is not known (``known``) may hold anything, a record as well as a comment.
Nobody could judge it, so it is named, once for each kind of place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from ppdm_models.codecs.common.xml import run
from ppdm_models.codecs.common.xml_edit import Document, Edit, Span
from ppdm_models.codecs.pmml.leaks.found import Found
from ppdm_models.codecs.pmml.leaks.known import (
    ASIDE,
    FOUND_ELSEWHERE,
    ID,
    IDS,
    KNOWN,
    LOCATION,
    NAME,
    NAMES,
    NAMESPACE,
    OUTPUT,
    OWN,
    PLAIN,
    READ,
    SCHEMA,
    SENTENCES,
    VERSION,
    WITH_TEXT,
    WORD,
    WRITTEN,
)
from ppdm_models.tree.leaks import Leak, LeakKind

ASKING = {"field", "textField", "targetField", "targetFieldName"}
"""Attributes that name the field which an element is about."""
CDATA = b"<![CDATA["


@dataclass(slots=True)
class _Unread:
    """One kind of place: where it stands first, how often, and the edits that take it out (None: it stays)."""

    start: int
    line: int
    often: int = 0
    edits: list[Edit] | None = field(default_factory=list)


def unread(document: Document) -> Iterator[tuple[int, Found]]:
    """Yield what is no part of the model, with where it first stands, in bytes."""
    finder = _Finder(document)
    run(finder.parser, document.data, "model.pmml")
    finder.note_idle()
    for what, one in finder.found.items():
        times = "" if one.often == 1 else f", {one.often} times"
        said = f"{what}{times}: no part of the model, read it"
        leak = Leak(LeakKind.UNKNOWN, f"line {one.line}", said, None, one.edits is not None)
        yield one.start, Found(leak, tuple(one.edits or ()))


class _Finder:
    """Walks over the file once and holds what it does not know."""

    def __init__(self, document: Document) -> None:
        self.document, self.data = document, document.data
        self.found: dict[str, _Unread] = {}
        self.around: list[str] = []
        self.hidden = 0
        """How deep inside something that is named whole."""
        self.opened: tuple[str, int, int] | None = None
        self.is_aside = False
        self.text_at = -1
        self.declared: dict[str, tuple[int, int]] = {}
        self.used: set[str] = set()
        self.field = "", (0, 0)
        encoding = "utf-8" if document.is_recoded else None
        self.parser = expat.ParserCreate(encoding, namespace_separator=" ")
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.words
        self.parser.ProcessingInstructionHandler = self.instruction
        self.parser.StartDoctypeDeclHandler = self.doctype
        self.parser.CommentHandler = lambda _text: self.close_text()

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.close_text()
        space, _, local = name.rpartition(" ")
        at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        self.around.append(local)
        if self.hidden:
            self.hidden += 1
            return
        if (space and not NAMESPACE.fullmatch(space)) or (
            local == "Extension" and not _is_read(attributes, self.around[:-1])
        ):
            self.hide(f"an element {local[:40]!r}", at, line)
            self.is_aside = True
        elif local in FOUND_ELSEWHERE:
            self.hidden = 1
        elif local not in KNOWN:
            self.hide(f"an element {local[:40]!r}", at, line)
            self.is_aside = local in ASIDE
        else:
            self.attributes(local, attributes, at, line)

    def hide(self, what: str, at: int, line: int) -> None:
        self.hidden, self.opened = 1, (what, at, line)

    def attributes(self, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        if local in ("DataField", "DerivedField"):
            self.field = attributes.get("name", ""), (at, line)
        elif local in ("Value", "Constant", "MapValues"):
            self.declared.setdefault(*self.field)
        elif local == "MiningField":
            self.used.add(attributes.get("name", ""))
        elif local == "Extension" and attributes.get("name") in READ:
            self.used.add(self.field[0])  # known by another name too
        self.used |= {attributes[name] for name in ASKING & attributes.keys()}
        for name, value in attributes.items():
            if value and not _is_known(local, name, value):
                span = Span(local, attributes, line, at)
                edit = None if " " in name else self.document.attribute(span, name, None)
                self.note(f"{name.rpartition(' ')[2][:40]!r} of {local}", at, line, edit)

    def note_idle(self) -> None:
        """Note fields with values that nothing asks for: these are no part of the model."""
        for name, (at, line) in self.declared.items():
            if name not in self.used:
                self.note("values of a field that no model asks for", at, line, None)

    def end(self, _name: str) -> None:
        self.close_text()
        self.around.pop()
        if not self.hidden:
            return
        self.hidden -= 1
        if not self.hidden and self.opened is not None:
            what, start, line = self.opened
            self.opened = None
            end = self._end_of_tag(start)
            if self.data[end - 2 : end] != b"/>":
                end = self.data.index(b">", self.parser.CurrentByteIndex) + 1
            self.note(what, start, line, Edit(start, end) if self.is_aside else None)

    def _end_of_tag(self, start: int) -> int:
        """Return where an element that is one tag ends: quotes may hold what closes others."""
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

    def words(self, text: str) -> None:
        if (
            text.strip()
            and not self.hidden
            and self.text_at < 0
            and self.around[-1] not in WITH_TEXT
        ):
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
        at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
        self.note("a document type", at, line, None)

    def note(self, what: str, at: int, line: int, edit: Edit | None) -> None:
        one = self.found.setdefault(what, _Unread(at, line))
        one.often += 1
        if edit is None:
            one.edits = None
        elif one.edits is not None:
            one.edits.append(edit)


def _is_read(attributes: dict[str, str], around: list[str]) -> bool:
    """Return whether an extension says something of the model: our own, or what readers of other programs' need."""
    name, value = attributes.get("name", ""), attributes.get("value", "")
    if name in OWN:
        parents, said = OWN[name]
        return around[-1] in parents and said.fullmatch(value) is not None
    return name in READ and WORD.fullmatch(value) is not None


def _is_known(local: str, name: str, value: str) -> bool:
    if name == LOCATION:
        return SCHEMA.fullmatch(value) is not None
    if name not in KNOWN[local] or name in SENTENCES:
        return False
    if name in NAMES or (local == "Application" and name == "name"):
        return NAME.fullmatch(value) is not None
    if local in IDS and name == "id":
        return ID.fullmatch(value) is not None
    if local in ("OutputField", "ResultField") and name == "name":
        return OUTPUT.fullmatch(value) is not None
    if local in ("Application", "PMML") and name == "version":
        return VERSION.fullmatch(value) is not None
    return name in WRITTEN or PLAIN.fullmatch(value) is not None

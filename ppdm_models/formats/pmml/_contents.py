"""What stands in a PMML model itself and may say more than it: digits, numbers of parts, long lists of values."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from string import ascii_lowercase
from xml.parsers import expat

from treewarden.ppdm_models.formats.common.origin import (
    MOST_SIGNS,
    has_digits_of_double,
    is_marker,
    is_number,
)
from treewarden.ppdm_models.formats.common.xml_edit import Edit, ElementSpan, XmlDocument
from treewarden.ppdm_models.formats.pmml._known_elements import COUNTS, NAMESPACES, PREFIX
from treewarden.ppdm_models.formats.pmml._references import ElementSite
from treewarden.ppdm_models.formats.pmml._values import ITEM

# What stands in an XML file between its elements and is no part of a model: text, instructions, types, namespaces.

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

    def __init__(self, document: XmlDocument, parser: expat.XMLParserType) -> None:
        self.document, self.data, self.parser = document, document.data, parser
        self.found: dict[str, Unread] = {}
        self.around: list[str] = [""]
        self.text_at, self.text_line = -1, 0
        self.prefixes: list[str] = []
        self.doctype_at: tuple[int, int] | None = None
        parser.ProcessingInstructionHandler = self.instruction
        parser.StartDoctypeDeclHandler = self.doctype
        parser.EndDoctypeDeclHandler = self.end_doctype
        parser.StartNamespaceDeclHandler = self.namespace

    def note(self, what: str, at: int, line: int, edit: Edit | None) -> None:
        unread = self.found.setdefault(what, Unread(at, line))
        unread.often += 1
        if edit is None:
            unread.edits = None
        elif unread.edits is not None:
            unread.edits.append(edit)

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


# Long lists of values in a PMML file that no test needs: they say what is in the table, whatever the trees do.

MOST_UNTESTED = 100
"""So many declared values of one field may be tested nowhere: programs list all levels of a factor."""


@dataclass(slots=True)
class DeclaredValues:
    """The values that one field declares, and how many signs for no value."""

    line: int
    start: int
    valid: list[str] = field(default_factory=list)
    signs: int = 0


@dataclass(frozen=True, slots=True)
class ValueList:
    """A list of values that nobody could judge, and where it stands."""

    what: str
    start: int
    line: int


class ValueLists:
    """Gathers which values fields declare, and which of them a test, a computed field or a result names."""

    def __init__(self) -> None:
        self.declared: dict[str, DeclaredValues] = {}
        self.numbers: set[str] = set()
        """The fields that are numbers."""
        self._texts: set[str] = set()
        self._named: set[str] = set()
        self._conditions: list[tuple[str, list[str], int, int]] = []

    def declare(self, name: str, text: str, line: int, start: int, *, is_valid: bool) -> None:
        """Note one value that a field declares."""
        values = self.declared.setdefault(name, DeclaredValues(line, start))
        if is_valid:
            values.valid.append(text.strip())
            self._texts.add(text.strip())
        else:
            values.signs += 1

    def mention(self, text: str) -> None:
        """Note that something other than its declaration names a value, or might."""
        if self._texts and text.strip() in self._texts:
            self._named.add(text.strip())

    def condition(self, name: str, values: list[str], line: int, start: int) -> None:
        """Note the values that a test of a set lists."""
        for value in values:
            self.mention(value)
        if len(values) > MOST_UNTESTED:
            self._conditions.append((name, values, line, start))

    def unneeded(self, targets: Collection[str], predicted: Collection[str]) -> Iterator[ValueList]:
        """Yield the lists that no test needs, nor any node that predicts one of ``targets``."""
        predicted = {text.strip() for text in predicted}
        for name, values in self.declared.items():
            signs = values.signs if values.signs > MOST_SIGNS else 0
            if name in self.numbers:
                count, what = len(values.valid) + signs, f"declared for the number {name!r}"
            else:
                known = predicted if name in targets else self._named
                untested = sum(text not in known for text in values.valid)
                count = untested if untested > MOST_UNTESTED else 0
                what = f"declared for {name!r}, which no node uses"
            if count:
                yield ValueList(f"a list of {count} values, {what}", values.start, values.line)
        for name, texts, line, start in self._conditions:
            what = f"in a test of the number {name!r}"
            odd = len(texts) if name in self.numbers else 0
            if name in self.declared and not odd:
                valid = set(self.declared[name].valid)
                odd = sum(text.strip() not in valid for text in texts)
                what = f"in a test of {name!r}, which does not declare them"
            if odd > MOST_UNTESTED:
                yield ValueList(f"a list of {odd} values, {what}", start, line)


# Constants in the fields that a PMML file computes: a branch that is never taken may hold anything.

MOST_CONSTANTS, MOST_OF_CLASS = 16, 4
"""So many numbers of their own may computed fields hold, and so many more for each class."""


class Constants:
    """Gathers the constants of computed fields, and what tests compare with."""

    def __init__(self) -> None:
        self.compared: set[str] = set()
        """The values that tests of trees compare with."""
        self.texts: list[tuple[str, int, int]] = []
        """The texts, each with where it stands and its line."""
        self.numbers: list[tuple[int, int]] = []
        self.applied: list[list[str]] = []
        """The operands of the functions around what is read."""

    def open(self, local: str, parent: str) -> None:
        """Note that an element begins inside another."""
        if parent == "Apply" and self.applied:
            self.applied[-1].append(local)
        if local == "Apply":
            self.applied.append([])

    def is_constant(self) -> bool:
        """Leave a function, and return whether it works on nothing but constants: it computes nothing of a record."""
        operands = self.applied.pop()
        is_constant = bool(operands) and set(operands) == {"Constant"}
        if is_constant and self.applied:
            self.applied[-1][-1] = "Constant"
        return is_constant

    def add(self, text: str, at: int, line: int) -> None:
        """Note a constant."""
        if is_number(text):
            self.numbers.append((at, line))
        elif not is_marker(text):
            self.texts.append((text.strip(), at, line))

    def unaccounted(self, labels: Collection[str], classes: int) -> Iterator[tuple[str, int, int]]:
        """Yield what no field declares (``labels``) and no test compares with, and numbers beyond the limit."""
        for text, at, line in self.texts:
            if text not in labels and text not in self.compared:
                yield "text of a Constant that is not a value of the model", at, line
        if len(self.numbers) > MOST_CONSTANTS + MOST_OF_CLASS * classes:
            yield f"{len(self.numbers)} numbers in computed fields", *self.numbers[0]


class Contents(Markup):
    """Looks at the texts, lists and counted parts of a model while a parser walks over its file."""

    def __init__(self, document: XmlDocument, parser: expat.XMLParserType) -> None:
        super().__init__(document, parser)
        self.lists = ValueLists()
        self.constants = Constants()
        self.odd_names: list[tuple[str, dict[str, str], int, int]] = []
        """The attributes that call a node by more than a number: which, of which element, its place and line."""
        self.is_renamable = True
        self.result: ElementSite | None = None
        """The OutputField around what is read; its texts are judged with it."""
        self.spoken: list[str] = []
        """The text of an open element whose text belongs to the model."""
        self.spoken_depth = 0
        self.counted: tuple[str, int, int, dict[str, str]] | None = None
        """The element around what is read that says how many parts it has, where it stands, and its attributes."""
        self.parts = 0
        self.tested: tuple[str, int, int] | None = None
        """The field that the set around what is read is a test of, and where it stands."""

    def open_contents(self, local: str, attributes: dict[str, str], at: int, line: int) -> None:
        """Note where parts are counted, and which field a set is a test of."""
        self.constants.open(local, self.around[-2])
        if local in COUNTS:
            self.counted, self.parts = (local, at, line, attributes), 0
        elif self.counted is not None and local == COUNTS[self.counted[0]][1]:
            self.parts += 1
        elif local == "SimpleSetPredicate":
            self.tested = (attributes.get("field", ""), at, line)

    def close_contents(self, local: str) -> None:
        """Look at an element of these that is left."""
        if self.counted is not None and local == self.counted[0]:
            self.close_counted(*self.counted)
            self.counted = None
        elif local == "SimpleSetPredicate":
            self.tested = None
        elif local == "Apply" and self.constants.applied and self.constants.is_constant():
            at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
            self.note("an expression that has only constants", at, line, None)

    def speak(self, text: str) -> None:
        """Note a piece of text that belongs to the model; comments and characters part texts into pieces."""
        self.spoken.append(text)
        self.spoken_depth = len(self.around)

    def close_counted(self, local: str, at: int, line: int, attributes: dict[str, str]) -> None:
        """Note a number of parts that is another than there are: it says something else."""
        name, _ = COUNTS[local]
        told = attributes.get(name, "").strip()
        if is_number(told) and float(told) != self.parts:
            edit = self.without(local, attributes, name, at, line)
            self.note(f"{name!r} of {local} that is not their number", at, line, edit)

    def close_spoken(self, local: str) -> None:
        """Look at the whole text of an element whose text belongs to the model."""
        text = "".join(self.spoken)
        self.spoken.clear()
        words = [text]
        if local == "Array":
            words = [bare or quoted for quoted, bare in ITEM.findall(text)]
        for word in words:
            self.lists.mention(word)
            if is_number(word) and not has_digits_of_double(word):
                at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
                self.note("a number of more digits than a double holds", at, line, None)
        if local == "Constant" and (self.result is None or is_number(text)):
            at, line = self.parser.CurrentByteIndex, self.parser.CurrentLineNumber
            self.constants.add(text, at, line)
        if local == "Array" and self.tested is not None:
            field, at, line = self.tested
            self.constants.compared.update(word.strip() for word in words)
            self.lists.condition(field, words, line, at)

    def note_odd_names(self) -> None:
        """Note nodes that are called by more than numbers; they can be called by numbers instead."""
        starts = (letter for letter in ascii_lowercase if not self.is_begun_with(f"{letter}1_"))
        start = next(starts, None) if self.is_renamable else None
        new: dict[str, str] = {}
        for name, attributes, at, line in self.odd_names:
            edit = None
            if start is not None:
                number = new.setdefault(attributes[name], f"{start}1_{len(new) + 1}")
                edit = self.document.attribute(
                    ElementSpan("Node", attributes, line, at), name, number
                )
            self.note(f"{name!r} of Node", at, line, edit)

    def is_begun_with(self, text: str) -> bool:
        """Return whether some attribute of the file may begin with a text."""
        return any(self.document.encoded(quote + text) in self.data for quote in "\"'")

    def without(
        self, local: str, attributes: dict[str, str], name: str, at: int, line: int
    ) -> Edit | None:
        """Return the edit that takes an attribute off."""
        space, _, plain = name.rpartition(" ")
        if not space:
            return self.document.attribute(ElementSpan(local, attributes, line, at), name, None)
        said = rb"[^\s=:\"'<>]+:" + re.escape(self.document.encoded(plain))
        return attribute_edit(self.data, at, self.end_of_tag(at), said)

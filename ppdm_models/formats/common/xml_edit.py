"""Where the elements of an XML file stand, byte by byte, so that a part can be changed and all else stays as it was."""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from treewarden.ppdm_models.formats.common.xml import run
from treewarden.ppdm_models.formats.common.xml_elements import local_name

ATTRIBUTE = r"""\s+{name}\s*=\s*("[^"]*"|'[^']*')"""
START_TAG = re.compile(rb"""<[^\s/>]+(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*/?>""")
TELLING = ("Partition", "InlineTable")
"""What inside nodes tells of records."""
QUOTED = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
BLANKS_BEFORE = re.compile(rb"\r?\n?[ \t]*\Z")


@dataclass(slots=True, eq=False)
class ElementSpan:
    """One element (or comment) with the bytes it takes: from ``start`` up to ``end``."""

    name: str
    attributes: dict[str, str]
    line: int
    start: int
    end: int = 0
    inner_end: int = 0
    children: list[ElementSpan] = field(default_factory=list)
    text: str = ""

    def within(self, *names: str) -> Iterator[ElementSpan]:
        """Yield the element and all inside it that has one of these names (any, without names), in document order."""
        stack = [self]
        while stack:
            span = stack.pop()
            if not names or span.name in names:
                yield span
            stack.extend(reversed(span.children))


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes that replace those from ``start`` up to ``end``."""

    start: int
    end: int
    new: bytes = b""


NODE, PASSED = ElementSpan("Node", {}, 0, 0), ElementSpan("", {}, 0, 0)
"""What stands for a node and for another element of which nothing is kept."""


class XmlDocument:
    """The bytes of an XML file, in an encoding that has ASCII in it, with its elements.

    ``whole`` keeps what is inside nodes; else only surrogate predicates, statistics and tables are kept of it, as
    children of the root.
    """

    def __init__(self, data: bytes, source: str, whole: bool) -> None:
        self._wide = _wide_encoding(data)
        self.data = data if self._wide is None else data.decode(self._wide).encode("utf-8")
        parser = self.new_parser()
        self.finder = ElementFinder(self.data, parser, whole)
        parser.StartElementHandler, parser.EndElementHandler = self.finder.start, self.finder.end
        parser.CommentHandler, parser.CharacterDataHandler = self.finder.comment, self.finder.words
        parser.XmlDeclHandler = self.finder.declared
        parser.buffer_text = True
        run(parser, self.data, source)

    @classmethod
    def begun(cls, data: bytes, parser: expat.XMLParserType) -> XmlDocument:
        """Return a document whose ``finder`` is still to be told what a parser meets; not one of wide characters.

        Raises:
            ValueError: it is one.
        """
        if _wide_encoding(data) is not None:
            raise ValueError("an encoding of two bytes for each character")
        document = cls.__new__(cls)
        document._wide, document.data = None, data
        document.finder = ElementFinder(data, parser, whole=False)
        return document

    def new_parser(self) -> expat.XMLParserType:
        """Return a parser for ``data``."""
        return expat.ParserCreate("utf-8" if self._wide else None, namespace_separator=" ")

    @property
    def root(self) -> ElementSpan:
        """The outermost element."""
        return self.finder.top.children[0]

    @property
    def comments(self) -> list[ElementSpan]:
        """The comments, in the file's order."""
        return self.finder.comments

    @property
    def encoding(self) -> str:
        """What ``data`` is encoded in."""
        return "utf-8" if self._wide else self.finder.encoding or "utf-8"

    def edited(self, edits: Sequence[Edit]) -> bytes:
        """Return the file with some edits made; of two that overlap the outer one is, and what takes all away."""
        pieces: list[bytes] = []
        at = 0
        order = sorted(
            edits, key=lambda one: (one.start, one.end > one.start, -one.end, bool(one.new))
        )
        for edit in order:
            if edit.start < at:
                continue
            pieces += [self.data[at : edit.start], edit.new]
            at = edit.end
        changed = b"".join([*pieces, self.data[at:]])
        return changed if self._wide is None else changed.decode("utf-8").encode(self._wide)

    def removal(self, span: ElementSpan) -> Edit:
        """Return the edit that takes an element out, with the line it stands on alone."""
        before = BLANKS_BEFORE.search(self.data, max(0, span.start - 1000), span.start)
        return Edit(span.start if before is None else before.start(), span.end)

    def attribute(self, span: ElementSpan, name: str, value: str | None) -> Edit | None:
        """Return the edit that sets an attribute, or (None) takes it off; None where nothing changes."""
        if span.attributes.get(name) == value:
            return None
        tag = START_TAG.match(self.data, span.start)
        assert tag is not None
        new = b"" if value is None else b" " + self.encoded(f'{name}="{self._quoted(value)}"')
        pattern = re.compile(ATTRIBUTE.format(name=re.escape(name)).encode())
        found = pattern.search(self.data, span.start, tag.end())
        if found is not None:
            return Edit(found.start(), found.end(), new)
        close = tag.end() - (2 if self.data[tag.end() - 2 : tag.end()] == b"/>" else 1)
        return Edit(close, close, new)

    def encoded(self, text: str) -> bytes:
        """Return text as the file's encoding has it; what it cannot hold as a character reference."""
        return text.encode(self.encoding, "xmlcharrefreplace")

    @staticmethod
    def _quoted(value: str) -> str:
        plain = html.escape(value, quote=False)
        for character, reference in QUOTED.items():
            plain = plain.replace(character, reference)
        return plain


def _wide_encoding(data: bytes) -> str | None:
    """Return the encoding of a file that takes two bytes for each character; None for any other."""
    marks = (
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"<\0", "utf-16-le"),
        (b"\0<", "utf-16-be"),
    )
    return next((code for mark, code in marks if data.startswith(mark)), None)


class ElementFinder:
    """Notes where elements start and end, of what a parser tells it."""

    def __init__(self, data: bytes, parser: expat.XMLParserType, whole: bool) -> None:
        self.data = data
        self.parser = parser
        self.whole = whole
        self.encoding: str | None = None
        self.top = ElementSpan("", {}, 0, 0)
        self.around = [self.top]
        self.names: dict[str, str] = {}
        self.comments: list[ElementSpan] = []
        self.inside_nodes = 0

    def declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.encoding = encoding

    def start(self, name: str, attributes: dict[str, str]) -> None:
        parser = self.parser
        local = self.names.get(name)
        if local is None:
            local = self.names[name] = local_name(name)
        if self.inside_nodes and not self.whole:
            if local not in TELLING and attributes.get("booleanOperator") != "surrogate":
                self.around.append(NODE if local == "Node" else PASSED)
                self.inside_nodes += local == "Node"
                return
            outer = self.around[1]
        else:
            outer = self.around[-1]
        span = ElementSpan(local, attributes, parser.CurrentLineNumber, parser.CurrentByteIndex)
        outer.children.append(span)
        self.around.append(span)
        self.inside_nodes += local == "Node"

    def leave_nodes(self, names: Sequence[str]) -> None:
        """Go on inside elements of these names, outermost first, of which nothing is kept."""
        self.around += [NODE if name == "Node" else PASSED for name in names]
        self.inside_nodes += sum(name == "Node" for name in names)

    def note_surrogate(self, attributes: dict[str, str]) -> None:
        """Note where a test starts that is a surrogate of others; where it ends is not."""
        line, at = self.parser.CurrentLineNumber, self.parser.CurrentByteIndex
        self.around[1].children.append(ElementSpan("CompoundPredicate", attributes, line, at))

    def words(self, text: str) -> None:
        span = self.around[-1]
        if span is not NODE and span is not PASSED and len(span.text) < 1_000_000:
            span.text += text

    def end(self, _name: str) -> None:
        span = self.around.pop()
        if span is NODE or span is PASSED:
            self.inside_nodes -= span is NODE
            return
        at = self.parser.CurrentByteIndex
        span.inner_end = span.end = at
        if self.data[at : at + 2] == b"</" and at > span.start and not self._is_empty(span, at):
            span.end = self.data.index(b">", at) + 1
        self.inside_nodes -= span.name == "Node"

    def _is_empty(self, span: ElementSpan, at: int) -> bool:
        """Return whether an element is one tag that ends here: then the closing tag behind it is its parent's."""
        if self.data[at - 2 : at] != b"/>":
            return False
        tag = START_TAG.match(self.data, span.start)
        return tag is not None and tag.end() == at

    def comment(self, text: str) -> None:
        at = self.parser.CurrentByteIndex
        span = ElementSpan("comment", {}, self.parser.CurrentLineNumber, at, text=text)
        span.end = self.data.index(b"-->", at + 4) + 3
        self.comments.append(span)

"""Parses XML that nobody vouches for: no entities, no DTD, no network, bounded depth and size, one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from xml.parsers import expat

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError

# XML elements, and the elements of a tree's nodes as a record of starts and ends, grown where someone needs them.

NODE, DISTRIBUTION, SIMPLE, COMPOUND, TRUE, FALSE = range(6)
RECORDED = (
    "Node",
    "ScoreDistribution",
    "SimplePredicate",
    "CompoundPredicate",
    "True",
    "False",
)
"""The elements that are recorded, by their codes: there are many of them, and their text is all blanks."""


class Element:
    """One XML element: its name, attributes, children, the text directly inside it, and the line it starts on.

    The name is the local one for PMML (of any version, or without a namespace); anything else has a ``:`` before it.
    """

    __slots__ = ("attributes", "children", "line", "name", "text")

    def __init__(self, name: str, attributes: dict[str, str], line: int) -> None:
        self.name = name
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = NOTHING
        self.text = ""

    def get(self, attribute: str) -> str | None:
        """Return an attribute; None where it is not there."""
        return self.attributes.get(attribute)

    def all(self, *names: str) -> Iterator[Element]:
        """Yield the children with one of these names, in document order."""
        return (child for child in self.children if child.name in names)

    def first(self, *names: str) -> Element | None:
        """Return the first child with one of these names."""
        return next(self.all(*names), None)

    def within(self, *names: str) -> Iterator[Element]:
        """Yield the element and all inside it that has one of these names (any, without names), in document order."""
        stack = [self]
        while stack:
            element = stack.pop()
            if not names or element.name in names:
                yield element
            stack.extend(reversed(element.children))


NOTHING: list[Element] = []
"""The children of all elements without any; never added to."""


class ParseTape:
    """What the parser met, in its order: the code of each element that starts, and ``~`` that of one that ends.

    ``attributes`` and ``lines`` have an entry per start.
    """

    __slots__ = ("attributes", "events", "lines")

    def __init__(self) -> None:
        self.events: list[int] = []
        self.attributes: list[dict[str, str]] = []
        self.lines: list[int] = []

    def grown(self, event: int = 0, start: int = 0) -> list[Element]:
        """Return the element that begins at an event, which is the start of that number, and those still open in it."""
        stack: list[Element] = []
        for place in range(event, len(self.events)):
            code = self.events[place]
            if code >= 0:
                element = Element(RECORDED[code], self.attributes[start], self.lines[start])
                start += 1
                if stack:
                    _add(stack[-1], element)
                stack.append(element)
            elif len(stack) == 1:
                break
            else:
                stack.pop()
        return stack


class Recorded(Element):
    """The root of a tree's nodes; what is inside stands on a tape until it is asked for."""

    __slots__ = ("_grown", "tape")

    _grown: list[Element]

    def __init__(self, attributes: dict[str, str], line: int) -> None:
        self.tape: ParseTape | None = ParseTape()
        super().__init__(RECORDED[NODE], attributes, line)

    @property
    def children(self) -> list[Element]:
        if self._grown is NOTHING and self.tape is not None:
            self._grown = self.tape.grown()[0].children
        return self._grown

    @children.setter
    def children(self, children: list[Element]) -> None:
        self._grown = children

    def play(self) -> Sequence[Element]:
        """Give up the tape; return the elements inside that are still open, outermost first."""
        assert self.tape is not None
        root, *inner = self.tape.grown()
        self.tape, self._grown = None, root.children
        return inner


def _add(outer: Element, inner: Element) -> None:
    if outer.children:
        outer.children.append(inner)
    else:
        outer.children = [inner]


Finished = Callable[[Element, Sequence[Element]], None]
"""Told of a model's element when it ends, with the elements around it, outermost first."""

MODELS = ("DecisionTree", "Regression", "Scorecard", "NeuralNetwork")
"""The elements that hold a model and are not called so."""

TREES = ("TreeModel", "DecisionTree")
"""The models whose nodes are recorded."""


def is_model(name: str) -> bool:
    """Whether an element of this name holds a model."""
    return name.endswith("Model") or name in MODELS


def local_name(name: str) -> str:
    """Return the name of an element as ``Element`` has it, from ``namespace name``."""
    namespace, _, local = name.rpartition(" ")
    return local if not namespace or "dmg.org" in namespace else f":{local}"


def parse(data: bytes, source: str, finished: Finished) -> Element:
    """Return the root element; ``finished`` is told of each model, and may take its children off to save memory.

    A document type is allowed and never fetched, nor is an entity ever put in.

    Raises:
        TreeFormatError: not well-formed XML, has an entity that is used or lies elsewhere, or nests or holds more
            than the limits allow.
    """
    builder = _Builder(source, finished)
    for start in range(0, len(data), limits.XML_TOKEN):
        end = start + limits.XML_TOKEN
        if end < len(data) and data.find(b">", start, end) < 0:
            raise TreeFormatError(
                source,
                f"the file has {limits.XML_TOKEN:,} bytes without a tag, which no tree needs; export it again",
            )
    run(builder.parser, data, source)
    return builder.top.children[0]


def run(parser: expat.XMLParserType, data: bytes, source: str) -> None:
    """Let a parser loose on bytes.

    Raises:
        TreeFormatError: not well-formed XML, or has an entity that is used, of parameters, or outside the file.
    """

    def refuse_entity(name: str, is_parameter: bool, value: str | None, *_: object) -> None:
        # An entity of the file's own that is never used does no harm, and old tools declare some.
        if is_parameter or value is None or _may_be_used(name, data):
            raise TreeFormatError(
                f"{source}:{parser.CurrentLineNumber}",
                f"rejected for security: the file declares an XML entity ({name!r}); remove the declaration",
            )

    parser.EntityDeclHandler = refuse_entity
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise TreeFormatError(
            f"{source}:{error.lineno}",
            f"the file is incomplete or damaged (not valid XML: {expat.errors.messages[error.code]}); export it again",
        ) from error
    except (LookupError, ValueError) as error:
        raise TreeFormatError(
            source, f"the file is damaged (not valid XML: {error}); export it again"
        ) from error


def _may_be_used(entity: str, data: bytes) -> bool:
    """Whether bytes may refer to an entity; said of all that are not plainly ASCII."""
    is_plain = b"\x00" not in data[:64] and entity.isascii()
    return not is_plain or f"&{entity};".encode() in data


class _Builder:
    """Builds elements from what the parser meets."""

    def __init__(self, source: str, finished: Finished) -> None:
        self.source = source
        self.finished = finished
        self.top = Element("", {}, 0)
        self.around = [self.top]
        self.names: dict[str, tuple[str, bool, int]] = {}
        self.deepest = limits.XML_DEPTH + 1
        self.held = 0
        self.hears = False
        self.held_before: list[int] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.buffer_size = 1_000_000
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end

    def start(self, name: str, attributes: dict[str, str]) -> None:
        parser, around = self.parser, self.around
        known = self.names.get(name) or self.learn_name(name)
        outer = around[-1]
        is_root = known[0] == "Node" and outer.name in TREES
        line = parser.CurrentLineNumber
        element = Recorded(attributes, line) if is_root else Element(known[0], attributes, line)
        if outer.children:
            outer.children.append(element)
        else:
            outer.children = [element]
        around.append(element)
        if known[1]:
            self.held_before.append(self.held)
        if self.hears is (known[2] >= 0):
            self.hears = not self.hears
            parser.CharacterDataHandler = self.words if self.hears else None
        self.held += 1 + len(attributes)
        if len(around) > self.deepest or self.held > limits.XML_ELEMENTS:
            raise self.refused(len(around))
        if isinstance(element, Recorded):
            self.record(element)

    def record(self, root: Recorded) -> None:
        """Put what is inside a tree's root on its tape, until the root ends or something else than nodes comes."""
        parser, tape, names = self.parser, root.tape, self.names
        assert tape is not None
        add, add_attributes, add_line = (
            tape.events.append,
            tape.attributes.append,
            tape.lines.append,
        )
        add(NODE)
        add_attributes(root.attributes)
        add_line(root.line)
        depth, held, around = len(self.around), self.held, len(self.around)
        deepest, most = self.deepest, limits.XML_ELEMENTS

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal depth, held
            code = (names.get(name) or self.learn_name(name))[2]
            if code < 0:
                self.around += root.play()
                stop()
                self.start(name, attributes)
                return
            add(code)
            add_attributes(attributes)
            add_line(parser.CurrentLineNumber)
            depth += 1
            held += 1 + len(attributes)
            if depth > deepest or held > most:
                raise self.refused(depth)

        def end(name: str) -> None:
            nonlocal depth
            depth -= 1
            add(~names[name][2])
            if depth < around:
                self.around.pop()
                stop()

        def stop() -> None:
            self.held = held
            parser.StartElementHandler, parser.EndElementHandler = self.start, self.end

        parser.StartElementHandler, parser.EndElementHandler = start, end

    def learn_name(self, name: str) -> tuple[str, bool, int]:
        """Return an element's local name, whether it holds a model, and its code on a tape (-1: it has none)."""
        local = local_name(name)
        code = RECORDED.index(local) if local in RECORDED else -1
        found = self.names[name] = local, is_model(local), code
        return found

    def words(self, text: str) -> None:
        element = self.around[-1]
        element.text += text
        if len(element.text) > limits.XML_TOKEN:
            raise TreeFormatError(
                f"{self.source}:{element.line}",
                f"more than {limits.XML_TOKEN:,} characters of text in one element; export it again",
            )

    def end(self, name: str) -> None:
        element = self.around.pop()
        if self.names[name][1]:
            self.finished(element, self.around[1:])
            kept = sum(1 + len(inner.attributes) for inner in element.within())
            self.held = self.held_before.pop() + kept

    def refused(self, depth: int) -> TreeFormatError:
        if depth > self.deepest:
            return TreeFormatError(
                f"{self.source}:{self.parser.CurrentLineNumber}",
                f"elements nest more than {limits.XML_DEPTH} deep, as no real tree does; export it again",
            )
        return TreeFormatError(
            self.source,
            f"more than {limits.XML_ELEMENTS:,} XML elements and attributes in or around one tree; give the tree alone",
        )

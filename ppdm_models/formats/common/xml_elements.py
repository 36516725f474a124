"""XML elements, and the elements of a tree's nodes as a record of starts and ends; who hears of them."""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.parsers import expat

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

    ``attributes`` and ``lines`` have an entry per start; elements that say the same share their attributes.
    """

    __slots__ = ("attributes", "events", "lines")

    def __init__(self) -> None:
        self.events = array("b")
        self.attributes: list[dict[str, str]] = []
        self.lines = array("q")

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


class PlainTag(NamedTuple):
    """A tag of a node, or of a part of one, as text: what a tape has of it, and what follows from it.

    ``is_start`` says that an element starts, ``levels`` by how many what follows lies deeper, ``held`` how many
    elements and attributes it has, ``lines`` how many lines end in it and behind it; ``name`` is "" where an element
    only ends.
    """

    events: bytes
    attributes: dict[str, str]
    is_start: bool
    levels: int
    held: int
    lines: int
    name: str


PLAIN_TAG = re.compile(
    r"""(?:(Node|ScoreDistribution|SimplePredicate|True|False)((?:[ \n\r\t]+(?!xmlns)[A-Za-z]+="[^"\n\r\t]*")*)"""
    r"""[ \n\r\t]*(/?)|/Node[ \n\r\t]*)>[ \n\r\t]*"""
)
REFERENCE = re.compile(r"&(?:(lt)|(gt)|(quot)|(apos)|(amp));")
CHARACTERS = ("", "<", ">", '"', "'", "&")


def plain_tag(text: str) -> PlainTag | None:
    """Return what a tag says from behind its ``<`` up to the next one: of a node, or of one of its parts that is empty.

    None where it is anything else, or says anything that takes more than this to understand.
    """
    found = PLAIN_TAG.fullmatch(text)
    if found is None:
        return None
    lines = text.count("\n")
    if "\r" in text:
        lines += text.count("\r") - text.count("\r\n")
    name, said, is_empty = found.groups()
    if name is None:
        return PlainTag(bytes([255 - NODE]), {}, False, -1, 0, lines=lines, name="")
    parts = said.split('"')
    attributes = dict(zip(map(NAMES.__getitem__, parts[:-1:2]), parts[1::2], strict=True))
    if "&" in said:
        for attribute, value in attributes.items():
            plain = REFERENCE.sub(lambda match: CHARACTERS[match.lastindex or 0], value)
            if value.count("&") != len(REFERENCE.findall(value)):
                return None
            attributes[attribute] = plain
    code, held = RECORDED.index(name), 1 + len(attributes)
    if is_empty:
        return PlainTag(
            bytes([code, 255 - code]), attributes, True, 0, held, lines=lines, name=name
        )
    return (
        PlainTag(bytes([code]), attributes, True, 1, held, lines=lines, name=name)
        if code == NODE
        else None
    )


class _AttributeNames(dict[str, str]):
    """The names of attributes by how they stand in a tag, up to the quote: one text for each name."""

    def __missing__(self, text: str) -> str:
        name = sys.intern(text.strip().removesuffix("="))
        if len(self) < MOST_NAMES:
            self[text] = name
        return name


NAMES, MOST_NAMES = _AttributeNames(), 1_000


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


class ParserListener:
    """Hears what the parser meets beside the builder of elements, in the same order; this one notes nothing.

    ``around`` are the names of the open elements without their namespaces, behind "" for what is around the root;
    ``prefixes`` are not empty where the next element is to be heard whatever it is.
    """

    def __init__(self) -> None:
        self.around = [""]
        self.prefixes: list[str] = []

    def attach(self, parser: expat.XMLParserType) -> None:
        """Ask a parser for what else is to be heard."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Hear that an element starts; its name is ``namespace name``."""
        self.around.append(name.rpartition(" ")[2])

    def end(self, name: str) -> None:
        """Hear that it ends."""
        self.around.pop()

    def text_piece(self, text: str) -> None:
        """Hear a piece of text that is not blank, where it stands."""

    def whole_text(self, text: str) -> None:
        """Hear the text up to the next element that starts or ends."""

    def start_in_nodes(self, name: str, attributes: dict[str, str]) -> None:
        """Hear that an element starts that goes on a tape."""
        self.start(name, attributes)

    def end_in_nodes(self, name: str) -> None:
        """Hear that it ends."""
        self.end(name)

    def is_plain(self, name: str) -> bool:
        """Whether elements of this name in a node may be looked at by ``settle``; then none hears of their end."""
        return True

    def settle(self, local: str, attributes: dict[str, str], line: int) -> bool:
        """Look at a node, or a part of one; false, and no look, where its start and end are to be heard.

        Where it is true, nobody hears of others that say the same. It may come before the parser does.
        """
        return True

    def leave_nodes(self, names: Sequence[str]) -> None:
        """Hear that elements of these names are open that went on a tape, and what follows does not."""


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

"""XML elements, and the elements of a tree's nodes as a record of starts and ends, grown where someone needs them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

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

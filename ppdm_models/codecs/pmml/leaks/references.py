"""Which fields, functions and values a PMML file defines, and which of them some model asks for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from treewarden.ppdm_models.codecs.common.origin import (
    MOST_SIGNS,
    is_class_name,
    is_marker,
    is_name,
)
from treewarden.ppdm_models.codecs.pmml.leaks.outputs import is_computed_name, is_result_name

Scope = tuple[int, ...]
"""The open elements around a place that fields can be defined in, by when they began; the file itself is 0."""


@dataclass(slots=True)
class Site:
    """Where an element stands: its first byte, its line, and the byte behind its end, once it is known."""

    start: int
    line: int
    end: int = 0


FIELD_NAMES = ("field", "textField", "targetField", "targetFieldName")
"""Attributes that name the field which an element is about."""

VALUE, FIELD, FUNCTION, RESULT = "value", "field", "function", "result"
COMPUTED, CLASS = "computed field", "class"
"""What a statement names."""


@dataclass(slots=True)
class Definition:
    """A field or a function that a file defines: what its definition asks for itself, and where it stands.

    ``is_raw`` says that it is a column of the table, ``has_words`` that values stand with it that are no numbers,
    ``values`` how many do.
    """

    what: str
    site: Site
    is_raw: bool
    asks: set[tuple[Scope, str]] = field(default_factory=set)
    is_known_otherwise: bool = False
    has_words: bool = False
    values: int = 0


@dataclass(slots=True)
class Statement:
    """A text that has to be a value, a class, a field, a function or the name of a result, and where it stands.

    ``attribute`` is the one that holds it; "" where all that stands there has to go with it.
    """

    kind: str
    what: str
    text: str
    site: Site
    attribute: str = ""


class References:
    """Gathers what a file defines and asks for; names are looked up from the innermost model outwards."""

    def __init__(self) -> None:
        self.defined: dict[tuple[int, str], Definition] = {}
        self.asked: set[tuple[Scope, str]] = set()
        self.labels: set[str] = set()
        self.predicted: set[str] = set()
        """The classes that some node predicts, or counts records of."""
        self.statements: list[Statement] = []

    def define(self, scope: int, name: str, made: Definition) -> Definition:
        """Note the definition of a name; of two in one scope the first is read, or the file is refused."""
        self.defined.setdefault((scope, name), made)
        return made

    def unused_definitions(self) -> Iterator[Definition]:
        """Yield the definitions that no model asks for, directly or through others.

        The name of a column of the table is none of them, where it is one word and no words or list of numbers stand
        with it: programs list the columns that they left out.
        """
        used = self._used()
        for (_, name), made in self.defined.items():
            is_left_out = is_name(name) and not made.has_words and made.values <= MOST_SIGNS
            if id(made) not in used and not (made.is_raw and is_left_out):
                yield made

    def _used(self) -> set[int]:
        """Return the definitions that some model asks for, by their identity."""
        pending, used = list(self.asked), set[int]()
        for made in self.defined.values():
            if made.is_known_otherwise:
                used.add(id(made))
                pending += made.asks
        while pending:
            scope, name = pending.pop()
            made_of = next(
                (found for at in (*reversed(scope), 0) if (found := self.defined.get((at, name)))),
                None,
            )
            if made_of is not None and id(made_of) not in used:
                used.add(id(made_of))
                pending += made_of.asks
        return used

    def names(self) -> set[str]:
        """Return the names of all fields, defined or asked for."""
        return {name for _, name in self.defined} | {name for _, name in self.asked}

    def unknown_statements(self) -> Iterator[Statement]:
        """Yield the statements that name what the model does not have."""
        names, reached = self.names(), self._used()
        known = names | self.labels
        defined = {name for _, name in self.defined}
        raw = {name for (_, name), made in self.defined.items() if made.is_raw}
        used = {name for (_, name), made in self.defined.items() if id(made) in reached}
        told = {one.text for one in self.statements if one.kind == RESULT}
        results = {text for text in told if is_result_name(text, known)}
        for one in self.statements:
            text = one.text
            if one.kind == RESULT:
                is_known = text in results
            elif one.kind == FIELD:
                is_known = text in used or is_name(text) or text in results
            elif one.kind == COMPUTED:
                is_known = is_computed_name(text, raw | self.labels)
            elif one.kind == CLASS:
                is_known = text in self.predicted or is_class_name(text)
            elif one.kind == FUNCTION:
                is_known = f"\0{text}" in defined
            else:
                is_known = text in known or text in results or is_marker(text)
            if not is_known:
                yield one

"""What stands in a PMML model itself and may say more than it: digits, numbers of parts, long lists of values."""

from __future__ import annotations

import re

from treewarden.ppdm_models.codecs.common.origin import has_digits_of_double, is_number
from treewarden.ppdm_models.codecs.common.xml_edit import Document, Edit, Span
from treewarden.ppdm_models.codecs.pmml.leaks.known import COUNTS
from treewarden.ppdm_models.codecs.pmml.leaks.lists import ValueLists
from treewarden.ppdm_models.codecs.pmml.leaks.markup import Markup, attribute_edit
from treewarden.ppdm_models.codecs.pmml.values import ITEM


class Contents(Markup):
    """Looks at the texts, lists and counted parts of a model while a parser walks over its file."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.lists = ValueLists()
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
        if local == "Array" and self.tested is not None:
            field, at, line = self.tested
            self.lists.condition(field, words, line, at)

    def without(
        self, local: str, attributes: dict[str, str], name: str, at: int, line: int
    ) -> Edit | None:
        """Return the edit that takes an attribute off."""
        space, _, plain = name.rpartition(" ")
        if not space:
            return self.document.attribute(Span(local, attributes, line, at), name, None)
        said = rb"[^\s=:\"'<>]+:" + re.escape(self.document.encoded(plain))
        return attribute_edit(self.data, at, self.end_of_tag(at), said)

"""Long lists of values in a PMML file that no test needs: they say what is in the table, whatever the trees do."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from treewarden.ppdm_models.codecs.common.origin import MOST_SIGNS

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

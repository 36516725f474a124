"""What columns and their values mean to people: labels from a file of a statistics program, or from a data dictionary.

Labels are texts of strangers: of one line, of bounded length and number, and nothing is ever matched by them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from treewarden.ppdm_models.errors import DictionaryError, near_text

MOST_BYTES = 2**24
MOST_LABEL, MOST_VALUE = 160, 80
"""Characters of the label of a column, and of a value or its label."""
MOST_VALUES = 50
"""So many values of a column are told with their labels."""
HEADINGS = ("column", "label", "value", "value_label")
NEEDED = HEADINGS[:2]
SAVE_AS = (
    "give a CSV file in UTF-8 with the headings column,label and, for values, value,value_label"
)


@dataclass(frozen=True, slots=True)
class ColumnMeaning:
    """What a column is called for people, "" where nobody says it, and what its values are called, in their order.

    ``left_out`` is how many values with labels there are beyond those.
    """

    name: str
    label: str = ""
    values: tuple[tuple[str, str], ...] = ()
    left_out: int = 0

    def label_of(self, value: str) -> str:
        """Return what a value is called; "" where nobody says it."""
        return next((label for code, label in self.values if code == value), "")

    def under(self, overriding: ColumnMeaning) -> ColumnMeaning:
        """Return what another one says of the same column, and this one where that says nothing."""
        if not overriding.values:
            return replace(self, label=overriding.label or self.label)
        return replace(overriding, name=self.name, label=overriding.label or self.label)


def column_meaning(name: str, label: str, values: Mapping[str, str]) -> ColumnMeaning:
    """Return what a column means, within bounds; a label that repeats the name or the value says nothing."""
    label = bounded(label, MOST_LABEL)
    pairs = ((bounded(v, MOST_VALUE), bounded(said, MOST_VALUE)) for v, said in values.items())
    named = [(value, said) for value, said in pairs if said and said != value]
    left_out = max(0, len(named) - MOST_VALUES)
    shown = "" if label == name else label
    return ColumnMeaning(name, shown, tuple(named[:MOST_VALUES]), left_out)


def bounded(text: str, most: int) -> str:
    """Return a text in one line of at most so many characters."""
    line = " ".join(text[: 8 * most].split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def meanings_of_labels(
    names: Iterable[str], titles: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]
) -> tuple[ColumnMeaning, ...]:
    """Return what the columns mean that a file has labels for."""
    meanings = (column_meaning(n, titles.get(n, ""), labels.get(n, {})) for n in names)
    return tuple(meaning for meaning in meanings if meaning.label or meaning.values)


def read_dictionary(path: Path) -> tuple[ColumnMeaning, ...]:
    """Read a data dictionary: CSV of ``column,label``, or with a row a value ``column,label,value,value_label``.

    Raises:
        DictionaryError: it cannot be read, lacks a heading, or says two things of one column or value.
    """
    labels: dict[str, str] = {}
    values: dict[str, dict[str, str]] = {}
    for line, row in _rows(path):
        where = f"{path.name}, line {line}"
        name, label = row["column"].strip(), row["label"].strip()
        value, value_label = row.get("value", "").strip(), row.get("value_label", "").strip()
        if not name:
            raise DictionaryError(where, "names no column; write its name under 'column'")
        if label and labels.get(name, label) != label:
            raise DictionaryError(where, f"a second label of the column {name!r}; keep one")
        if value_label and not value:
            problem = "a label without its value; write the value under 'value'"
            raise DictionaryError(where, problem)
        labels[name] = label or labels.get(name, "")
        codes = values.setdefault(name, {})
        if value:
            if codes.get(value, value_label) != value_label:
                problem = f"a second label of the value {value!r} of {name!r}; keep one"
                raise DictionaryError(where, problem)
            codes[value] = value_label
    if not labels:
        raise DictionaryError(path.name, f"describes no column; {SAVE_AS}")
    return tuple(column_meaning(name, label, values[name]) for name, label in labels.items())


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the records of a dictionary, each with the line that it ends in."""
    text = _text(path)
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    headings: Sequence[str] = ()
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not headings:
                headings = _headings(path, [cell.strip().casefold() for cell in cells])
                continue
            if len(cells) > len(headings):
                where = f"{path.name}, line {reader.line_num}"
                problem = f"{len(cells)} cells under {len(headings)} headings"
                raise DictionaryError(where, f"{problem}; put labels with commas in quotes")
            padded = [*cells, *[""] * (len(headings) - len(cells))]
            yield reader.line_num, dict(zip(headings, padded, strict=True))
    except csv.Error as error:
        where = f"{path.name}, line {reader.line_num}"
        raise DictionaryError(where, f"is not CSV ({error}); {SAVE_AS}") from error
    if not headings:
        raise DictionaryError(path.name, f"is empty; {SAVE_AS}")


def _headings(path: Path, cells: list[str]) -> list[str]:
    where = f"{path.name}, headings"
    for name in NEEDED:
        if name not in cells:
            raise DictionaryError(where, f"no {name!r}{near_text(name, cells)}; {SAVE_AS}")
    wrong = next((each for each in cells if each not in HEADINGS), None)
    if wrong is not None:
        raise DictionaryError(where, f"{wrong!r} is unknown{near_text(wrong, HEADINGS)}; {SAVE_AS}")
    if len(set(cells)) < len(cells):
        raise DictionaryError(where, f"one of them occurs twice; {SAVE_AS}")
    if ("value" in cells) is not ("value_label" in cells):
        raise DictionaryError(where, f"'value' and 'value_label' belong together; {SAVE_AS}")
    return cells


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            problem = (
                f"is larger than {MOST_BYTES // 2**20} MB; keep the columns of this table only"
            )
            raise DictionaryError(path.name, problem)
        return data.decode("utf-8-sig")
    except UnicodeError as error:
        raise DictionaryError(path.name, f"is not in UTF-8; {SAVE_AS}") from error
    except (OSError, ValueError) as error:  # the second where no file can be called so
        why = (error.strerror if isinstance(error, OSError) else "") or "cannot be read"
        raise DictionaryError(path.name, f"{why}; {SAVE_AS}") from error

"""How a table is written as text: its encoding, what separates cells, how numbers look, and what its name says of it.

``people.csv#decimal=comma`` is the file ``people.csv`` and a setting; commas separate several. Content decides where
nothing is said. What a table needs to be read (a kind of file, and column names) is checked here too.
"""

from __future__ import annotations

import codecs
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.unsupported_files import PEEKED, Foreign, table_kind


def as_number(text: str) -> float | None:
    """Return a text as a finite number; None where it is none."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


class Percent(StrEnum):
    """What a percent sign makes of the number before it: 45 or 0.45 of 45 %."""

    POINTS = "points"
    FRACTION = "fraction"


POINT, COMMA = ".", ","
UTF_8, WINDOWS = "utf-8-sig", "cp1252"
"""What tables are in, and what is tried where one is not: in any encoding of single bytes, unlike cells stay unlike."""
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""What the first bytes of a text say of its encoding."""
UNMARKED = ("utf-16-le", "utf-16-be")
CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f\x1a")
DECIMALS = {"comma": COMMA, "point": POINT}
YES = {"1": 1, "0": 0}
VALUES = {
    "decimal": (*DECIMALS,),
    "percent": tuple(str(each) for each in Percent),
    "yes": (*YES,),
    "encoding": ("utf-8", "utf-16", "cp1252", "latin-1"),
}
"""What settings there are, and what may be said; any encoding that Python knows may be."""
SAY_DECIMAL = (
    "write the numbers with decimal points and without thousands separators, or add "
    "#decimal=comma or #decimal=point to the file's name"
)
CONVERT_DECIMAL = (
    "convert the column to numbers first: remove thousands separators, use decimal points, "
    "then to_numeric() in pandas or cast() in polars"
)
"""The same advice on what is in memory and has no name to say anything behind."""
SAY_ENCODING = (
    "add the encoding to its name, such as #encoding=cp1252, or give CSV in UTF-8, or Parquet"
)
SETTING = re.compile(r"[a-z]+=[^,#/\\]*(?:,[a-z]+=[^,#/\\]*)*")


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """What is said of how numbers are written, by whoever names the table; "" and None leave it to the cells.

    ``yes`` is the number that words for yes stand for, 1 or 0; words for no stand for the other one.
    """

    decimal: str = ""
    percent: Percent | None = None
    yes: int | None = None


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a table is written: ``encoding`` as Python calls it, ``delimiter`` what parts cells, "" where not known.

    ``is_guessed`` says that the encoding is what is tried last; ``is_typed`` that numbers come from cells that hold
    numbers, so that their decimals are parted by points whatever they look like; ``is_in_memory`` that it is no file,
    whose name could say more.
    """

    encoding: str = ""
    is_guessed: bool = False
    is_typed: bool = False
    is_in_memory: bool = False
    delimiter: str = ""
    numbers: NumberStyle = field(default_factory=NumberStyle)


def dialect_of(path: Path) -> tuple[Path, Dialect]:
    """Return a path without the settings behind it, and what these say; a file that is called so has none.

    Raises:
        TableError: there is no such setting, or it is said twice.
    """
    head, sign, tail = str(path).rpartition("#")
    if not sign or not head or not SETTING.fullmatch(tail) or path.exists():
        return path, Dialect()
    said: dict[str, str] = {}
    for each in tail.split(","):
        key, _, value = each.partition("=")
        if key not in VALUES or key in said:
            problem = f"the setting {key!r} after the # occurs twice; remove one"
            if key not in said:
                problem = f"unknown setting {key!r} after the #; use {', '.join(VALUES)}"
            raise TableError(path.name, problem)
        said[key] = value
    return Path(head), _dialect(path.name, said)


def recognise_encoding(start: bytes) -> str:
    """Return what encoding the start of a text is in, as far as its first bytes say: UTF-16 and UTF-32, else UTF-8."""
    for mark, encoding in MARKS.items():
        if start.startswith(mark):
            return encoding
    if b"\0" not in start:
        return UTF_8
    fitting = [each for each in UNMARKED if _has_line(start, each)]
    return fitting[0] if len(fitting) == 1 else UTF_8


def may_be_guessed(start: bytes) -> bool:
    """Return whether bytes that are not in UTF-8 look like text all the same: nothing in them steers a machine."""
    return not CONTROLS & set(start)


def as_guessed(dialect: Dialect) -> Dialect:
    """Return a dialect with the encoding that is tried where a text is not in UTF-8."""
    return replace(dialect, encoding=WINDOWS, is_guessed=True)


def guess_note(source: str) -> str:
    """Return what the reader of a report has to know of a table whose encoding nobody says."""
    return (
        f"{source}: it is not in UTF-8 and was read as Windows-1252. If letters look wrong, add "
        "#encoding=NAME to its name"
    )


def _dialect(name: str, settings: dict[str, str]) -> Dialect:
    for key, value in settings.items():
        is_known = _is_encoding(value) if key == "encoding" else value in VALUES[key]
        if not is_known:
            raise TableError(name, f"{key} is {value!r}; it may be {', '.join(VALUES[key])}")
    percent = settings.get("percent")
    style = NumberStyle(
        DECIMALS.get(settings.get("decimal", ""), ""),
        Percent(percent) if percent else None,
        YES.get(settings.get("yes", "")),
    )
    encoding = settings.get("encoding", "")
    is_utf_8 = bool(encoding) and codecs.lookup(encoding).name == "utf-8"
    return Dialect(encoding=UTF_8 if is_utf_8 else encoding, numbers=style)


def _is_encoding(name: str) -> bool:
    try:
        return "a,b".encode(name).decode(name) == "a,b"
    except (LookupError, ValueError):  # the first also where it is no encoding of texts
        return False


def _has_line(start: bytes, encoding: str) -> bool:
    """Return whether a text's first line ends and is in letters of the first few alphabets, as a header's is."""
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeError:
        return False
    line, end, _ = text.partition("\n")
    return (
        bool(end) and "\0" not in line and any(each.isascii() and each.isalpha() for each in line)
    )


# Sheets of workbooks that are named as tables, ``people.xlsx#2024``; nothing heavy is loaded to find them.


def sheet_of(path: Path) -> tuple[Path, str]:
    """Return a workbook and the sheet of it that is named; "" where none is."""
    if "#" not in str(path) or path.exists():
        return path, ""
    parts = str(path).split("#")  # both may have such signs in their names
    for at in range(1, len(parts)):
        file, sheet = Path("#".join(parts[:at])), "#".join(parts[at:])
        if sheet and _is_workbook(file):
            return file, sheet
    return path, ""


def _is_workbook(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return table_kind(file.read(PEEKED)) is Foreign.EXCEL
    except OSError:
        return False


LIKE_CELL = re.compile(r"[+-]?[.,]?\d[\d.,' \u00a0\u202f/:T-]*(?:[eE][+-]?\d+)?%?")
"""A number or a date: names of columns seldom are, and cells often."""
NO_RECORDS = "the table has no records; give a table with one row per person"
GIVE_A_TABLE = "give a table: CSV, Parquet, Arrow, Excel, SPSS, SAS or Stata"
NO_HEADER = (
    "the first line seems to be a record, not a header; add a header line with the column "
    "names, or check the name of the column"
)


def seem_cells(names: Sequence[str]) -> bool:
    """Return whether some names look like the cells of a record: numbers or dates that do not count the columns."""
    found = [(place, name) for place, name in enumerate(names) if LIKE_CELL.fullmatch(name)]
    return any(name not in (str(place), str(place + 1)) for place, name in found)


def said_of_twins(names: Sequence[str]) -> str:
    """Return what is wrong with names of columns of which one stands twice, showing no cell; "" where none does."""
    if len(set(names)) == len(names):
        return ""
    twin = Counter(names).most_common(1)[0][0]
    return NO_HEADER if seem_cells(names) else f"two columns are called {twin!r}; rename one"

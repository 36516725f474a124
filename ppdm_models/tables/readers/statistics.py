"""Tables of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt), read by pyreadstat a piece at a time.

Missing values of any kind are missing, those that a user declared too. Codes stay codes; their labels go along.
"""

from __future__ import annotations

import io
import re
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.readers import Labels, TableReader, Whole, library, stream
from treewarden.ppdm_models.unsupported_files import PEEKED, Foreign

# Tries in a process of its own whether a library of another language gets over a file, as some broken ones end it.

TRIAL = """
import io, sys, pyreadstat
function, path = sys.argv[1:]
file = path or io.BytesIO(sys.stdin.buffer.read())
getattr(pyreadstat, function)(file, metadataonly=True, output_format="dict")
"""
OUTCOMES = frozenset({0, 1})
"""How Python ends by itself, well or with an error that can be told; a library that fails at a bad place ends it."""


def survives(function: str, whole: Whole) -> bool:
    """Return whether what a file says of itself is read, or refused, without the end of the process that reads it."""
    if not sys.executable:  # within another program
        return True
    path, data = (str(whole), b"") if isinstance(whole, Path) else ("", whole)
    done = subprocess.run(
        [sys.executable, "-P", "-c", TRIAL, function, path],
        input=data,
        capture_output=True,  # where no file may be written, not even the one that is no file
        check=False,
    )
    return done.returncode in OUTCOMES


# Numbers that statistics programs show as dates and times, counted from the day that each of them begins with.

DAY_SECONDS = 86400.0
UNIX = date(1970, 1, 1)
SPSS_BEGINS = float((UNIX - date(1582, 10, 14)).days)
OTHERS_BEGIN = float((UNIX - date(1960, 1, 1)).days)
FIRST, LAST = float((date(1, 1, 1) - UNIX).days), float((date(9999, 12, 31) - UNIX).days)
"""The days that ISO 8601 writes with four digits of the year."""


class Moment(Enum):
    """What a number stands for, and the type that it comes in."""

    DATE = pa.date32()
    INSTANT = pa.timestamp("ms")
    TIME = pa.string()


SPSS = {
    Moment.DATE: ("DATE", "ADATE", "EDATE", "JDATE", "SDATE", "QYR", "MOYR", "WKYR"),
    Moment.INSTANT: ("DATETIME", "YMDHMS"),
    Moment.TIME: ("TIME", "DTIME", "MTIME"),
}
SAS = {
    Moment.DATE: (
        *("DATE", "DDMMYY", "MMDDYY", "YYMMDD", "JULIAN", "WEEKDATE", "WEEKDATX", "WORDDATE"),
        *("WORDDATX", "E8601DA", "B8601DA", "IS8601DA", "NLDATE"),
    ),
    Moment.INSTANT: (
        *("DATETIME", "DATEAMPM", "MDYAMPM", "DTDATE", "E8601DT", "B8601DT", "IS8601DT"),
        *("E8601DN", "B8601DN", "NLDATM"),
    ),
    Moment.TIME: ("TIME", "TIMEAMPM", "TOD", "HHMM", "E8601TM", "B8601TM", "IS8601TM", "NLTIME"),
}
WITH_SIGN = re.compile(r"(DDMMYY|MMDDYY|YYMMDD)[BCDNPS]")
"""Formats of SAS that say what stands between the parts of a date."""
OF_CLOCK = re.compile(r"[Hh]{2}|MM|mm|[Ss.]+|[AaPp]\.?[Mm]\.?|[:_ ]")
"""What a format of Stata has for hours, minutes and seconds."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """How a program keeps time. ``moment`` is what one of its formats shows, None where that is a number.

    A date counts a day as ``day``, all else a second as ``second``; they begin ``begins`` days before 1970.
    """

    moment: Callable[[str], Moment | None]
    day: float
    second: float
    begins: float

    def beyond(self, numbers: FloatArray, moment: Moment) -> BoolArray:
        """Return which of some numbers, (records,), stand for a day before the year 1 or after 9999."""
        unit = self.day if moment is Moment.DATE else self.second * DAY_SECONDS
        days = np.floor(numbers / unit - self.begins)
        return np.asarray((days < FIRST) | (days > LAST)) & (moment is not Moment.TIME)

    def values(self, numbers: FloatArray, moment: Moment) -> pa.Array:
        """Return what some numbers stand for, (records,), none of them beyond; NaN is no value."""
        lacks = np.isnan(numbers)
        there = np.where(lacks, 0.0, numbers)
        if moment is Moment.TIME:
            texts = [clock(each) for each in there / self.second]
            return pa.array(texts, moment.value, mask=lacks)
        if moment is Moment.DATE:
            days = np.floor(there / self.day - self.begins)
            return pa.array(days.astype(np.int32), pa.int32(), mask=lacks).cast(moment.value)
        instants = np.rint((there / self.second - self.begins * DAY_SECONDS) * 1000)
        return pa.array(instants.astype(np.int64), pa.int64(), mask=lacks).cast(moment.value)


def clock(seconds: float) -> str:
    """Return a time of day, or a longer or negative time, as hours, minutes and seconds."""
    minutes, rest = divmod(round(abs(seconds), 3), 60)
    hours, left = divmod(int(minutes), 60)
    sign = "-" if seconds < 0 else ""
    return f"{sign}{hours:02d}:{left:02d}:{rest:06.3f}".removesuffix(".000")


def _of_spss(form: str) -> Moment | None:
    name = form.rstrip("0123456789.")
    return next((moment for moment, names in SPSS.items() if name in names), None)


def _of_sas(form: str) -> Moment | None:
    name = re.sub(r"\d*\.?\d*$", "", form)
    with_sign = WITH_SIGN.fullmatch(name)
    name = with_sign[1] if with_sign else name
    return next((moment for moment, names in SAS.items() if name in names), None)


def _of_stata(form: str) -> Moment | None:
    if re.match(r"%-?(td|d)", form):
        return Moment.DATE
    detail = re.match(r"%-?t[cC](.*)", form)
    if detail is None:
        return None
    return Moment.TIME if detail[1] and not OF_CLOCK.sub("", detail[1]) else Moment.INSTANT


OF_SPSS = Calendar(_of_spss, DAY_SECONDS, 1.0, SPSS_BEGINS)
OF_SAS = Calendar(_of_sas, 1.0, 1.0, OTHERS_BEGIN)
OF_STATA = Calendar(_of_stata, 1.0, 1000.0, OTHERS_BEGIN)


CELLS, FEWEST = 2**20, 2**13
"""So many cells are read at a time, but of so many records at least."""
WEIGHTED = (
    "{}: SPSS weights its records. The audit uses weights only if --weights or "
    "--sampling-weights names their column"
)
LAYOUT_AT, WEIGHT_AT = 64, 76
"""Where SPSS's files say which end of a number comes first, and which of their variables is the weight, 0 if none."""
XPORT_LINE = 80
XPORT_TABLE = b"HEADER RECORD*******MEMB"


@dataclass(frozen=True, slots=True)
class StatisticsFormat:
    """A form of file: what it is, the function that reads it, and how it keeps time."""

    kind: Foreign
    function: str
    calendar: Calendar


SAV = StatisticsFormat(Foreign.SPSS, "read_sav", OF_SPSS)
POR = StatisticsFormat(Foreign.SPSS, "read_por", OF_SPSS)
DTA = StatisticsFormat(Foreign.STATA, "read_dta", OF_STATA)
SAS7BDAT = StatisticsFormat(Foreign.SAS, "read_sas7bdat", OF_SAS)
XPORT = StatisticsFormat(Foreign.SAS, "read_xport", OF_SAS)


@dataclass(frozen=True, slots=True)
class Statistics(TableReader):
    """A file of a statistics program: ``moments`` are its columns of dates and times; ``rows`` may not be known."""

    whole: Whole
    name: str
    form: StatisticsFormat
    columns: pa.Schema
    moments: Mapping[str, Moment]
    named: Mapping[str, Labels]
    called: Mapping[str, str]
    rows: int | None
    said: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return self.columns

    @property
    def labels(self) -> Mapping[str, Labels]:
        return self.named

    @property
    def titles(self) -> Mapping[str, str]:
        return self.called

    @property
    def notes(self) -> tuple[str, ...]:
        return self.said

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size, done = max(FEWEST, CELLS // len(columns)), 0
        schema = pa.schema([self.columns.field(name) for name in columns])
        while True:
            found, _ = _ask_library(
                self.form,
                self.whole,
                self.name,
                usecols=list(columns),
                row_offset=done,
                row_limit=size,
            )
            if not found.keys() >= set(columns):
                raise TableError(
                    self.name, "changed while it was read; give a file that nobody writes to"
                )
            there = len(found[columns[0]])
            arrays = [self._values(name, found[name], done) for name in columns]
            done += there
            if there:
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
            if there < size:
                break
        if self.rows is not None and done != self.rows:
            problem = f"cut off after {done:,} of its {self.rows:,} records; save it again"
            raise TableError(self.name, problem)

    def _values(self, column: str, values: Sequence[Any], before: int) -> pa.Array:
        moment = self.moments.get(column)
        if moment is None:
            return pa.array(values, self.columns.field(column).type)
        numbers = np.array(values, dtype=float)  # None becomes NaN
        beyond = np.flatnonzero(self.form.calendar.beyond(numbers, moment))
        if len(beyond):
            where = f"column {column!r}, record {before + int(beyond[0]) + 1}"
            problem = "the date is before the year 1 or after 9999; correct it, or make it a missing value"
            raise TableError(self.name, f"{where}: {problem}")
        return self.form.calendar.values(numbers, moment)


def form_of(start: bytes) -> StatisticsFormat:
    """Return the form of a file of a statistics program, by its first bytes."""
    if start.startswith(b"$FL"):
        return SAV
    if start.startswith(b"HEADER"):
        return XPORT
    if start.startswith(b"\0"):
        return SAS7BDAT
    return POR if b"SPSSPORT" in start else DTA


def open_table(whole: Whole, name: str, sheet: str = "") -> Statistics:
    """Return a table of a statistics program, whose files have no sheets.

    Raises:
        TableError: pyreadstat is not installed, the file cannot be read, or holds two tables or two columns of a name.
    """
    with stream(whole) as file:
        form = form_of(file.read(PEEKED))
    library("pyreadstat", form.kind, "statistics", name)
    if form is XPORT:
        _check_xport(whole, name)
    if not survives(form.function, whole):
        raise TableError(name, _broken(form))
    _, said = _ask_library(form, whole, name, metadataonly=True)
    names: list[str] = said.column_names
    if not names or None in names:
        raise TableError(name, f"{form.kind} without columns, or one of them without a name")
    twice = [each for each in names if f"{each}_duplicated1" in names]  # as pyreadstat renames them
    if twice:
        raise TableError(name, f"two columns are called {twice[0]!r}; rename one")
    texts = {each for each in names if said.readstat_variable_types[each].startswith("string")}
    shown = {each: form.calendar.moment(said.original_variable_types[each] or "") for each in names}
    moments = {each: moment for each, moment in shown.items() if moment and each not in texts}
    kinds = {each: moments[each].value if each in moments else pa.float64() for each in names}
    kinds |= dict.fromkeys(texts, pa.string())
    return Statistics(
        whole=whole,
        name=name,
        form=form,
        columns=pa.schema(list(kinds.items())),
        moments=moments,
        named={
            each: {code_text(code): str(label) for code, label in labels.items()}
            for each, labels in said.variable_value_labels.items()
            if labels
        },
        called={n: str(label) for n, label in said.column_names_to_labels.items() if label},
        rows=said.number_rows,
        said=(WEIGHTED.format(name),) if form is SAV and _is_weighted(whole) else (),
    )


def code_text(code: object) -> str:
    """Return a code as its column has it as text: whole numbers without a point."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _ask_library(
    form: StatisticsFormat, whole: Whole, name: str, **asked: object
) -> tuple[dict[str, Any], Any]:
    """Return the values of columns and what the file says of them; of the library's own messages, none has cells.

    Raises:
        TableError: the file cannot be read.
    """
    pyreadstat = library("pyreadstat", form.kind, "statistics", name)
    file = str(whole) if isinstance(whole, Path) else io.BytesIO(whole)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found: tuple[dict[str, Any], Any] = getattr(pyreadstat, form.function)(
                file, output_format="dict", disable_datetime_conversion=True, **asked
            )
    except pyreadstat.ReadstatError as error:
        raise TableError(name, _broken(form, f" ({error})")) from error
    except MemoryError:
        raise
    except Exception as error:  # what a broken file says of itself, the library takes for true
        raise TableError(name, _broken(form)) from error
    return found


def _broken(form: StatisticsFormat, why: str = "") -> str:
    return (
        f"{form.kind} that cannot be read{why}; save it again, or save the table as CSV or Parquet"
    )


def _is_weighted(whole: Whole) -> bool:
    with stream(whole) as file:
        start = file.read(WEIGHT_AT + 4)
    order = "<" if start[LAYOUT_AT : LAYOUT_AT + 4] in (b"\2\0\0\0", b"\3\0\0\0") else ">"
    return bool(struct.unpack_from(f"{order}i", start, WEIGHT_AT)[0])


def _check_xport(whole: Whole, name: str) -> None:
    """Check that a transport file is whole and holds one data set: it does not say how many records it has."""
    size = tables = 0
    with stream(whole) as file:
        while block := file.read(XPORT_LINE * 2**14):
            size += len(block)
            starts = range(0, len(block), XPORT_LINE)
            tables += sum(block.startswith(XPORT_TABLE, at) for at in starts)
    if size % XPORT_LINE:
        problem = f"cut off: SAS's transport files are made of lines of {XPORT_LINE} bytes"
        raise TableError(name, f"{problem}; copy it again")
    if tables > 1:
        raise TableError(name, f"holds {tables} data sets; save one of them as a file of its own")

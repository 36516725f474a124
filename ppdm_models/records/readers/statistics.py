"""Tables of SPSS (.sav, .zsav, .por), Stata (.dta) and SAS (.sas7bdat, .xpt), read by pyreadstat a piece at a time.

Missing values of any kind are missing, those that a user declared too. Codes stay codes; their labels go along.
"""

from __future__ import annotations

import io
import struct
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.foreign import PEEKED, Foreign
from treewarden.ppdm_models.records.readers import Labels, Reader, Whole, library, stream
from treewarden.ppdm_models.records.readers.moments import (
    OF_SAS,
    OF_SPSS,
    OF_STATA,
    Calendar,
    Moment,
)
from treewarden.ppdm_models.records.readers.trial import survives

CELLS, FEWEST = 2**20, 2**13
"""So many cells are read at a time, but of so many records at least."""
WEIGHTED = "{}: SPSS weights its records; weights count where --weights or --sampling-weights names their column"
LAYOUT_AT, WEIGHT_AT = 64, 76
"""Where SPSS's files say which end of a number comes first, and which of their variables is the weight, 0 if none."""
XPORT_LINE = 80
XPORT_TABLE = b"HEADER RECORD*******MEMB"


@dataclass(frozen=True, slots=True)
class Form:
    """A form of file: what it is, the function that reads it, and how it keeps time."""

    kind: Foreign
    function: str
    calendar: Calendar


SAV = Form(Foreign.SPSS, "read_sav", OF_SPSS)
POR = Form(Foreign.SPSS, "read_por", OF_SPSS)
DTA = Form(Foreign.STATA, "read_dta", OF_STATA)
SAS7BDAT = Form(Foreign.SAS, "read_sas7bdat", OF_SAS)
XPORT = Form(Foreign.SAS, "read_xport", OF_SAS)


@dataclass(frozen=True, slots=True)
class Statistics(Reader):
    """A file of a statistics program: ``moments`` are its columns of dates and times; ``rows`` may not be known."""

    whole: Whole
    name: str
    form: Form
    columns: pa.Schema
    moments: Mapping[str, Moment]
    named: Mapping[str, Labels]
    rows: int | None
    said: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        return self.columns

    @property
    def labels(self) -> Mapping[str, Labels]:
        return self.named

    @property
    def notes(self) -> tuple[str, ...]:
        return self.said

    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        size, done = max(FEWEST, CELLS // len(columns)), 0
        schema = pa.schema([self.columns.field(name) for name in columns])
        while True:
            found, _ = _asked(
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
            problem = f"cut off after {done:,} of its {self.rows:,} records; save it anew"
            raise TableError(self.name, problem)

    def _values(self, column: str, values: Sequence[Any], before: int) -> pa.Array:
        moment = self.moments.get(column)
        if moment is None:
            return pa.array(values, self.columns.field(column).type)
        numbers = np.array(values, dtype=float)  # None becomes NaN
        beyond = np.flatnonzero(self.form.calendar.beyond(numbers, moment))
        if len(beyond):
            where = f"column {column!r}, record {before + int(beyond[0]) + 1}"
            problem = (
                "the date is before the year 1 or after 9999; mend it, or make it a missing value"
            )
            raise TableError(self.name, f"{where}: {problem}")
        return self.form.calendar.values(numbers, moment)


def form_of(start: bytes) -> Form:
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
    _, said = _asked(form, whole, name, metadataonly=True)
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
        whole,
        name,
        form,
        pa.schema(list(kinds.items())),
        moments,
        {
            each: {code_text(code): str(label) for code, label in labels.items()}
            for each, labels in said.variable_value_labels.items()
            if labels
        },
        said.number_rows,
        (WEIGHTED.format(name),) if form is SAV and _is_weighted(whole) else (),
    )


def code_text(code: object) -> str:
    """Return a code as its column has it as text: whole numbers without a point."""
    return str(int(code)) if isinstance(code, float) and code.is_integer() else str(code)


def _asked(form: Form, whole: Whole, name: str, **asked: object) -> tuple[dict[str, Any], Any]:
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


def _broken(form: Form, why: str = "") -> str:
    return f"{form.kind} that cannot be read{why}; save it anew, or the table as CSV or Parquet"


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
        raise TableError(name, f"{problem}; copy it anew")
    if tables > 1:
        raise TableError(name, f"holds {tables} data sets; give a file of one")

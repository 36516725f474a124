"""Small tables written as office and statistics programs keep them, for tests to read."""

from __future__ import annotations

import ctypes
from pathlib import Path

import openpyxl
import pandas
import pyreadstat
import xlwt

FORMS = ("csv", "xlsx", "xls", "sav", "zsav", "por", "dta", "xpt", "sas7bdat")
LABELLED = ("sav", "zsav", "dta")
"""Forms that pyreadstat writes with value labels."""


def write(path, columns, **more):
    """Write a table in the form of its suffix: None is a missing value; truth values are numbers where there are none.

    ``labels``, ``missing``, ``formats`` and ``titles`` are pyreadstat's ``variable_value_labels``, ``missing_ranges``,
    ``variable_format`` and ``column_labels``.
    """
    form = path.suffix[1:]
    rows = list(zip(*columns.values(), strict=True))
    if form == "csv":
        lines = [",".join(columns), *(",".join(map(_cell, row)) for row in rows), ""]
        path.write_text("\n".join(lines), encoding="utf-8")
    elif form == "xlsx":
        write_book(path, {"Table": [list(columns), *rows]})
    elif form == "xls":
        write_old_book(path, {"Table": [list(columns), *rows]})
    elif form == "sas7bdat":
        write_sas(path, columns, more.get("formats", {}))
    else:
        frame = pandas.DataFrame({name: _plain(values) for name, values in columns.items()})
        said = {
            "variable_value_labels": more.get("labels"),
            "missing_ranges": more.get("missing"),
            "variable_format": more.get("formats"),
            "column_labels": more.get("titles"),
        }
        said = {name: value for name, value in said.items() if value}
        writer = getattr(
            pyreadstat, {"zsav": "write_sav", "xpt": "write_xport"}.get(form, f"write_{form}")
        )
        if form == "zsav":
            said["compress"] = True
        writer(frame, str(path), **said)
    return path


def write_book(path, sheets, merged=()):
    """Write a workbook of today: rows by sheet, and ranges of the first sheet that are merged."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    for each in merged:
        book.worksheets[0].merge_cells(each)
    book.save(path)
    return path


def write_old_book(path, sheets, merged=()):
    """Write a workbook of before 2007; ``merged`` are first and last rows, then columns, from 0."""
    book = xlwt.Workbook()
    day = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for name, rows in sheets.items():
        sheet = book.add_sheet(name, cell_overwrite_ok=True)
        for at, row in enumerate(rows):
            for place, value in enumerate(row):
                if value is not None:
                    sheet.write(at, place, value, *([day] if hasattr(value, "year") else []))
        for each in merged:
            sheet.merge(*each)
    book.save(str(path))
    return path


def write_sas(path, columns, formats):
    """Write a data set of SAS through ReadStat, whose writer pyreadstat carries along and does not offer."""
    with path.open("wb") as out:
        library = ctypes.CDLL(
            str(next(Path(pyreadstat.__file__).parent.glob("_readstat_writer*.so")))
        )
        put = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)(
            lambda data, size, _: out.write(ctypes.string_at(data, size))
        )
        call = _Calls(library)
        writer = call.readstat_writer_init()
        call.readstat_set_data_writer(writer, put)
        made = []
        for name, values in columns.items():
            width = max((len(v.encode()) for v in values if isinstance(v, str)), default=0)
            made.append(call.readstat_add_variable(writer, name.encode(), 0 if width else 5, width))
            if name in formats:
                call.readstat_variable_set_format(made[-1], formats[name].encode())
        rows = list(zip(*columns.values(), strict=True))
        call.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(rows)))
        for row in rows:
            call.readstat_begin_row(writer)
            for variable, value in zip(made, row, strict=True):
                if value is None:
                    call.readstat_insert_missing_value(writer, variable)
                elif isinstance(value, str):
                    call.readstat_insert_string_value(writer, variable, value.encode())
                else:
                    call.readstat_insert_double_value(writer, variable, ctypes.c_double(value))
            call.readstat_end_row(writer)
        call.readstat_end_writing(writer)
        call.readstat_writer_free(writer)


class _Calls:
    """Functions of a library of C that take and return pointers."""

    def __init__(self, library):
        self.library = library

    def __getattr__(self, name):
        function = getattr(self.library, name)
        function.restype = ctypes.c_void_p

        def call(*given):
            return function(
                *(ctypes.c_void_p(v) if isinstance(v, int) and v > 255 else v for v in given)
            )

        return call


def _cell(value):
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(values):
    if any(isinstance(value, str) for value in values):
        return ["" if value is None else value for value in values]
    return [
        None if value is None else float(value) if isinstance(value, bool) else value
        for value in values
    ]

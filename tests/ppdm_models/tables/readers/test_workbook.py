"""What a sheet has to be for its cells to be a table, and what is said where it is not."""

import sys
import zipfile
from datetime import datetime, time, timedelta
from pathlib import Path

import pytest

from tests.kit.office_tables import write_book, write_old_book
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.dialect import sheet_of
from treewarden.ppdm_models.tables.read_table import read_table, read_table_bytes
from treewarden.ppdm_models.tables.readers.excel import marks_of
from treewarden.ppdm_models.tables.readers.workbook import letters, text_of

HEADER = ["age", "sex"]
ROWS = [HEADER, [17, "F"], [40, "M"]]
MAIN = "xl/worksheets/sheet1.xml"


def refused(path):
    with pytest.raises(TableError) as caught:
        read_table(path)
    return str(caught.value)


def cells(table):
    return {name: column.cells() for name, column in table.columns.items()}


def replaced(path, part, old, new):
    """Write a workbook anew with something else in one of its files."""
    with zipfile.ZipFile(path) as archive:
        files = {each.filename: archive.read(each) for each in archive.infolist()}
    assert old in files[part]
    files[part] = files[part].replace(old, new)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize(("writer", "name"), [(write_book, "b.xlsx"), (write_old_book, "b.xls")])
@pytest.mark.parametrize(
    ("sheets", "said"),
    [
        ({"A": []}, "all its sheets are empty"),
        ({"A": [HEADER]}, "the table has no records"),
        ({"A": ROWS, "B": [["note"]]}, "several sheets: 'A', 'B'; choose one: b.xls"),
        ({"A": [["age", "age"], [1, 2]]}, "two columns are called 'age'; rename one"),
        (
            {"A": [*ROWS, [3, "F", "!"]]},
            "sheet 'A': cell C4 has a value, and its column no name in row 1",
        ),
        (
            {"A": [*ROWS, [None, None], [3, "F"]]},
            "sheet 'A': row 4 is empty, and rows below it are not",
        ),
        ({"A": [["Survey"], [None], *ROWS]}, "sheet 'A': row 2 is empty"),
    ],
)
def test_what_is_no_table_is_told_by_its_place(tmp_path, writer, name, sheets, said):
    assert said in refused(writer(tmp_path / name, sheets))


@pytest.mark.parametrize(("writer", "name"), [(write_book, "b.xlsx"), (write_old_book, "b.xls")])
def test_a_sheet_is_named_after_its_workbook(tmp_path, writer, name):
    path = writer(tmp_path / name, {"2023 #1": [["age"], [1]], "2024": ROWS, "list": []})
    table = read_table(Path(f"{path}#2024"))
    assert table.source == f"{name}#2024"
    assert cells(table) == {"age": ["17", "40"], "sex": ["F", "M"]}
    assert table.notes == (f"{name}#2024: the sheet '2024' was read; the workbook has others",)
    assert read_table(Path(f"{path}#2023 #1")).rows == 1
    assert "no sheet '2025'; the workbook has '2023 #1', '2024', 'list'" in refused(
        Path(f"{path}#2025")
    )
    assert "the sheet 'list' is empty" in refused(Path(f"{path}#list"))


def test_only_a_workbook_has_sheets(tmp_path):
    path = tmp_path / "a#b.csv"
    path.write_text("age\n1\n")
    assert sheet_of(path) == (path, "")
    assert sheet_of(tmp_path / "a.csv#b") == (tmp_path / "a.csv#b", "")
    book = write_book(tmp_path / "a#b.xlsx", {"A": ROWS})
    assert sheet_of(Path(f"{book}#A")) == (book, "A")


def test_the_only_sheet_that_is_not_empty_is_the_table(tmp_path):
    table = read_table(write_book(tmp_path / "b.xlsx", {"A": [], "B": ROWS, "C": [[None]]}))
    assert cells(table) == {"age": ["17", "40"], "sex": ["F", "M"]}
    assert "the sheet 'B' was read" in table.notes[0]


def test_the_table_may_begin_anywhere_and_end_in_empty_rows(tmp_path):
    moved = [[None], [None, *HEADER], [None, 17, "F"], [None, None, "M"], [None], ["", ""]]
    table = read_table(write_book(tmp_path / "b.xlsx", {"A": moved}))
    assert cells(table) == {"age": ["17", ""], "sex": ["F", "M"]}
    assert table.notes == ()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("#N/A", ""),
        (True, "true"),
        (1.0, "1"),
        (0.1, "0.1"),
        (2**60, "1152921504606846976"),
        (1e300, "1e+300"),
        ("1.0", "1.0"),
        (datetime(2024, 1, 2), "2024-01-02"),
        (datetime(2024, 1, 2, 3, 4), "2024-01-02 03:04:00"),
        (time(3, 4), "03:04:00"),
        (timedelta(hours=26), "26:00:00"),
    ],
)
def test_a_cell_is_the_text_that_csv_has(value, text):
    assert text_of(value) == text


def test_columns_are_counted_in_letters():
    assert [letters(place) for place in (1, 26, 27, 702, 703)] == ["A", "Z", "AA", "ZZ", "AAA"]


def test_an_error_is_told_by_its_cell(tmp_path):
    path = write_book(tmp_path / "b.xlsx", {"A": [*ROWS, ["#DIV/0!", "F"]]})
    assert "sheet 'A': cell A4 holds the error #DIV/0!; correct the formula" in refused(path)


def test_not_available_is_a_missing_value(tmp_path):
    table = read_table(write_book(tmp_path / "b.xlsx", {"A": [*ROWS, ["#N/A", "F"]]}))
    assert table.numbers("age").missing.tolist() == [False, False, True]


def test_a_formula_counts_by_the_result_that_was_saved(tmp_path):
    path = write_book(tmp_path / "b.xlsx", {"A": [*ROWS, ["=40+2", "F"]]})
    assert "the formula in cell A4 has no result saved with it; open the workbook in" in refused(
        path
    )
    replaced(path, MAIN, b"</f><v", b"</f><v>42</v><v")
    assert read_table(path).columns["age"].cells() == ["17", "40", "42"]


@pytest.mark.parametrize(
    "written",
    [
        lambda folder: write_book(folder / "b.xlsx", {"A": ROWS}, ["B2:B3"]),
        lambda folder: write_old_book(folder / "b.xls", {"A": ROWS}, [(1, 2, 1, 1)]),
    ],
)
def test_merged_cells_are_told_as_only_one_has_the_value(tmp_path, written):
    assert "sheet 'A': the cells B2:B3 are merged, so that all but one have no value" in refused(
        written(tmp_path)
    )


def test_merged_cells_beside_the_table_do_not_matter(tmp_path):
    assert read_table(write_book(tmp_path / "b.xlsx", {"A": ROWS}, ["D1:E2"])).rows == 2


def test_a_wrong_size_in_the_file_cuts_nothing_off(tmp_path):
    path = write_book(tmp_path / "b.xlsx", {"A": ROWS})
    replaced(path, MAIN, b'ref="A1:B3"', b'ref="A1:A1"')
    assert cells(read_table(path)) == {"age": ["17", "40"], "sex": ["F", "M"]}


@pytest.mark.parametrize(
    ("part", "old", "new", "said"),
    [
        (
            MAIN,
            b"</sheetData>",
            b'<row r="4000000000"><c r="A9"><v>1</v></c></row></sheetData>',
            "more than 1,048,576",
        ),
        (
            MAIN,
            b"<sheetData>",
            b"<sheetData><row>" + b"<c/>" * 9,
            "not a readable workbook",
        ),
        (
            MAIN,
            b"<worksheet",
            b'<!DOCTYPE x [<!ENTITY a "1">]><worksheet',
            "not a readable workbook",
        ),
        ("xl/workbook.xml", b"<sheets>", b"<sheets><x>", "not a readable workbook"),
    ],
)
def test_a_workbook_that_lies_is_refused(tmp_path, part, old, new, said):
    path = write_book(tmp_path / "b.xlsx", {"A": ROWS})
    assert said in refused(replaced(path, part, old, new))


TOO_LARGE = "more than 1,048,576 rows or 16,384 columns; save the table as CSV or Parquet"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'ref="A1:B3"', b'ref="A1:B1048577"'),
        (b'ref="A1:B3"', b'ref="A1:XFE3"'),
        (b'<row r="3"', b'<row r="1048577"'),
        (b'<row r="2"', b'<row r="900000000000"'),
        (b'<c r="B1"', b'<c r="XFE1"'),
    ],
)
def test_a_sheet_beyond_what_excel_has_is_refused(tmp_path, old, new):
    path = write_book(tmp_path / "b.xlsx", {"A": ROWS})
    assert TOO_LARGE in refused(replaced(path, MAIN, old, new))


@pytest.mark.parametrize("said", [b"", b'<dimension ref="A1:B3"/>'])
def test_rows_beyond_what_excel_has_are_refused_before_any_is_read(tmp_path, monkeypatch, said):
    path = write_book(tmp_path / "b.xlsx", {"A": ROWS})
    replaced(path, MAIN, b'<dimension ref="A1:B3"/>', said)
    monkeypatch.setattr("treewarden.ppdm_models.tables.readers.workbook.MOST_ROWS", 2)
    with (
        zipfile.ZipFile(path) as archive,
        archive.open(MAIN) as part,
        pytest.raises(TableError, match="save the table as CSV or Parquet"),
    ):
        marks_of(part, "b.xlsx")
    refused(path)


def test_what_a_workbook_unpacks_to_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setenv("TREEWARDEN_TABLE_MEMORY", "64")
    path = write_book(tmp_path / "b.xlsx", {"A": ROWS})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/media/any.bin", bytes(65 * 2**20))
    said = refused(path)
    assert "the workbook unpacks to 68," in said
    assert "TREEWARDEN_TABLE_MEMORY" in said


CONTAINER = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            CONTAINER + "EncryptedPackage".encode("utf-16-le"),
            "protected by a password; save it without one",
        ),
        (CONTAINER, "not a readable workbook; open it and save it again as .xlsx"),
        (b"PK\x03\x04 xl/workbook.xml", "not a readable workbook"),
        (
            b"<html><table><tr><td>1",
            "an HTML page or XML, which some programs call .xls; save the table",
        ),
        (
            b"PK\x03\x04" + bytes(26) + b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
            "an OpenDocument",
        ),
    ],
)
def test_what_only_looks_like_a_workbook_is_told(data, said):
    with pytest.raises(TableError) as caught:
        read_table_bytes(data, "b.xls")
    assert said in str(caught.value)


def test_a_binary_workbook_is_told(tmp_path):
    with zipfile.ZipFile(tmp_path / "b.xlsb", "w") as archive:
        archive.writestr("xl/workbook.bin", b"")
    assert "a binary workbook (.xlsb); save it as .xlsx" in refused(tmp_path / "b.xlsb")


def test_the_content_decides_and_not_the_name(tmp_path):
    book = write_book(tmp_path / "b.xlsx", {"A": ROWS}).rename(tmp_path / "b.csv")
    assert read_table(book).rows == 2
    (tmp_path / "c.xlsx").write_text("age,sex\n17,F\n")
    assert read_table(tmp_path / "c.xlsx").rows == 1


@pytest.mark.parametrize(
    ("writer", "name", "module"),
    [(write_book, "b.xlsx", "openpyxl"), (write_old_book, "b.xls", "xlrd")],
)
def test_a_library_that_is_missing_names_its_extra(tmp_path, monkeypatch, writer, name, module):
    path = writer(tmp_path / name, {"A": ROWS})
    monkeypatch.setitem(sys.modules, module, None)
    said = refused(path)
    assert f"{name}: an Excel workbook: the package {module} is not installed" in said
    assert "pip install 'treewarden[excel]', or save the table as CSV" in said
    assert "import pandas; pandas.read_excel" in said

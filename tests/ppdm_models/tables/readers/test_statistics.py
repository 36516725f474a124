"""What the files of SPSS, Stata and SAS say beside their values, and what is said where they are broken."""

import gzip
import struct
import sys
from datetime import datetime

import pandas
import pytest

from tests.kit.office_tables import LABELLED, write
from tests.kit.tiers import cases
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table
from treewarden.ppdm_models.tables.read_table import read_table, read_table_bytes
from treewarden.ppdm_models.tables.readers.statistics import WEIGHT_AT, code_text

PEOPLE = {
    "age": [17.0, 40.0, None, 99.0],
    "sex": [1.0, 2.0, 2.0, 1.0],
    "town": ["ü", "b", "", None],
}
SEX = {"sex": {1: "male", 2: "female"}}


def refused(path):
    with pytest.raises(TableError) as caught:
        read_table(path)
    return str(caught.value)


def texts(column):
    return [column.text(row) for row in range(len(column))]


@pytest.mark.usefixtures("sound_files")
@pytest.mark.parametrize("form", LABELLED)
def test_labels_are_taken_where_the_model_has_them_and_codes_elsewhere(tmp_path, form):
    table = read_table(write(tmp_path / f"p.{form}", PEOPLE, labels=SEX))
    assert texts(table.categories("sex", ("female", "male"))) == [
        "male",
        "female",
        "female",
        "male",
    ]
    assert texts(table.categories("sex", ("1", "2"))) == ["1", "2", "2", "1"]
    assert texts(table.categories("sex")) == ["1", "2", "2", "1"]
    assert table.numbers("sex").numbers.tolist() == [1, 2, 2, 1]
    assert table.guessed("sex").numeric


@pytest.mark.usefixtures("sound_files")
def test_a_value_without_a_label_stays_its_code(tmp_path):
    table = read_table(write(tmp_path / "p.sav", PEOPLE, labels={"sex": {2: "female"}}))
    assert texts(table.categories("sex", ("female", "1"))) == ["1", "female", "female", "1"]
    assert texts(table.categories("sex", ("2", "1"))) == ["1", "2", "2", "1"]


@pytest.mark.usefixtures("sound_files")
def test_what_a_user_declared_missing_is_missing(tmp_path):
    missing = {"age": [{"lo": 90, "hi": 99}], "sex": [2]}
    table = read_table(write(tmp_path / "p.sav", PEOPLE, missing=missing, labels=SEX))
    assert table.numbers("age").missing.tolist() == [False, False, True, True]
    assert texts(table.categories("sex", ("male", "female"))) == ["male", None, None, "male"]


@pytest.mark.usefixtures("sound_files")
def test_weights_are_not_applied_and_that_is_said(tmp_path):
    path = write(tmp_path / "p.sav", PEOPLE)
    assert read_table(path).notes == ()
    data = bytearray(path.read_bytes())
    struct.pack_into("<i", data, WEIGHT_AT, 1)
    path.write_bytes(data)
    table = read_table(path)
    assert table.records == 4
    assert table.notes == (
        "p.sav: SPSS weights its records. The audit uses weights only if --weights or --sampling-weights "
        "names their column",
    )
    assert count_table(open_source(path)).notes == table.notes


def test_a_date_that_no_calendar_has_is_told_by_its_record(tmp_path):
    path = write(tmp_path / "p.sav", {"d": [1e10, 1e15]}, formats={"d": "DATE11"})
    assert "column 'd', record 2: the date is before the year 1 or after 9999" in refused(path)


def test_times_of_day_are_text(tmp_path):
    columns = {"at": [datetime(2024, 1, 2, 3, 4, 5), datetime(2024, 1, 2)], "n": [90061.5, None]}
    table = read_table(write(tmp_path / "p.sav", columns, formats={"n": "TIME8"}))
    assert texts(table.categories("at")) == ["2024-01-02 03:04:05", "2024-01-02 00:00:00"]
    assert texts(table.categories("n")) == ["25:01:01.500", None]


@pytest.mark.parametrize("form", ["sav", "zsav", "por", "dta", "xpt", "sas7bdat"])
@pytest.mark.parametrize("share", cases([0.97, 0.05], quick=1))
def test_a_file_that_is_cut_off_is_told(tmp_path, form, share):
    columns = {"x": [float(at % 7) for at in range(3000)], "s": ["abc"] * 3000}
    path = write(tmp_path / f"p.{form}", columns)
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    said = refused(path)
    assert said.startswith(f"p.{form}: ")
    assert "abc" not in said


def test_a_text_that_is_not_in_the_encoding_of_the_file_is_told(tmp_path):
    path = write(tmp_path / "p.sav", PEOPLE)
    path.write_bytes(path.read_bytes().replace("ü".encode(), b"\xff\xfe"))
    assert "an SPSS file that cannot be read (Unable to convert string" in refused(path)


def test_a_file_that_ends_the_library_ends_no_audit(tmp_path):
    path = write(tmp_path / "p.sav", {"s": ["a", "b"]}, labels={"s": {"a": "one"}})
    data = path.read_bytes()
    at = data.index(b"a       \x03one")
    path.write_bytes(data[:at] + b"\xff" + data[at + 1 :])
    assert "an SPSS file that cannot be read" in refused(path)
    with pytest.raises(TableError, match="an SPSS file that cannot be read"):
        read_table_bytes(path.read_bytes(), "p.sav")


def test_a_transport_file_of_two_tables_is_told(tmp_path):
    data = write(tmp_path / "p.xpt", {"x": [1.0] * 20}).read_bytes()
    (tmp_path / "p.xpt").write_bytes(data + data[240:])
    assert "holds 2 data sets; save one of them" in refused(tmp_path / "p.xpt")


def test_what_is_packed_is_unpacked_first(tmp_path):
    data = write(tmp_path / "p.sav", PEOPLE).read_bytes()
    (tmp_path / "p.sav.gz").write_bytes(gzip.compress(data))
    assert "p.sav.gz: an SPSS file, packed; unpack it" in refused(tmp_path / "p.sav.gz")


@pytest.mark.usefixtures("sound_files")
def test_files_of_a_folder_have_the_same_labels(tmp_path):
    for name, label in (("a", "male"), ("b", "man")):
        write(tmp_path / f"{name}.sav", PEOPLE, labels={"sex": {1: label}})
    with pytest.raises(TableError) as caught:
        count_table(open_source(tmp_path))
    assert "column 'sex' has other value labels in 'a.sav' than in 'b.sav'" in str(caught.value)
    assert count_table(open_source(tmp_path), ["age"]).records == 8


def test_codes_are_texts_as_their_columns_have_them():
    assert [code_text(each) for each in (1.0, 2.5, "m", 3)] == ["1", "2.5", "m", "3"]


@pytest.mark.parametrize(
    ("form", "kind"),
    [("sav", "an SPSS file"), ("dta", "a Stata file"), ("sas7bdat", "a SAS data set")],
)
def test_a_library_that_is_missing_names_its_extra(tmp_path, monkeypatch, form, kind):
    path = write(tmp_path / f"p.{form}", {"x": [1.0]})
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    said = refused(path)
    assert f"p.{form}: {kind}: the package pyreadstat is not installed" in said
    assert "pip install 'treewarden[statistics]', or save the table as CSV" in said
    assert "import pandas; pandas.read_s" in said


def test_a_file_that_changes_while_it_is_read_is_told(tmp_path):
    table = open_batches(write(tmp_path / "p.sav", PEOPLE))
    write(tmp_path / "p.sav", {"other": [1.0]})
    with pytest.raises(TableError, match=r"p.sav: changed while it was read"):
        list(table.read(["age"]))


def test_files_of_old_versions_of_stata_are_known_too(tmp_path):
    frame = pandas.DataFrame({"age": [17, 40], "sex": ["F", "M"]})
    frame.to_stata(tmp_path / "p.dta", version=114, write_index=False)
    table = read_table(tmp_path / "p.dta")
    assert {name: column.cells() for name, column in table.columns.items()} == {
        "age": [17, 40],
        "sex": ["F", "M"],
    }

"""The same table in all forms that are read: the same audit."""

import gzip
import hashlib
import json
import sys

import duckdb
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pytest

import treewarden as tw
from tests.kit import office_tables
from tests.kit.forests import by_sex, forest, stump
from treewarden.ppdm_models.files.convert import converted


def packed(data):
    return gzip.compress(data)


def packed_by_zstandard(data):
    return pa.compress(data, "zstd", asbytes=True)


def of_arrow(data):
    out = pa.BufferOutputStream()
    pa_feather.write_feather(pa_csv.read_csv(pa.BufferReader(data)), out)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "made"),
    [("p.csv.gz", packed), ("p.csv.zst", packed_by_zstandard), ("p.feather", of_arrow)],
)
def test_a_table_is_audited_alike_in_every_form(files, name, made):
    path = files.folder / name
    path.write_bytes(made(files.table.read_bytes()))
    plain = json.loads(files.run("audit", "--format", "json").stdout)
    words = ["audit", files.model, "--data", path, "--sensitive", "flu", "--format", "json"]
    other = json.loads(files.run_words(*words).stdout)
    for each in ("verdict", "findings", "readings"):
        assert other[each] == plain[each]


def test_a_packed_table_that_is_cut_off_ends_without_an_audit(files):
    path = files.folder / "p.csv.gz"
    path.write_bytes(gzip.compress(files.table.read_bytes())[:-12])
    outcome = files.run_words("audit", files.model, "--data", path, "--sensitive", "flu")
    assert outcome.exit_code == 4
    assert "p.csv.gz: the table cannot be read" in outcome.output


def of_database(data, path):
    with duckdb.connect(str(path)) as made:
        made.register("read", pa_csv.read_csv(pa.BufferReader(data)))
        made.execute("create table people as select * from read")


def of_folder(data, path):
    header, *records = data.decode().splitlines()
    path.mkdir()
    for name, part in (("a", records[:7]), ("b", records[7:])):
        (path / f"{name}.csv").write_text("\n".join([header, *part, ""]))


@pytest.mark.parametrize(
    ("made", "name", "typed"),
    [
        (of_database, "p.duckdb", "p.duckdb"),
        (of_database, "p.duckdb", "p.duckdb#people"),
        (of_folder, "p", "p"),
        (of_folder, "p", "p/*.csv"),
    ],
)
def test_a_table_is_audited_alike_where_it_is_counted(files, made, name, typed):
    made(files.table.read_bytes(), files.folder / name)
    plain = json.loads(files.run("audit", "--format", "json").stdout)
    words = ["audit", files.model, "--data", files.folder / typed, "--sensitive", "flu"]
    other = json.loads(files.run_words(*words, "--format", "json").stdout)
    for each in ("verdict", "findings", "readings"):
        assert other[each] == plain[each]
    assert len(other["provenance"]["table"]["sha256"]) == 64


SEX, FLU = {"F": 1.0, "M": 2.0}, {"no": 0.0, "yes": 1.0}


def columns_of(data):
    header, *records = (line.split(",") for line in data.decode().splitlines())
    columns = dict(zip(header, zip(*records, strict=True), strict=True))
    return {**columns, "age": list(map(float, columns["age"]))}


def in_codes(columns):
    """Return what writes a table as SPSS and Stata do: codes, and what they are called."""
    coded = {"sex": [SEX[v] for v in columns["sex"]], "flu": [FLU[v] for v in columns["flu"]]}
    labels = {
        name: {code: label for label, code in codes.items()}
        for name, codes in (("sex", SEX), ("flu", FLU))
    }
    return {**columns, **coded}, labels


@pytest.mark.parametrize("name", ["p.xlsx", "p.xls", "p.zsav", "p.dta", "p.xpt", "p.sas7bdat"])
def test_a_table_of_another_program_is_audited_alike(files, name):
    columns, labels = columns_of(files.table.read_bytes()), None
    if name[2:] in office_tables.LABELLED:
        columns, labels = in_codes(columns)
    path = office_tables.write(files.folder / name, columns, labels=labels)
    plain = json.loads(files.run("audit", "--format", "json").stdout)
    words = ["audit", files.model, "--data", path, "--sensitive", "flu", "--format", "json"]
    other = json.loads(files.run_words(*words).stdout)
    for each in ("verdict", "findings", "readings"):
        assert other[each] == plain[each]
    assert other["provenance"]["table"]["name"] == name
    taken = f"{name}: value labels were used for 'sex', 'flu', as in the model"
    assert (taken in other["warnings"]) == (labels is not None)


def test_a_sheet_is_audited_under_its_name(files):
    columns = columns_of(files.table.read_bytes())
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    book = office_tables.write_book(files.folder / "p.xlsx", {"old": [["age"], [1]], "new": rows})
    words = ["audit", files.model, "--sensitive", "flu", "--format", "json", "--data"]
    refused = files.run_words(*words, book)
    assert refused.exit_code == 4
    assert "p.xlsx: the workbook has several sheets: 'old', 'new'; choose one: p.xlsx#SHEET" in (
        refused.output
    )
    found = json.loads(files.run_words(*words, f"{book}#new").stdout)
    assert found["provenance"]["table"]["name"] == "p.xlsx#new"
    assert found["provenance"]["table"]["sha256"] == hashlib.sha256(book.read_bytes()).hexdigest()
    assert any("the sheet 'new' was read" in each for each in found["warnings"])


def test_nothing_that_is_read_is_overwritten_by_a_report(files):
    columns = columns_of(files.table.read_bytes())
    book = office_tables.write(files.folder / "p.xlsx", columns)
    before = book.read_bytes()
    words = ["audit", files.model, "--data", f"{book}#Table", "--sensitive", "flu", "-o", book]
    assert files.run_words(*words).exit_code in (2, 4)
    assert book.read_bytes() == before


def test_a_library_that_is_missing_ends_without_an_audit(files, monkeypatch):
    path = office_tables.write(files.folder / "p.sav", {"age": [1.0]})
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    outcome = files.run_words("audit", files.model, "--data", path, "--sensitive", "flu")
    assert outcome.exit_code == 4
    assert "no audit was performed: p.sav: an SPSS file: the package pyreadstat" in outcome.output
    assert "pip install 'treewarden[statistics]'" in outcome.output


def test_more_distinct_rows_than_memory_holds_are_undetermined(files, monkeypatch):
    monkeypatch.setenv("TREEWARDEN_TABLE_MEMORY", "64")
    with duckdb.connect(str(files.folder / "p.duckdb")) as made:
        made.execute(
            "create table people as select n as age, 'F' as sex, 'no' as flu from range(2000000) t(n)"
        )
    words = ["audit", files.model, "--data", files.folder / "p.duckdb", "--sensitive", "flu"]
    outcome = files.run_words(*words)
    assert outcome.exit_code == 3
    assert "undetermined: p.duckdb: " in outcome.output
    assert "fewer quasi-identifiers" in outcome.output
    with pytest.raises(tw.TooManyProfilesError, match="fewer quasi-identifiers"):
        tw.audit(files.model, files.folder / "p.duckdb", sensitive="flu")


def test_several_releases_need_records(files):
    of_folder(files.table.read_bytes(), files.folder / "p")
    words = ["audit", files.model, files.model, "--data", files.folder / "p", "--sensitive", "flu"]
    outcome = files.run_words(*words)
    assert outcome.exit_code == 4
    assert "this command needs each record; give one CSV, Parquet or Arrow file" in outcome.output


def test_an_address_that_names_no_table_says_how_and_no_password(files):
    words = ["audit", files.model, "--data", "postgresql://me:canary@h/db", "--sensitive", "flu"]
    outcome = files.run_words(*words)
    assert outcome.exit_code == 4
    assert "postgresql://USER@HOST/DATABASE#SCHEMA.TABLE" in outcome.output
    assert "canary" not in outcome.output


def test_an_ensemble_is_counted_only_where_nobody_knows_the_order(files):
    of_folder(files.table.read_bytes(), files.folder / "p")
    ensemble = forest(stump(40.0, "no", "yes"), stump(55.0, "no", "yes"), by_sex("yes", "no"))
    files.model.write_bytes(converted(ensemble, "pmml"))
    words = ["audit", files.model, "--data", files.folder / "p", "--sensitive", "flu"]
    outcome = files.run_words(*words)
    assert outcome.exit_code == 4
    assert "add --row-order unknown" in outcome.output
    outcome = files.run_words(*words, "--row-order", "unknown", "--no-worlds")
    assert outcome.exit_code in (0, 1, 3)

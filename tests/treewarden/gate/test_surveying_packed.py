import gzip

from tests.kit import office_tables
from treewarden.jobs.gate.init_config import survey


def test_packed_tables_are_found_by_their_header_and_what_is_no_table_is_not(tmp_path):
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"age;sex\n30;F\n"))
    (tmp_path / "damaged.csv.gz").write_bytes(b"\x1f\x8b and no more")
    (tmp_path / "other.gz").write_bytes(gzip.compress(b"age,sex\n30,F\n"))
    _, tables, _ = survey(tmp_path)
    assert [(each.file, each.columns) for each in tables] == [("people.csv.gz", ("age", "sex"))]


def test_tables_of_other_programs_are_found_by_their_columns(tmp_path):
    columns = {"age": [30.0], "sex": ["F"]}
    for name in ("a.xlsx", "b.sav"):
        office_tables.write(tmp_path / name, columns)
    office_tables.write_book(tmp_path / "several.xlsx", {"x": [["a"]], "y": [["b"]]})
    (tmp_path / "~$a.xlsx").write_bytes(b"somebody")
    _, tables, _ = survey(tmp_path)
    assert [(each.file, each.columns) for each in tables] == [
        ("a.xlsx", ("age", "sex")),
        ("b.sav", ("age", "sex")),
    ]

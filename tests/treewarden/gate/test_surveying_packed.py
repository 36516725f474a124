import gzip

from treewarden.jobs.gate.surveying import survey


def test_packed_tables_are_found_by_their_header_and_what_is_no_table_is_not(tmp_path):
    (tmp_path / "people.csv.gz").write_bytes(gzip.compress(b"age;sex\n30;F\n"))
    (tmp_path / "damaged.csv.gz").write_bytes(b"\x1f\x8b and no more")
    (tmp_path / "other.gz").write_bytes(gzip.compress(b"age,sex\n30,F\n"))
    _, tables, _ = survey(tmp_path)
    assert [(each.file, each.columns) for each in tables] == [("people.csv.gz", ("age", "sex"))]

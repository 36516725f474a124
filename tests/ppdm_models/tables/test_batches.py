"""Tables read and written a piece at a time: what is read is what a table read whole holds, cell for cell."""

from __future__ import annotations

import csv

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treewarden.ppdm_models.errors import OutputError, TableError
from treewarden.ppdm_models.tables.batches import BATCH_RECORDS, batch_file, open_batches

ODD = ["007", "", " x ", 'say "x"', "a,b", "a;b", "two\nlines", "tab\there", "é", "NA", "\r"]


def copied(source, output, delimiter=","):
    """Write all of a table into another file, a piece at a time."""
    table = open_batches(source)
    with batch_file(output, output.suffix, table.schema, delimiter) as file:
        for batch in table.read(table.names):
            file.write(batch)
    return output


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_texts_of_a_csv_file_go_through_unchanged(tmp_path, delimiter):
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows([["n", "text"], *enumerate(ODD)])
    out = copied(tmp_path / "t.csv", tmp_path / "out.csv", delimiter)
    with out.open(newline="", encoding="utf-8") as file:
        assert [row[1] for row in csv.reader(file, delimiter=delimiter)] == ["text", *ODD]


def test_a_single_column_keeps_its_empty_records(tmp_path):
    (tmp_path / "t.csv").write_text('a\nx\n""\ny\n')
    out = copied(tmp_path / "t.csv", tmp_path / "out.csv")
    [batch] = open_batches(out).read(["a"])
    assert batch.column("a").to_pylist() == ["x", "", "y"]


def test_a_header_that_would_be_guessed_wrong_gets_another_delimiter(tmp_path):
    pq.write_table(pa.table({"a;b;c": ["1", "2"], "d": ["3", "4"]}), tmp_path / "t.parquet")
    out = copied(tmp_path / "t.parquet", tmp_path / "out.csv")
    assert open_batches(out).names == ("a;b;c", "d")


def test_columns_come_in_the_order_that_is_asked_for(tmp_path):
    pq.write_table(pa.table({"a": [1], "b": [2], "c": [3]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("a,b,c\n1,2,3\n")
    for name in ("t.parquet", "t.csv"):
        [batch] = open_batches(tmp_path / name).read(["c", "a"])
        assert batch.schema.names == ["c", "a"]


def test_a_large_file_comes_in_several_pieces(tmp_path):
    pq.write_table(pa.table({"a": range(2 * BATCH_RECORDS + 1)}), tmp_path / "t.parquet")
    sizes = [batch.num_rows for batch in open_batches(tmp_path / "t.parquet").read(["a"])]
    assert len(sizes) > 1
    assert sum(sizes) == 2 * BATCH_RECORDS + 1
    assert max(sizes) <= BATCH_RECORDS


def test_what_has_no_place_in_csv_is_refused(tmp_path):
    pq.write_table(pa.table({"a": [[1]]}), tmp_path / "t.parquet")
    with pytest.raises(OutputError, match="column 'a'"):
        copied(tmp_path / "t.parquet", tmp_path / "out.csv")


@pytest.mark.parametrize("data", [b"PAR1 and no more", b"PAR1" * 1000])
def test_a_broken_parquet_file_is_refused(tmp_path, data):
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(TableError, match=r"t\.parquet: the table cannot be read"):
        open_batches(tmp_path / "t.parquet")


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(TableError, match="not a file that can be read twice"):
        open_batches(tmp_path)
    with pytest.raises(TableError, match="there is no such file"):
        open_batches(tmp_path / "nowhere.csv")

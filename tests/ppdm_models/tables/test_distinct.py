"""Distinct rows are counted as a table passes by: each cell as it is written, each record once."""

from __future__ import annotations

import os
from collections import Counter
from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables import distinct
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.distinct import distinct_rows
from treewarden.ppdm_models.tables.read_table import read_table

TEXTS = ["007", "7", "", " x ", "x", 'say "x"', "a,b", "two\nlines", "é", "e\u0301", "NA", "?"]
KINDS = {
    "text": pa.array(["a", None, "a", "b"]),
    "large": pa.array(["a", None, "a", "b"], pa.large_string()),
    "view": pa.array(["a", None, "a", "b"], pa.string_view()),
    "coded": pa.array(["a", None, "a", "b"]).dictionary_encode(),
    "whole": pa.array([3, None, 3, 2**60 + 1]),
    "real": pa.array([0.5, None, float("nan"), -0.0]),
    "half": pa.array([0.5, None, 0.5, 2.0]).cast(pa.float16()),
    "truth": pa.array([True, None, False, True]),
    "day": pa.array([date(2020, 1, 2), None, date(2020, 1, 2), date(1999, 1, 1)]),
    "time": pa.array([datetime(2020, 1, 2), None, datetime(2020, 1, 2, 3), datetime(1999, 1, 1)]),
    "money": pa.array([Decimal("1.20"), None, Decimal("1.20"), Decimal("3.00")]),
    "nothing": pa.nulls(4),
}


def rows_of(found):
    """The distinct rows by value, and how many records each stands for."""
    cells = [np.array(own.cells(), dtype=object)[own.codes] for own in found.columns.values()]
    return Counter(dict(zip(zip(*cells, strict=True), found.counts.tolist(), strict=True)))


@pytest.fixture
def texts(tmp_path):
    """Write records of odd texts, most of them several times, and return them too."""
    random = np.random.default_rng(5)
    rows = [tuple(map(str, random.choice(TEXTS, 2))) for _ in range(400)]
    table = pa.table({"a": [a for a, _ in rows], "b": [b for _, b in rows]})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=90)
    return tmp_path / "t.parquet", rows


def test_every_record_is_counted_once_and_cells_stay_as_they_are_written(texts):
    path, rows = texts
    assert rows_of(distinct_rows(open_batches(path), ("a", "b"))) == Counter(rows)


def test_it_does_not_matter_how_often_rows_are_put_together(texts, monkeypatch):
    path, rows = texts
    monkeypatch.setattr(distinct, "FEWEST_MERGED", 1)
    monkeypatch.setattr("treewarden.ppdm_models.tables.batches.BATCH_RECORDS", 7)
    found = distinct_rows(open_batches(path), ("b", "a"))
    assert rows_of(found) == Counter((b, a) for a, b in rows)
    firsts = found.columns["a"].first.tolist()
    assert firsts == sorted(rows.index(row) for row in set(rows))


@pytest.mark.parametrize("kind", KINDS)
def test_a_column_means_what_it_does_in_a_table_that_is_read_whole(kind, tmp_path):
    pq.write_table(pa.table({"c": KINDS[kind], "n": range(4)}), tmp_path / "t.parquet")
    whole = read_table(tmp_path / "t.parquet").columns["c"]
    part = distinct_rows(open_batches(tmp_path / "t.parquet"), ("c", "n")).columns["c"]
    assert part.is_numeric() == whole.is_numeric()
    mine, others = part.categories(()), whole.categories(())
    assert mine.categories == others.categories
    assert mine.codes[part.codes].tolist() == others.codes.tolist()
    if whole.is_numeric():
        assert np.array_equal(part.numbers()[part.codes], whole.numbers(), equal_nan=True)


@pytest.mark.parametrize("cell", ["x", "inf"])
def test_a_cell_that_is_no_number_is_named_by_its_record_in_the_whole_table(cell, tmp_path):
    cells = ["1", "1", "1", cell, "2", cell]
    (tmp_path / "t.csv").write_text("\n".join(["a", *cells, ""]))
    for column in (
        read_table(tmp_path / "t.csv").columns["a"],
        distinct_rows(open_batches(tmp_path / "t.csv"), ("a",)).columns["a"],
    ):
        with pytest.raises(TableError, match="column 'a', record 4: "):
            column.numbers()


def test_rows_that_are_too_many_for_memory_are_refused_before_it_is_full(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": range(5000)}), tmp_path / "t.parquet")
    monkeypatch.setattr(distinct, "FEWEST_MERGED", 1)
    monkeypatch.setattr(distinct, "room_bytes", lambda: 1000)
    with pytest.raises(TableError, match="distinct rows in the first .* records do not fit"):
        distinct_rows(open_batches(tmp_path / "t.parquet"), ("a",))


def test_a_table_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("a\nx\n")
    table = open_batches(path)
    counted = distinct._counted

    def and_changed(*given):
        found = counted(*given)
        path.write_text("a\nx\ny\n")
        os.utime(path, (1, 1))
        return found

    monkeypatch.setattr(distinct, "_counted", and_changed)
    with pytest.raises(TableError, match="changed while it was read"):
        distinct_rows(table, ("a",))


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("lists", "holds list.* neither numbers nor text"),
        ("aa", "no column 'aa' .did you mean 'a'"),
    ],
)
def test_a_column_that_cannot_be_counted_is_refused(column, problem, tmp_path):
    pq.write_table(pa.table({"a": [1], "lists": [[1]]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=problem):
        distinct_rows(open_batches(tmp_path / "t.parquet"), (column,))


def test_a_table_without_records_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(TableError, match="has no records"):
        distinct_rows(open_batches(tmp_path / "t.csv"), ("a",))

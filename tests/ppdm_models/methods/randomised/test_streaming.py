"""Columns hidden as records pass by: what stays, what is counted, and what is refused without showing a value."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treewarden.ppdm_models.errors import DomainError, TableError, TreewardenError
from treewarden.ppdm_models.methods.randomised.domains import ColumnDomain, domains_of_data
from treewarden.ppdm_models.methods.randomised.manifest import planned
from treewarden.ppdm_models.methods.randomised.streaming import Hider
from treewarden.ppdm_models.tables.batches import batch_file, open_batches

AGE = ColumnDomain("age", 0.0, 100.0, is_whole=True)
SECRET = "1234567"
"""A cell that no message may show."""


def hide(path, out, *domains, kind="uniform", level=1.0, label=""):
    """Write a table with noise into a file, and return what passed by."""
    table = open_batches(path)
    plans = tuple(planned(each, kind, level, 0.95) for each in domains)
    hider = Hider(table, plans, table.names, label)
    with batch_file(out, out.suffix, hider.schema, table.delimiter or ",", hider.unlike) as file:
        for batch in hider.hidden():
            file.write(batch)
    return hider


def wrote(path, text):
    path.write_bytes(text.encode())
    return path


def ages(path, *values):
    return wrote(path, "\n".join(["age", *values, ""]))


def test_other_columns_keep_their_text(tmp_path):
    rows = [
        ["1", "007", "a,b"],
        ["2", "", 'say "x"'],
        ["3", " 1.50 ", "two\nlines"],
        ["4", "NA", "é;\t"],
    ]
    with (tmp_path / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["age", "code, long", "text"], *rows])
    hide(tmp_path / "t.csv", tmp_path / "out.csv", AGE)
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *found = csv.reader(file)
    assert header == ["age", "code, long", "text"]
    assert [row[1:] for row in found] == [row[1:] for row in rows]
    assert all(float(row[0]) != float(own[0]) for row, own in zip(found, rows, strict=True))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_what_parts_cells_stays(tmp_path, delimiter):
    source = wrote(tmp_path / "t.csv", f"age{delimiter}b\n1{delimiter}x\n2{delimiter}y\n")
    hide(source, tmp_path / "out.csv", AGE)
    assert (tmp_path / "out.csv").read_text().startswith(f"age{delimiter}b\n")
    assert open_batches(tmp_path / "out.csv").names == ("age", "b")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_missing_values_stay_missing_and_are_counted(tmp_path, suffix):
    source = ages(tmp_path / "t.csv", "1", '""', "2", "NA", "?", "3")
    hider = hide(source, tmp_path / f"out{suffix}", AGE)
    assert (hider.records, hider.missing) == (6, {"age": 3})
    [batch] = open_batches(tmp_path / f"out{suffix}").read(["age"])
    is_missing = [value in (None, "") for value in batch.column("age").to_pylist()]
    assert is_missing == [False, True, False, True, True, False]


def test_true_values_are_counted_whatever_the_noise(tmp_path):
    source = ages(tmp_path / "t.csv", "0", "1", "1", "1", "100")
    hider = hide(source, tmp_path / "out.csv", ColumnDomain("age", 0.0, 100.0, is_whole=False))
    own, counts = hider.counts["age"]
    assert (own.low, own.width, own.count) == (0.0, 1.0, 100)
    assert counts[0].tolist() == [1, 3, *[0] * 97, 1]


def test_true_values_are_counted_class_by_class(tmp_path):
    source = wrote(tmp_path / "t.csv", "age,flu\n0,no\n1,yes\n1,no\n,yes\n3,\n")
    hider = hide(source, tmp_path / "out.csv", ColumnDomain("age", 0, 3, True), label="flu")
    counts = hider.counts["age"][1]
    assert counts[:3].tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]
    assert not counts[3:].any()
    assert hider.moments.records == 4
    assert not hider.labels.are_too_many


def test_whole_numbers_have_an_interval_each(tmp_path):
    hider = hide(
        ages(tmp_path / "t.csv", "0", "1", "1"),
        tmp_path / "out.csv",
        ColumnDomain("age", 0, 3, True),
    )
    own, counts = hider.counts["age"]
    assert (own.low, counts[0].tolist()) == (-0.5, [1, 2, 0, 0])


def test_moments_are_those_of_all_records_together(tmp_path):
    random = np.random.default_rng(3)
    first = random.uniform(0, 10, 400_000)
    second = first + random.uniform(0, 10, 400_000)
    pq.write_table(pa.table({"a": first, "b": second}), tmp_path / "t.parquet")
    domains = (ColumnDomain("a", 0.0, 10.0), ColumnDomain("b", 0.0, 20.0))
    hider = hide(tmp_path / "t.parquet", tmp_path / "out.parquet", *domains)
    own = hider.moments
    assert own.records == hider.records == 400_000
    seen = pq.read_table(tmp_path / "out.parquet")
    every = np.array(
        [first / 10, second / 20, seen["a"].to_numpy() / 10, seen["b"].to_numpy() / 20]
    )
    np.testing.assert_allclose(own.covariance, np.cov(every, bias=True), atol=1e-9)


@pytest.mark.parametrize("kind", ["uniform", "gaussian"])
def test_noise_is_of_the_level_that_was_asked_for(tmp_path, kind):
    true = np.random.default_rng(1).integers(0, 101, 200_000).astype(float)
    pq.write_table(pa.table({"age": true}), tmp_path / "t.parquet")
    hide(tmp_path / "t.parquet", tmp_path / "out.parquet", AGE, kind=kind, level=0.5)
    off = np.abs(pq.read_table(tmp_path / "out.parquet")["age"].to_numpy() - true)
    assert (off <= 25).mean() == pytest.approx(0.95, abs=0.01)


def test_classes_stand_in_place_of_values(tmp_path):
    hide(
        ages(tmp_path / "t.csv", "0", "47", "48", "100"), tmp_path / "o.csv", AGE, kind="discretize"
    )
    seen = [float(each) for each in (tmp_path / "o.csv").read_text().split()[1:]]
    assert seen == [50.0] * 4


def test_noise_is_another_each_time(tmp_path):
    source = ages(tmp_path / "t.csv", "1", "2", "3")
    for name in ("a.csv", "b.csv"):
        hide(source, tmp_path / name, AGE)
    assert (tmp_path / "a.csv").read_bytes() != (tmp_path / "b.csv").read_bytes()


def test_texts_become_their_place_among_the_values(tmp_path):
    source = wrote(tmp_path / "t.csv", "school\nnone\n degree \nsome\n?\n")
    school = ColumnDomain("school", 0.0, 2.0, is_whole=True, values=("none", "some", "degree"))
    hider = hide(source, tmp_path / "out.csv", school)
    assert hider.counts["school"][1].tolist() == [[1, 1, 1]]
    assert hider.missing == {"school": 1}


def test_a_declared_value_is_one_though_elsewhere_it_stands_for_none(tmp_path):
    source = wrote(tmp_path / "t.csv", "school\nNone\nsome\n")
    hider = hide(source, tmp_path / "out.csv", ColumnDomain("school", 0, 1, True, ("None", "some")))
    assert hider.missing == {"school": 0}


def test_dictionaries_of_a_parquet_file_are_read(tmp_path):
    column = pa.array(["a", "b", None, "a"]).dictionary_encode()
    pq.write_table(pa.table({"t": column, "u": column}), tmp_path / "t.parquet")
    hider = hide(
        tmp_path / "t.parquet", tmp_path / "out.parquet", ColumnDomain("t", 0, 1, True, ("a", "b"))
    )
    assert hider.counts["t"][1].tolist() == [[2, 1]]
    assert pq.read_table(tmp_path / "out.parquet")["u"].to_pylist() == ["a", "b", None, "a"]


def test_what_a_parquet_file_says_beside_its_records_is_left_out(tmp_path):
    table = pa.table({"age": [1, 2]}).replace_schema_metadata({"pandas": "made from people.xlsx"})
    pq.write_table(table, tmp_path / "t.parquet")
    hide(tmp_path / "t.parquet", tmp_path / "out.parquet", AGE)
    assert b"people.xlsx" not in (tmp_path / "out.parquet").read_bytes()


@pytest.mark.parametrize(
    "cell", [SECRET, f"-{SECRET}", f"{SECRET}x", "inf", "-inf", "nan", "NaN", "1e999", "0.5"]
)
@pytest.mark.parametrize("before", [0, 3])
def test_a_cell_that_is_no_value_of_the_domain_is_named_by_its_record_alone(tmp_path, cell, before):
    source = ages(tmp_path / "t.csv", *["1", "NA", "2"][:before], cell, "7")
    with pytest.raises((DomainError, TableError)) as told:
        hide(source, tmp_path / "out.csv", AGE)
    assert told.value.where == f"t.csv, record {before + 1}"
    assert "'age'" in str(told.value)
    assert SECRET not in str(told.value)


def test_the_record_is_counted_over_the_whole_file(tmp_path):
    pq.write_table(pa.table({"age": [1.0] * 300_000 + [101.0]}), tmp_path / "t.parquet")
    with pytest.raises(DomainError, match="record 300001"):
        hide(tmp_path / "t.parquet", tmp_path / "out.parquet", AGE)


def test_a_text_that_is_none_of_the_values_is_named_by_its_record_alone(tmp_path):
    source = wrote(tmp_path / "t.csv", f"t\na\n{SECRET}\n")
    with pytest.raises(DomainError, match=r"record 2: column 't'") as told:
        hide(source, tmp_path / "out.csv", ColumnDomain("t", 0, 1, True, ("a", "b")))
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("age\n4\n4\n4\n", "only one value"),
        ("age,b\n,1\n,2\n", "has no value"),
        ("age\n", "no records"),
        ("", "empty"),
        ("age,age\n1,2\n", "two columns are called"),
        (f"age,b\n1,2\n{SECRET}\n", "the table cannot be read"),
    ],
)
def test_tables_that_cannot_be_hidden_are_refused(tmp_path, text, problem):
    source = wrote(tmp_path / "t.csv", text)
    with pytest.raises(TreewardenError, match=problem) as told:
        hide(source, tmp_path / "out.csv", AGE)
    assert SECRET not in str(told.value)


def test_bytes_that_are_no_utf_8_are_refused(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"age,b\n1,\xe9\n2,x\n")
    with pytest.raises(TableError, match="not a text table|encoding"):
        hide(tmp_path / "t.csv", tmp_path / "out.csv", AGE)


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    source = wrote(tmp_path / "t.csv", "\ufeffage,b\n1,2\n3,4\n")
    hide(source, tmp_path / "out.csv", AGE)
    assert (tmp_path / "out.csv").read_text().startswith("age,b\n")


@pytest.mark.parametrize("high", [1e149, 9e149])
def test_noise_that_numbers_cannot_hold_is_refused(high):
    with pytest.raises(DomainError, match="larger than numbers can be"):
        planned(ColumnDomain("age", 0.0, high), "gaussian", 10, 0.5)


@pytest.mark.parametrize(("order", "is_telling"), [("sorted", True), ("shuffled", False)])
def test_an_order_that_tells_values_is_seen(tmp_path, order, is_telling):
    values = np.random.default_rng(5).uniform(0, 100, 300_000)
    if order == "sorted":
        values.sort()
    pq.write_table(pa.table({"age": values}), tmp_path / "t.parquet")
    hider = hide(tmp_path / "t.parquet", tmp_path / "out.parquet", ColumnDomain("age", 0, 100))
    assert (hider.following["age"] > 0.99) == is_telling
    assert (hider.following["age"] == 0) == (not is_telling)


def test_domains_are_read_off_the_data(tmp_path):
    source = wrote(tmp_path / "t.csv", "a,b\n3,1.5\n,2\n-4,\n")
    assert domains_of_data(open_batches(source), ["a", "b"]) == {
        "a": ColumnDomain("a", -4.0, 3.0, is_whole=True, origin="data"),
        "b": ColumnDomain("b", 1.5, 2.0, is_whole=False, origin="data"),
    }


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        (["1", "1"], "only one value"),
        (["NA", "?"], "has no value"),
        (["1", "1e200"], "another unit"),
    ],
)
def test_data_without_a_domain_are_refused(tmp_path, cells, problem):
    with pytest.raises(DomainError, match=problem):
        domains_of_data(open_batches(ages(tmp_path / "t.csv", *cells)), ["age"])

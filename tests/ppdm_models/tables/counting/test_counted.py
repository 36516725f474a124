"""Counting a table and reading it come to the same people, whatever form it has and whatever stands in it."""

from __future__ import annotations

import csv
import datetime
import gzip
import os
import signal
import tempfile
import threading
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.tiers import examples
from treewarden.audit.population.population import build_population
from treewarden.jobs.population import (
    LARGE_BYTES,
    LARGE_RECORDS,
    PACKED_TIMES,
    is_large,
)
from treewarden.ppdm_models.errors import ColumnNotCountedError, TableError, TooManyProfilesError
from treewarden.ppdm_models.tables.counting import files
from treewarden.ppdm_models.tables.counting.addresses import check_unchanged, parts_of
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import attended, count_table
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.predicate import Always
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

TEXTS = [
    *("a", "A", "b", "", " ", " a", "a ", "?", "NA", "null", "None", "nan", "1", "1.0", "01", "1e0", "2"),
    *("true", "True", "false", "TRUE", "a,b", "a;b", 'say "x"', "it's", "two\nlines", "\r", "tab\t"),
    *("é", "e\u0301", "-0.0", "0"),
]  # fmt: skip
COLUMNS = ("plain", "Plain", "file_index", 'odd "name" [x] 100%', "größe;")
KINDS = {
    "text": (pa.string(), st.sampled_from(TEXTS)),
    "large text": (pa.large_string(), st.sampled_from(TEXTS)),
    "whole": (pa.int16(), st.integers(-2, 2)),
    "id": (pa.int64(), st.sampled_from([2**53, 2**53 + 1, 0])),
    "number": (pa.float64(), st.sampled_from([0.0, 1.5, -2.0, float("nan")])),
    "short number": (pa.float32(), st.sampled_from([0.1, 2.0])),
    "truth": (pa.bool_(), st.booleans()),
    "day": (pa.date32(), st.sampled_from([datetime.date(2024, 1, 1), datetime.date(1, 1, 1)])),
    "time": (pa.timestamp("ns", "UTC"), st.sampled_from([0, 1, 86_400 * 10**9])),
    "decimal": (pa.decimal128(9, 2), st.sampled_from([1, 2])),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), st.sampled_from(TEXTS)),
}
TARGETS = st.sampled_from(["yes", "no"])


def test_a_file_is_large_by_what_it_holds_and_not_by_its_bytes(tmp_path):
    many, few = tmp_path / "many.parquet", tmp_path / "few.parquet"
    for path, records in ((many, LARGE_RECORDS), (few, LARGE_RECORDS - 1)):
        pq.write_table(pa.table({"x": np.zeros(records, dtype=np.int8)}), path)
    assert is_large(many)
    assert not is_large(few)
    packed = tmp_path / "people.csv.gz"
    with gzip.open(packed, "wb", compresslevel=1) as file:
        file.write(np.random.default_rng(0).bytes(LARGE_BYTES // PACKED_TIMES))
    assert is_large(packed)
    for name, start in (
        ("people.xlsx", b"PK\x03\x04"),
        ("people.sav", b"$FL2"),
        ("people.csv", b"x"),
    ):
        (tmp_path / name).write_bytes(start + bytes(LARGE_BYTES // PACKED_TIMES))
        assert is_large(tmp_path / name) == (name != "people.csv")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1" + b"x" * 100)
    assert not is_large(broken)
    assert not is_large(tmp_path / "none.csv")


def tree_over(names):
    """Return a tree of one leaf over columns that it says nothing about."""
    features = tuple(Feature(name, False, ("a", "1")) for name in names)
    root = Node(0, "root", None, (), Always(), "yes")
    return Tree((root,), features, "target", ("no", "yes"))


def people(table, names, **options):
    try:
        return build_population(tree_over(names), table, sensitive="target", qi=names, **options)
    except TableError as error:
        return str(error)


def same(one, other):
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    assert one.warnings == other.warnings
    assert (one.qi, one.weights, one.rival) == (other.qi, other.weights, other.rival)
    for name in one.qi:
        mine, theirs = one.columns[name], other.columns[name]
        assert type(mine) is type(theirs)
        texts = [(mine.text(row), theirs.text(row)) for row in range(len(one.counts))]
        assert all(a == b for a, b in texts), texts
        assert getattr(mine, "categories", ()) == getattr(theirs, "categories", ())
    for name in ("counts", "leaf", "truth", "weight"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
    return True


def written(table, form, folder):
    """Write a table as a file of a form; return its path."""
    path = folder / f"we[i]rd 'q' 100%25 * {form}"
    if form in ("csv", "gzip", "zstd"):
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = zip(*(each.to_pylist() for each in table.columns), strict=True)
            csv.writer(file, quoting=csv.QUOTE_ALL).writerows([table.column_names, *rows])
        data = path.read_bytes()
        if form == "gzip":
            path.write_bytes(gzip.compress(data))
        if form == "zstd":
            with pa.CompressedOutputStream(str(path), "zstd") as packed:
                packed.write(data)
    elif form == "arrow":
        pa_feather.write_feather(table, path)
    else:
        pq.write_table(table, path, row_group_size=3)
    return path


@st.composite
def tables(draw, kinds):
    size = draw(st.integers(1, 12))
    names = draw(st.lists(st.sampled_from(COLUMNS), min_size=1, max_size=3, unique=True))
    columns = {}
    for name in names:
        kind, values = KINDS[draw(st.sampled_from(kinds))]
        some = st.lists(st.none() | values, min_size=size, max_size=size)
        columns[name] = _array(draw(some), kind)
    own = st.lists(TARGETS, min_size=size, max_size=size)
    columns["target"] = pa.array([*draw(own)])
    return pa.table(columns)


def _array(values, kind):
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)


def check(table, form):
    names = [name for name in table.column_names if name != "target"]
    with tempfile.TemporaryDirectory() as folder:
        path = written(table, form, Path(folder))
        counted = count_table(open_source(path))
        assert counted.records == table.num_rows
        assert same(people(counted, names), people(read_table(path), names))


@pytest.mark.parametrize("form", ["csv", "gzip", "zstd"])
def test_texts_are_counted_as_they_are_read(form):
    @settings(max_examples=examples(50), deadline=None, database=None)
    @given(tables(["text"]))
    def holds(table):
        filled = {name: table[name].fill_null("") for name in table.column_names}
        check(pa.table(filled), form)

    holds()


@pytest.mark.parametrize(
    ("form", "is_varied"), [("parquet", True), ("parquet", False), ("arrow", 0)]
)
def test_typed_values_are_counted_as_they_are_read(monkeypatch, form, is_varied):
    monkeypatch.setattr(files, "_is_varied", lambda *_: is_varied)

    @settings(max_examples=examples(40), deadline=None, database=None)
    @given(tables(sorted(KINDS)))
    def holds(table):
        check(table, form)

    holds()


def counted_twice(monkeypatch, path):
    """Return what is counted with texts as codes, and what the engine counts of their texts."""
    found = []
    for is_varied in (True, False):
        monkeypatch.setattr(files, "_is_varied", lambda *_, is_varied=is_varied: is_varied)
        table = count_table(open_source(path))
        cells = [[*map(repr, column.cells())] for column in table.columns.values()]
        found.append((cells, table.counts.tolist(), table.places, table.rows))
    return found


def test_codes_count_what_the_engine_counts(monkeypatch, tmp_path):
    @settings(max_examples=examples(40), deadline=None, database=None)
    @given(st.lists(tables(sorted(KINDS)), min_size=1, max_size=2))
    def holds(some):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            for at in range(3):  # of which one has no records
                table = some[at % len(some)].select(["target"]) if len(some) > 1 else some[0]
                pq.write_table(table.slice(0, at and None), f"{folder}/{at}.parquet")
            (cells, counts, places, rows), engine = counted_twice(monkeypatch, Path(folder))
        assert (cells, counts, rows) == (engine[0], engine[1], engine[3])
        assert places.files == engine[2].files
        assert places.first.tolist() == engine[2].first.tolist()

    holds()


def test_the_engine_counts_where_most_records_are_alike_or_memory_is_little(monkeypatch, tmp_path):
    varied = parquet(tmp_path / "varied.parquet", x=[*map(str, range(100_000))])
    alike = parquet(tmp_path / "alike.parquet", x=["a", "b"] * 3)
    asked = []
    count = files.count_parquet
    monkeypatch.setattr(files, "count_parquet", lambda *some: asked.append(some[0]) or count(*some))
    for path in (varied, alike):
        count_table(open_source(path))
    assert asked == ["alike.parquet"]
    monkeypatch.setattr(files, "room_bytes", lambda: 2**20)
    count_table(open_source(varied))
    assert asked == ["alike.parquet", "varied.parquet"]


def test_codes_that_are_no_texts_are_left_to_the_engine():
    for codes, texts in (([0, 1], ["a", "a"]), ([0], [b"\xff"])):
        kind = pa.string() if isinstance(texts[0], str) else pa.binary()
        values = pa.array(texts, kind).view(pa.string())
        array = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), values)
        with pytest.raises(pa.ArrowInvalid):
            files._arrays([pa.RecordBatch.from_arrays([array], names=["x"])])


def parquet(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def refused(path, columns=None):
    with pytest.raises(TableError) as error:
        count_table(open_source(path), columns)
    return str(error.value)


@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_what_folders_say_is_a_column(tmp_path, form):
    for year, values in (
        ("2023", ["a", "a"]),
        ("20%2F4", ["a"]),
        ("__HIVE_DEFAULT_PARTITION__", ["b"]),
    ):
        path = parquet(tmp_path / f"t/year={year}/0.parquet", x=values)
        if form == "csv":
            path.rename(path.with_suffix(".csv"))
            path.with_suffix(".csv").write_text("\n".join(["x", *values, ""]))
    (tmp_path / "t/_SUCCESS").touch()
    table = count_table(open_source(tmp_path / "t"))
    found = zip(
        table.columns["x"].cells(), table.columns["year"].cells(), table.counts, strict=True
    )
    assert sorted(found, key=str) == [("a", "20/4", 1.0), ("a", "2023", 2.0), ("b", None, 1.0)]


def test_one_file_may_be_listed_several_times(tmp_path):
    path = parquet(tmp_path / "one.parquet", x=["a", "b", "a"])
    (tmp_path / "t").mkdir()
    for at in range(3):
        os.symlink(path, tmp_path / f"t/{at}.parquet")
    table = count_table(open_source(tmp_path / "t"))
    assert dict(zip(table.columns["x"].cells(), table.counts, strict=True)) == {"a": 6.0, "b": 3.0}


def test_messages_name_the_first_record_and_its_file(tmp_path):
    parquet(tmp_path / "t/a.parquet", x=["1", "2"])
    parquet(tmp_path / "t/b.parquet", x=["1", "2", "bad", "1", "worse"])
    with pytest.raises(TableError, match="record 3 of 'b.parquet': the value is not a number"):
        count_table(open_source(tmp_path / "t")).numbers("x")


def test_files_of_several_types_are_refused_with_both_named(tmp_path):
    parquet(tmp_path / "t/a.parquet", x=["1"], y=[1])
    parquet(tmp_path / "t/b.parquet", x=[1], y=[1])
    assert "'x' holds string in 'a.parquet' and int64 in 'b.parquet'" in refused(tmp_path / "t")
    assert count_table(open_source(tmp_path / "t"), ["y"]).records == 2


def test_a_column_that_one_file_lacks_is_refused_with_both_named(tmp_path):
    parquet(tmp_path / "t/a.parquet", x=["1"])
    parquet(tmp_path / "t/b.parquet", x=["1"], y=["1"])
    said = refused(tmp_path / "t")
    assert "'b.parquet' has a column 'y', but 'a.parquet' does not" in said


def test_a_pattern_that_matches_nothing_is_refused(tmp_path):
    assert "no file matches" in refused(tmp_path / "*.parquet")
    (tmp_path / "empty").mkdir()
    assert "has no files" in refused(tmp_path / "empty")


def test_folders_that_say_different_columns_are_refused(tmp_path):
    parquet(tmp_path / "t/year=1/a.parquet", x=["1"])
    parquet(tmp_path / "t/month=1/b.parquet", x=["1"])
    assert "name different columns" in refused(tmp_path / "t")


def test_a_broken_row_group_is_named_and_no_cell_is_quoted(tmp_path):
    values = [f"canary{at:05d}" for at in range(4000)]
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"x": values}), path, row_group_size=1000, use_dictionary=False, compression=None
    )
    data = bytearray(path.read_bytes())
    at = data.index(b"canary02500")
    data[at - 4 : at] = b"\xff\xff\xff\x7f"  # how long the text is that follows
    path.write_bytes(data)
    said = refused(path)
    assert "row group 3 of 't.parquet' cannot be read" in said
    assert "canary" not in said


def test_a_broken_csv_file_is_refused_and_no_cell_is_quoted(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n1,2\ncanary,1,2\n")
    said = refused(tmp_path / "t.csv")
    assert "Expected 2 columns, got 3" in said
    assert "canary" not in said


def test_more_rows_than_memory_holds_are_told_with_advice(tmp_path, monkeypatch):
    monkeypatch.setenv("TREEWARDEN_TABLE_MEMORY", "64")
    pq.write_table(pa.table({"x": np.arange(3_000_000)}), tmp_path / "t.parquet")
    with pytest.raises(TooManyProfilesError, match="fewer quasi-identifiers"):
        count_table(open_source(tmp_path / "t.parquet"))


def test_nothing_is_left_of_what_was_spilled(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    count_table(open_source(parquet(tmp_path / "t.parquet", x=["1"])))
    assert not list((tmp_path / "tmp").iterdir())


def test_a_column_that_was_left_out_is_known_by_name_only(tmp_path):
    table = count_table(open_source(parquet(tmp_path / "t.parquet", x=["1"], y=["2"])), ["x"])
    assert list(table.columns) == ["x", "y"]
    for ask in (table.numbers, table.guessed, table.categories):
        with pytest.raises(ColumnNotCountedError):
            ask("y")


def test_no_column_at_all_is_a_count_of_records(tmp_path):
    table = count_table(open_source(parquet(tmp_path / "t.parquet", x=["1", "2"])), [])
    assert (table.rows, table.records) == (1, 2)


def test_weights_count_for_each_record_of_a_row(tmp_path):
    rows = {"x": ["1", "a", "1"], "target": ["yes", "no", "yes"], "w": [2, 0, 2]}
    path = parquet(tmp_path / "t.parquet", **rows)
    for option in ("weights", "sampling_weights"):
        found = [
            people(each, ["x"], **{option: "w"})
            for each in (count_table(open_source(path)), read_table(path))
        ]
        assert same(*found)


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as made:
        made.execute(
            "create table people as select * from (values ('a', 1), ('b', 2), ('a', 1)) t(x, y)"
        )
    return path


def test_a_database_file_is_counted(database):
    table = count_table(open_source(database))
    assert list(zip(table.columns["x"].cells(), table.counts, strict=True)) == [
        ("a", 2.0),
        ("b", 1.0),
    ]
    with pytest.raises(TableError, match="column 'x', a record: the value is not a number"):
        table.numbers("x")


def test_a_table_of_several_in_a_database_has_to_be_named(database):
    with duckdb.connect(str(database)) as made:
        made.execute('create schema s; create table s."odd name" as select 1 as z')
        made.execute("create view away as select * from read_csv('/etc/passwd')")
    assert "several tables: 'away', 'people', 's.odd name'" in refused(database)
    named = database.with_name("t.duckdb#s.odd name")
    assert list(count_table(open_source(named)).columns) == ["z"]
    assert "no table 'peeple' (did you mean 'people'?)" in refused(
        database.with_name("t.duckdb#peeple")
    )


def test_a_view_in_a_database_reaches_no_other_file(database):
    (database.parent / "other.csv").write_text("canary\n1\n")
    with duckdb.connect(str(database)) as made:
        made.execute(f"create view away as select * from read_csv('{database.parent}/other.csv')")
    assert "canary" not in refused(database.with_name("t.duckdb#away"))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path):
    path = parquet(tmp_path / "t.parquet", x=["1"])
    parts = parts_of(path)
    before = [part.stamp() for part in parts]
    check_unchanged("t", parts, before)
    parquet(path, x=["1", "2"])
    with pytest.raises(TableError, match="'t.parquet' changed while it was read"):
        check_unchanged("t", parts, before)


def test_work_that_is_interrupted_is_stopped_before_it_is_left():
    stopped = threading.Event()

    def work():
        for _ in range(10):
            signal.raise_signal(signal.SIGINT)  # which reaches the thread that waits
            # An interrupt is lost where it reaches that thread while it clears memory up.
            if stopped.wait(2):
                return
        raise AssertionError("nobody stopped the work")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            attended(work, stopped.set)
    finally:
        signal.signal(signal.SIGINT, before)
    assert stopped.is_set()

"""Data in memory: the same tables as their files would be, or a message that says what to mend."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.frames import column_names, table_of_frame, table_of_pair
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.tree import Feature

RECORDS = {
    "age": [30, 41, None, 30],
    "sex": ["F", "M", "F", None],
    "pay": [1.5, 2.0, 3.25, None],
    "day": ["2020-01-01", "2020-01-02", None, "2020-01-01"],
}
FRAMES = {
    "pandas": pd.DataFrame(RECORDS),
    "pandas, nullable": pd.DataFrame(RECORDS).convert_dtypes(),
    "pandas, Arrow's": pd.DataFrame(RECORDS).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame(RECORDS),
    "Arrow": pa.table(RECORDS),
    "a batch": pa.RecordBatch.from_pydict(RECORDS),
    "columns": RECORDS,
    "arrays": {name: np.array(values, dtype=object) for name, values in RECORDS.items()},
}
X = np.arange(6.0).reshape(3, 2)


def values(table, name):
    column = table.column(table.guessed(name))
    return [column.text(row) for row in range(len(column))]


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_is_the_table_that_its_csv_file_is(kind, tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame(RECORDS).to_csv(path, index=False)
    table, file = table_of_frame(FRAMES[kind]), read_table(path)
    assert list(table.columns) == list(file.columns)
    assert table.rows == file.rows
    for name in file.columns:
        assert table.guessed(name) == file.guessed(name)
        assert values(table, name) == values(file, name)


def test_categories_that_no_record_has_are_left_out():
    named = pd.Series(["b", "a", "b"], dtype=pd.CategoricalDtype(["a", "b", "never"]))
    for frame in (pd.DataFrame({"x": named}), pl.DataFrame({"x": pl.Series(named)})):
        assert table_of_frame(frame).categories("x").categories == ("a", "b")


def test_truth_values_are_numbers_where_the_model_compares_them():
    typed = pd.DataFrame({"x": [True, False], "y": pd.array([True, None], dtype="boolean")})
    table = table_of_frame(typed)
    assert table.column(Feature("x", numeric=True)).numbers.tolist() == [1, 0]
    assert table.column(Feature("y", numeric=True)).missing.tolist() == [False, True]
    assert table.categories("x", ("False", "True")).categories == ("False", "True")


def test_dates_are_categories_by_day():
    table = table_of_frame(pd.DataFrame({"day": pd.to_datetime(["2020-01-02", "2020-01-01"])}))
    assert table.categories("day").categories == ("2020-01-01", "2020-01-02")
    with pytest.raises(TableError, match="column 'day' holds dates or times, not numbers"):
        table.numbers("day")


def test_periods_intervals_and_values_of_mixed_kinds_are_their_texts():
    frame = pd.DataFrame(
        {
            "month": pd.period_range("2020-01", periods=2, freq="M"),
            "band": pd.interval_range(0, 2),
            "mixed": ["a", 1],
        }
    )
    table = table_of_frame(frame)
    assert table.categories("month").categories == ("2020-01", "2020-02")
    assert table.categories("band").categories == ("(0, 1]", "(1, 2]")
    assert table.categories("mixed").categories == ("1", "a")


def test_sparse_columns_and_matrices_are_filled_up():
    frame = pd.DataFrame({"x": pd.arrays.SparseArray([0.0, 0.0, 1.5])})
    assert table_of_frame(frame).numbers("x").numbers.tolist() == [0, 0, 1.5]
    table, _ = table_of_pair((sparse.csr_matrix(X), [0, 1, 0]), None)
    assert table.numbers("x1").numbers.tolist() == X[:, 1].tolist()


def test_names_that_are_no_texts_become_texts():
    table = table_of_frame(pd.DataFrame({0: [1], ("a", "b"): [2]}))
    assert list(table.columns) == ["0", "('a', 'b')"]


def test_an_index_is_no_column_and_a_message_says_so():
    frame = pd.DataFrame({"x": [1, 2]}, index=pd.Index(["a", "b"], name="id"))
    table = table_of_frame(frame)
    assert list(table.columns) == ["x"]
    with pytest.raises(TableError, match=r"no column 'id' \(it is the index; reset_index\(\)"):
        table.categories("id")


TWICE = pd.DataFrame([[1, 2]], columns=["a", "a"])
LEVELS = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")]))


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (TWICE, "two columns are called 'a'"),
        (pd.DataFrame({1: [1], "1": [2]}), "two columns are called '1'"),
        (LEVELS, "names in several levels; join them"),
        (pd.DataFrame({"a": []}), "has no records"),
        (pd.DataFrame(), "no columns"),
        (pl.DataFrame({"a": [1]}).lazy(), r"LazyFrame is not a table; collect\(\) it first"),
        (np.arange(3), "1 dimension"),
        ({"a": [1], "b": [1, 2]}, "have different lengths"),
        ({"a": 3}, "'a' is not a column but a value"),
        (None, "NoneType is not a table"),
        (7, "int is not a table; give a pandas or polars DataFrame"),
    ],
)
def test_what_is_no_table_is_refused(frame, message):
    with pytest.raises(TableError, match=message):
        table_of_frame(frame)


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b", "a"],
        np.array(["a", "b", "a"]),
        np.array([["a"], ["b"], ["a"]]),
        pd.Series(["a", "b", "a"]),
        pl.Series(["a", "b", "a"]),
        pa.array(["a", "b", "a"]),
        pa.chunked_array([["a"], ["b", "a"]]),
        pd.Series(["a", "b", "a"], dtype="category"),
    ],
    ids=lambda y: type(y).__name__,
)
def test_a_pair_is_a_table_whatever_y_is(y):
    table, name = table_of_pair((X, y), None)
    assert name == "target"
    assert list(table.columns) == ["x0", "x1", "target"]
    assert values(table, "target") == ["a", "b", "a"]


def test_y_is_called_as_is_said_else_as_it_calls_itself():
    named = pd.Series([0, 1, 0], name="ill")
    assert table_of_pair((X, named), "flu")[1] == "flu"
    assert table_of_pair((X, named), None)[1] == "ill"
    assert table_of_pair((X, named.to_frame()), None)[1] == "ill"
    assert table_of_pair((X, pl.DataFrame({"sick": [0, 1, 0]})), None)[1] == "sick"


def test_an_array_has_the_names_that_are_given():
    assert list(table_of_pair((X, [0, 1, 0]), "y", ("age", "pay"))[0].columns) == [
        "age",
        "pay",
        "y",
    ]


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((X, [1, 2]), "X has 3 records and y 2"),
        ((X, 5), "'y' is not a column"),
        ((X, "abc"), "'y' is not a column"),
        ((X, X), "'y' has several columns"),
        ((X, pd.DataFrame(X)), "y has several columns"),
        ((X, X, X), "3 things at once"),
        (([[1, 2], [3]], [0, 1]), "X is not a matrix"),
        ((pd.DataFrame({"target": [1, 2, 3]}), [1, 2, 3]), "X has a column 'target' too"),
    ],
)
def test_a_pair_that_does_not_go_together_is_refused(pair, message):
    with pytest.raises(TableError, match=message):
        table_of_pair(pair, None)


def test_too_few_names_for_an_array_are_refused():
    with pytest.raises(TableError, match="X has 2 columns, and the model was fitted on 3"):
        table_of_pair((X, [0, 1, 0]), None, ("a", "b", "c"))


def test_names_are_those_of_what_has_names():
    assert column_names(pl.DataFrame({"a": [1]})) == ("a",)
    assert column_names(pa.table({"a": [1]})) == ("a",)
    assert column_names({"a": [1]}) == ("a",)
    assert column_names(X) == ()


@pytest.mark.parametrize("kind", [int, str])
def test_numbers_too_long_to_be_told_apart_as_numbers_are_categories(kind):
    ids = [kind(2**60 + place) for place in range(5)]
    table = table_of_frame(pd.DataFrame({"id": ids, "age": range(5)}))
    assert len(table.column(table.guessed("id")).categories) == 5
    assert table.guessed("age").numeric


@pytest.mark.parametrize(
    ("cells", "advice"),
    [
        (["1.234", "2.345"], "use decimal points"),
        (["10 %", "20 %"], "convert the column to the numbers that the model was trained on"),
        (["yes", "no"], "convert the column to the numbers that the model was trained on"),
    ],
)
def test_what_is_in_memory_is_to_be_converted_and_has_no_name_to_say_more(cells, advice):
    table = table_of_frame(pd.DataFrame({"size": cells}))
    with pytest.raises(TableError, match=advice) as raised:
        table.numbers("size")
    assert "#" not in str(raised.value)


def test_points_beside_decimal_commas_are_to_be_converted_too():
    table = table_of_frame(pd.DataFrame({"size": ["1.234", "1234"], "price": ["1,5", "2,25"]}))
    with pytest.raises(TableError, match="decimal commas; convert the column") as raised:
        table.numbers("size")
    assert "#" not in str(raised.value)

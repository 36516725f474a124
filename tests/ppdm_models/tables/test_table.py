"""Tables as files: what is read, and what is refused."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.tree import Feature

AGE, NAME = Feature("age", numeric=True), Feature("name", numeric=False)


def written(folder, text, name="table.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_are_recognised(tmp_path, delimiter):
    table = read_table(written(tmp_path, f"age{delimiter}name\n1{delimiter}a\n2{delimiter}b\n"))
    assert table.column(AGE).numbers.tolist() == [1, 2]


def test_names_with_quotes_newlines_and_unicode_come_through(tmp_path):
    table = read_table(written(tmp_path, 'age,name\n1,"a ""b"", c"\n2,"é\n<script>"\n'))
    assert table.column(NAME).categories == ('a "b", c', "é\n<script>")


def test_numbers_in_text_columns_stay_as_they_are_written(tmp_path):
    table = read_table(written(tmp_path, "age,name\n1,007\n2,1.50\n"))
    assert table.column(NAME).categories == ("007", "1.50")


def test_missing_values_are_missing_in_both_kinds_of_column(tmp_path):
    table = read_table(written(tmp_path, "age,name\n,a\n?,NA\n3,\n"))
    assert table.column(AGE).missing.tolist() == [True, True, False]
    assert table.column(NAME).missing.tolist() == [False, True, True]


def test_a_declared_category_is_never_a_missing_value(tmp_path):
    table = read_table(written(tmp_path, "name\nNA\nother\n"))
    assert table.column(Feature("name", numeric=False, values=("NA", "other"))).categories == (
        "NA",
        "other",
    )


def test_parquet_reads_the_same_as_csv(tmp_path):
    pq.write_table(
        pa.table({"age": [1, None], "name": pa.array(["a", "b"]).dictionary_encode()}),
        tmp_path / "t.parquet",
    )
    table = read_table(tmp_path / "t.parquet")
    assert table.column(NAME).categories == ("a", "b")
    assert table.column(AGE).missing.tolist() == [False, True]
    assert table.column(Feature("age", numeric=False)).categories == ("1",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("age,name\n", "the table has no records"),
        ("age,age\n1,2\n", "two columns are called 'age'"),
        ("age,name\n1\n", "the table cannot be read"),
        (b"age\n\x81\xfe\n", "not a text table in UTF-8; if it is CSV in another encoding"),
        (b"PAR1 is no parquet", "the table cannot be read"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, text, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(written(tmp_path, text))
    assert str(caught.value).startswith("table.csv: ")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(TableError, match="nowhere.csv: there is no such file"):
        read_table(tmp_path / "nowhere.csv")


def test_an_empty_column_name_is_kept_apart(tmp_path):
    table = read_table(written(tmp_path, ",age\n0,1\n1,2\n"))
    assert table.column(AGE).numbers.tolist() == [1, 2]


def test_truth_values_are_compared_as_learners_do_and_named_where_nothing_is_compared(tmp_path):
    pq.write_table(pa.table({"age": [True, False, None]}), tmp_path / "t.parquet")
    parquet = read_table(tmp_path / "t.parquet")
    text = read_table(written(tmp_path, "age,name\nTrue,a\nfalse,b\n,c\n"))
    for table in (parquet, text):
        assert table.column(AGE).numbers[:2].tolist() == [1, 0]
        assert table.column(AGE).missing.tolist() == [False, False, True]
        assert not table.guessed("age").numeric
    assert parquet.categories("age").categories == ("false", "true")


@pytest.mark.parametrize("declared", [("false", "true"), ("False", "True"), ("FALSE", "TRUE")])
def test_truth_values_are_the_declared_ones_in_any_case(tmp_path, declared):
    table = read_table(written(tmp_path, "age,name\nTrue,a\nFALSE,b\n"))
    assert table.categories("age", declared).categories == declared


def test_truth_values_typed_as_such_are_the_classes_1_and_0(tmp_path):
    pq.write_table(pa.table({"age": [True, False]}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").categories("age", ("0", "1")).categories == ("0", "1")


def test_a_column_of_missing_values_alone_is_no_column_of_truth_values(tmp_path):
    assert read_table(written(tmp_path, "age,name\n,a\n?,b\n")).guessed("age").numeric


def test_dates_are_categories_by_day_and_never_numbers(tmp_path):
    days = pa.array([0, 86_400_000, None], pa.timestamp("ms"))
    times = pa.array([0, 1_000, 1_500], pa.timestamp("ms"))
    pq.write_table(pa.table({"day": days, "age": times}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")
    assert table.categories("day").categories == ("1970-01-01", "1970-01-02")
    assert table.categories("age").categories[1] == "1970-01-01 00:00:01.000"
    with pytest.raises(TableError, match="column 'age' holds dates or times"):
        table.column(AGE)


def test_a_column_of_lists_is_refused_where_it_is_used(tmp_path):
    pq.write_table(pa.table({"age": [[1], [2]]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match="neither numbers nor text"):
        read_table(tmp_path / "t.parquet").categories("age")


def test_the_nearest_columns_are_offered_for_one_that_is_not_there(tmp_path):
    table = read_table(written(tmp_path, "age,Illness\n1,a\n"))
    with pytest.raises(
        TableError, match=r"no column 'ilness' \(did you mean 'Illness'\?\); the table has"
    ):
        table.categories("ilness")
    with pytest.raises(TableError, match="no column 'zzz'; the table has 'age', 'Illness'"):
        table.categories("zzz")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.xlsx", b"\x81\x00\xfe", "t.xlsx: not a valid Excel file; save it again"),
        ("t.pdf", b"%PDF-1.4\n\x81\x00\xfe\n", "t.pdf: unknown table type; give CSV"),
        ("t.json", b'[{"age": 1}]', "t.json: JSON tables are not supported; give CSV"),
    ],
)
def test_a_file_that_is_no_text_is_refused_by_what_its_name_says(tmp_path, name, text, message):
    path = tmp_path / name
    path.write_bytes(text)
    with pytest.raises(TableError, match=message):
        read_table(path)

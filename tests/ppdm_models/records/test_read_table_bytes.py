import pytest

from ppdm_models.errors import TableError
from ppdm_models.records.read_table import read_table, read_table_bytes

TABLES = {
    "comma": b"a,b\n1,x\n2,y\n",
    "semicolon": b"\xef\xbb\xbfa;b\n1;x\n2;y\n",
    "empty": b"",
    "twice": b"a,a\n1,2\n",
    "no_text": b"a,b\n\xff\xfe,1\n",
    "ragged": b"a,b\n1,2,3\n",
    "damaged_parquet": b"PAR1 and nothing more",
}


def said(read, *arguments):
    try:
        found = read(*arguments)
    except TableError as error:
        return str(error)
    return {name: column.values.to_pylist() for name, column in found.columns.items()}


@pytest.mark.parametrize("data", TABLES.values(), ids=TABLES)
def test_bytes_are_read_as_the_file_that_holds_them(data, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert said(read_table_bytes, data, "t.csv") == said(read_table, path)


def test_what_is_read_is_what_was_written():
    assert said(read_table_bytes, TABLES["semicolon"], "t.csv") == {
        "a": ["1", "2"],
        "b": ["x", "y"],
    }
    assert said(read_table_bytes, TABLES["empty"], "t.csv").startswith("t.csv: the file is empty")

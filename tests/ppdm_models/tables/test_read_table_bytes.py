import gzip
import io

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pytest

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.batches import OtherEncodingError, open_batches
from treewarden.ppdm_models.tables.read_table import read_table, read_table_bytes

PLAIN = b"a,b\n1,x\n2,y\n"


def arrow(compression="uncompressed"):
    """Return a table of Arrow's own as a file."""
    file = io.BytesIO()
    pa_feather.write_feather(pa.table({"a": [1, 2], "b": ["x", "y"]}), file, compression)
    return file.getvalue()


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True)


TABLES = {
    "comma": b"a,b\n1,x\n2,y\n",
    "semicolon": b"\xef\xbb\xbfa;b\n1;x\n2;y\n",
    "empty": b"",
    "twice": b"a,a\n1,2\n",
    "no_text": b"a,b\n\xff\xfe,1\n",
    "ragged": b"a,b\n1,2,3\n",
    "damaged_parquet": b"PAR1 and nothing more",
    "gzip": gzip.compress(PLAIN),
    "gzip_of_two": gzip.compress(PLAIN[:8]) + gzip.compress(PLAIN[8:]),
    "gzip_cut_off": gzip.compress(PLAIN)[:-12],
    "gzip_of_nothing": gzip.compress(b""),
    "zstd": zstd(PLAIN),
    "damaged_zstd": zstd(PLAIN)[:-3],
    "arrow": arrow(),
    "feather": arrow("zstd"),
    "damaged_arrow": arrow()[:-9],
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


@pytest.mark.parametrize("name", ["gzip", "gzip_of_two", "zstd"])
def test_a_packed_table_is_what_was_packed(name):
    found = said(read_table_bytes, TABLES[name], "t.csv.gz")
    assert found == {"a": ["1", "2"], "b": ["x", "y"]}


@pytest.mark.parametrize("name", ["arrow", "feather"])
def test_a_table_of_arrow_keeps_its_types(name):
    found = said(read_table_bytes, TABLES[name], "t.feather")
    assert found == {"a": [1, 2], "b": ["x", "y"]}


@pytest.mark.parametrize("name", ["gzip_cut_off", "damaged_zstd", "damaged_arrow"])
def test_damaged_tables_are_refused_in_one_line(name):
    found = said(read_table_bytes, TABLES[name], "t")
    assert found.startswith("t: the table cannot be read")
    assert "\n" not in found


@pytest.mark.parametrize("data", TABLES.values(), ids=TABLES)
def test_what_is_read_a_piece_at_a_time_is_what_is_read_at_once(data, tmp_path):
    path = tmp_path / "t"
    path.write_bytes(data)
    whole = said(read_table, path)
    try:
        table = open_batches(path, may_guess=True)
        try:
            batches = list(table.read(table.names))
        except OtherEncodingError:
            batches = list(table.guessed().read(table.names))
    except TableError:
        assert isinstance(whole, str)
    else:
        assert {n: [v for b in batches for v in b[n].to_pylist()] for n in table.names} == whole


@pytest.mark.parametrize(
    "error",
    [
        pa.ArrowMemoryError("malloc failed"),
        pa.ArrowException("Unknown error: Failed to launch worker thread: Resource unavailable"),
    ],
    ids=["for its cells", "for a thread"],
)
def test_a_table_that_is_too_large_for_memory_is_not_called_unreadable(
    tmp_path, monkeypatch, error
):
    def too_large(*_, **__):
        raise error

    monkeypatch.setattr(pa_csv, "read_csv", too_large)
    monkeypatch.setattr(pa_csv, "open_csv", too_large)
    (tmp_path / "t").write_bytes(TABLES["gzip"])
    with pytest.raises(MemoryError):
        read_table(tmp_path / "t")
    with pytest.raises(MemoryError):
        list(open_batches(tmp_path / "t").read(["a"]))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
def test_a_packed_table_that_unpacks_to_far_more_is_refused_before_it_is_kept(pack, monkeypatch):
    monkeypatch.setattr("treewarden.ppdm_models.tables.read_table.UNPACKED_BYTES", 2**20)
    data = pack(b"a,b\n" + b"\0" * 2**23)
    assert said(read_table_bytes, data, "t.csv.gz").startswith("t.csv.gz: unpacks to more than")

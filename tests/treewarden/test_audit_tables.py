"""The same table in all forms that are read: the same audit."""

import gzip
import json

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pytest


def packed(data):
    return gzip.compress(data)


def packed_by_zstandard(data):
    return pa.compress(data, "zstd", asbytes=True)


def of_arrow(data):
    out = pa.BufferOutputStream()
    pa_feather.write_feather(pa_csv.read_csv(pa.BufferReader(data)), out)
    return out.getvalue().to_pybytes()


@pytest.mark.parametrize(
    ("name", "made"),
    [("p.csv.gz", packed), ("p.csv.zst", packed_by_zstandard), ("p.feather", of_arrow)],
)
def test_a_table_is_audited_alike_in_every_form(files, name, made):
    path = files.folder / name
    path.write_bytes(made(files.table.read_bytes()))
    plain = json.loads(files.run("audit", "--format", "json").stdout)
    words = ["audit", files.model, "--data", path, "--sensitive", "flu", "--format", "json"]
    other = json.loads(files.run_words(*words).stdout)
    for each in ("verdict", "findings", "readings"):
        assert other[each] == plain[each]


def test_a_packed_table_that_is_cut_off_ends_without_an_audit(files):
    path = files.folder / "p.csv.gz"
    path.write_bytes(gzip.compress(files.table.read_bytes())[:-12])
    outcome = files.run_words("audit", files.model, "--data", path, "--sensitive", "flu")
    assert outcome.exit_code == 4
    assert "p.csv.gz: not a table that can be read" in outcome.output

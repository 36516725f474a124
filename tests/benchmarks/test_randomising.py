"""The benchmark of hiding goes through every record each way."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from benchmarks.randomising import WAYS, go, write_table


@pytest.mark.parametrize("way", WAYS)
def test_each_way_writes_every_record(tmp_path, way):
    write_table(tmp_path / "t.parquet", 2_000)
    assert go(way, tmp_path / "t.parquet", tmp_path / "out.parquet") > 0
    assert pq.read_metadata(tmp_path / "out.parquet").num_rows == 2_000

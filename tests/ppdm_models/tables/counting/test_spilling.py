"""What memory does not hold is spilled to disk: a full one is told of as that, and nothing is left on it."""

from __future__ import annotations

import os
import subprocess
import tempfile

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.kit.run import run_command
from tests.treewarden.conftest import PMML
from treewarden.ppdm_models.errors import TooManyProfilesError
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import COUNT, FIRST, Engine, count_table

RECORDS = 1_000_000
SAID = "the disk of .* make room there, name another folder"
GROUPED = (
    f'select hash(i) as x, count(*) as "{COUNT}", min(i) as "{FIRST}" '
    "from range(4000000) r(i) group by 1"
)
"""More distinct rows than the engine's memory holds."""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a table whose records all differ."""
    path = tmp_path_factory.mktemp("table") / "people.parquet"
    rows = {
        "age": np.arange(RECORDS) / 7,
        "sex": ["F", "M"] * (RECORDS // 2),
        "flu": [f"canary{at:012d}" for at in range(RECORDS)],
    }
    pq.write_table(pa.table(rows), path)
    return path


@pytest.fixture
def small_disk(tmp_path, monkeypatch):
    """Return a folder on a disk of 8 MB, which temporary files go to."""
    monkeypatch.setenv("TREEWARDEN_TABLE_MEMORY", "64")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk, and not everywhere")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def engine(folder, limit):
    connection = duckdb.connect()
    settings = {"memory_limit": "64MiB", "temp_directory": folder, "max_temp_directory_size": limit}
    for name, value in settings.items():
        connection.execute(f"set {name} = '{value}'")
    return Engine("people", connection, 2**40)


def test_a_disk_that_fills_while_rows_are_counted_is_told_of(small_disk, table):
    with pytest.raises(TooManyProfilesError, match=SAID) as told:
        count_table(open_source(table))
    assert str(told.value).startswith("people.parquet: ")
    assert str(small_disk) in str(told.value)
    assert not list(small_disk.iterdir())


def test_an_audit_ends_undetermined_then_and_quotes_no_cell(small_disk, table, tmp_path):
    model = tmp_path / "flu.pmml"
    model.write_text(PMML)
    words = ["audit", str(model), "--data", str(table), "--sensitive", "flu"]
    outcome = run_command(*words)
    assert outcome.exit_code == 3, outcome.output
    assert outcome.stderr.startswith("undetermined: people.parquet: the distinct rows do not fit")
    assert f"nor on the disk of {small_disk}" in outcome.stderr
    assert "Traceback" not in outcome.output
    assert "canary" not in outcome.output
    assert not list(small_disk.iterdir())


def test_a_disk_that_somebody_else_fills_is_told_of(small_disk):
    found = engine(small_disk / "spilled", "1GB")  # as if there had been so much room at first
    with pytest.raises(TooManyProfilesError, match=SAID), found.connection:
        found.count(GROUPED)
    assert not list(small_disk.iterdir())


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        ("No space left", SAID),
        ("Out of Memory", "the distinct rows are more than memory holds"),
    ],
)
def test_what_happens_while_rows_are_handed_over_is_told_of(tmp_path, problem, told):
    found = engine(tmp_path / "spilled", "1GB")
    late = f"case when i = 1000000 then error('{problem}') else 'canary' end"
    query = f'select {late} as x, 1 as "{COUNT}", i as "{FIRST}" from range(2000000) r(i)'
    with pytest.raises(TooManyProfilesError, match=told) as error, found.connection:
        found.count(query)
    assert "canary" not in str(error.value)


def test_room_that_is_used_up_while_rows_are_counted_is_told_of(tmp_path):
    found = engine(tmp_path / "spilled", "1MiB")
    with pytest.raises(TooManyProfilesError, match=SAID), found.connection:
        found.count(GROUPED)
    assert not list(tmp_path.iterdir())

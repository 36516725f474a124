"""The benchmark of large tables: the same people however many records, and commands that are understood."""

from __future__ import annotations

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from benchmarks.streams import COMMANDS, Run, lines, write_tables
from treewarden.cli import cli


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("streams")
    write_tables(place, 3_000)
    return place


def test_every_record_is_written_in_both_forms(folder):
    parquet = pq.read_table(folder / "3000.parquet")
    assert parquet.num_rows == 3_000
    assert pa_csv.read_csv(folder / "3000.csv").equals(parquet)


def test_where_all_rows_differ_each_record_has_a_name_of_its_own(folder):
    assert len(set(pq.read_table(folder / "3000.names.parquet")["name"].to_pylist())) == 3_000


@pytest.mark.parametrize("title", COMMANDS)
def test_every_command_has_a_line_and_options_that_there_are(title):
    name, *words = COMMANDS[title]
    command = cli.get_command(None, name)
    known = {option for each in command.params for option in each.opts}
    assert {word for word in words if word.startswith("-")} <= known
    ratio = list(lines({title: (Run(1, 1, 100), Run(9, 9, 150))}, Run(1, 1, 20), 3_000))[6]
    assert ratio == f"| {title} | 1.0 | 9.0 | 1.0 | 9.0 | 100 | 150 | 1.50 |"

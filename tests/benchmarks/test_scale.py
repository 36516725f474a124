"""The made-up tables of the scale benchmark are what it says of them, and so are their trees."""

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.scale.grouping import count
from benchmarks.scale.running import taken
from benchmarks.scale.tables import CLASSES, SHARES, people, write_counted, write_records
from benchmarks.scale.trees import tree_of
from treewarden.ppdm_models.tables.routing import route

pytestmark = pytest.mark.studies


@pytest.fixture(scope="module")
def made():
    return people(2_000, 50_000)


def table_of(path):
    """Return the rows of a file and how many records each stands for."""
    table = pq.read_table(path)
    names = [name for name in table.column_names if name != "n"]
    grouped = table.group_by(names).aggregate(
        [("n", "sum") if "n" in table.column_names else ([], "count_all")]
    )
    return sorted(
        zip(*(grouped.column(k).to_pylist() for k in range(len(grouped.columns))), strict=True)
    )


def test_profiles_are_distinct_and_hold_all_records(made):
    assert len(set(zip(*made.codes.values(), strict=True))) == 2_000
    assert made.counts.sum() == 50_000
    assert made.counts.sum(axis=1).min() >= 1
    assert tuple(made.codes) == tuple(SHARES)


def test_the_most_frequent_value_is_the_one_that_adult_has_most_of(made):
    records = made.counts.sum(axis=1)
    assert all(np.bincount(codes, records).argmax() == 0 for codes in made.codes.values())


def test_records_are_those_that_are_counted_however_they_are_parted_into_row_groups(made, tmp_path):
    write_counted(made, tmp_path / "counted.parquet")
    write_records(made, tmp_path / "records.parquet", group_rows=7_000)
    assert table_of(tmp_path / "records.parquet") == table_of(tmp_path / "counted.parquet")
    assert pq.ParquetFile(tmp_path / "records.parquet").num_row_groups == 8


@pytest.mark.parametrize("write", [write_counted, write_records])
def test_what_is_beside_fetches_every_group(made, tmp_path, write):
    write(made, tmp_path / "table.parquet")
    assert count([str(tmp_path / "table.parquet")]) == np.count_nonzero(made.counts)


def test_a_command_that_breaks_is_not_measured():
    with pytest.raises(RuntimeError, match="exit code 1: .*there is nothing"):
        taken(["-c", "raise SystemExit('there is nothing')"], accepted=(0,))


def test_a_tree_has_the_leaves_that_were_asked_for_and_publishes_what_they_hold(made):
    tree = tree_of(made, 40)
    stops = route(tree, made.columns)
    assert len(tree.leaves) == 40
    for leaf in tree.leaves:
        held = made.counts[stops == leaf.index].sum(axis=0)
        assert leaf.class_counts == tuple(held)
        assert leaf.records == held.sum()
        assert leaf.score == CLASSES[int(held.argmax())]

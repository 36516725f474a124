"""``treewarden anonymize`` counts distinct rows, and writes what it would of a table that is held whole."""

from __future__ import annotations

import csv
import errno
import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.kit.run import run_command
from treewarden.jobs.tables import whole_table
from treewarden.jobs.tables.anonymizing import (
    MISSING,
    GeneraliseRequest,
    read_subject,
    table_pieces,
)
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.methods.generalise.lattice import (
    Lattice,
    Requirement,
    generalise,
    ladder,
)
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.taxonomy import Categories, IntervalHierarchy, load_taxonomies
from treewarden.ppdm_models.tree.column import CategoricalColumn

AGES = "[age]\ncuts = [[20, 25, 30], [25]]\n"
PLACES = "a;north;*\nb;north;*\nc;south;*\n(missing);south;*\n"
KINDS = ["numbers", "texts", "coded", "days"]
ASKED = [Requirement(3), Requirement(1, 1.5), Requirement(2, 2, 3.0)]


def people(seed):
    """Records of few different values, some of them missing, as columns."""
    random = np.random.default_rng(seed)
    size = int(random.integers(20, 300))

    def some(*values):
        odds = random.dirichlet(np.ones(len(values)))
        return [values[place] for place in random.choice(len(values), size, p=odds)]

    odd = some(
        *[[1, 2.5, 3, 40], ["x", 'say "x"', "a,b", " x", None], ["x\ny", "é"], [3, 3, 4]][seed % 4]
    )
    columns = {
        "age": some(18, 21, 22, 27, 31, 35),
        "place": some("a", "b", "c", "", "NA"),
        "odd": odd,
        "left": list(range(size)),
        "job": some("p", "q", "r", "*"),
    }
    return columns | {"name": [f"n{number}" for number in random.permutation(size)]}


def wanted(folder, kind, seed, asked, sensitive="job"):
    """Write a table and its hierarchies, and say what is asked for."""
    table = pa.table(people(seed))
    path = folder / f"t.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=50)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(table.column_names)
            writer.writerows(zip(*(own.to_pylist() for own in table.columns), strict=True))
    (folder / "ages.toml").write_text(AGES)
    (folder / "place.csv").write_text(PLACES)
    taxonomies = (folder / "ages.toml", folder / "place.csv")
    return GeneraliseRequest(path, sensitive, ("age", "place", "odd"), taxonomies, asked)


def of_the_whole_table(asked):
    """What is written where every record is held: the levels, and the bytes."""
    table, taxonomies = read_table(asked.table), load_taxonomies(asked.taxonomies)
    sensitive = table.categories(asked.sensitive)
    ladders = []
    for name in asked.qi:
        taxonomy = taxonomies.get(name)
        if isinstance(taxonomy, IntervalHierarchy) or (
            not isinstance(taxonomy, Categories) and table.guessed(name).numeric
        ):
            column = table.numbers(name)
        else:
            known = tuple(taxonomy.paths) if taxonomy else ()
            column = with_missing(table.categories(name, known))
        ladders.append(ladder(name, column, taxonomy))
    judged = sensitive
    if asked.requirement.l is None:
        judged = CategoricalColumn(codes=np.zeros(table.rows, np.int64), categories=("",))
    lattice = Lattice(tuple(ladders), judged)
    found = generalise(lattice, asked.requirement)
    if found is None:
        return None, b""
    columns = lattice.columns(found.levels) | {asked.sensitive: sensitive}
    rows = zip(
        *([own.categories[code] for code in own.codes] for own in columns.values()), strict=True
    )
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(sorted(rows))
    return found, text.getvalue().encode()


def with_missing(column):
    codes = np.where(column.codes < 0, len(column.categories), column.codes)
    more = (MISSING,) if column.missing.any() else ()
    return CategoricalColumn(codes=codes, categories=(*column.categories, *more))


def counted(asked):
    """What is written of the distinct rows: the levels, and the bytes."""
    subject = read_subject(asked)
    found = generalise(subject.lattice, asked.requirement)
    if found is None:
        return None, b""
    return found, b"".join(table_pieces(subject, found))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("seed", range(12))
def test_the_same_bytes_are_written_as_of_a_table_that_is_held_whole(seed, kind, tmp_path):
    asked = wanted(tmp_path, kind, seed, ASKED[seed % 3])
    try:
        expected = of_the_whole_table(asked)
    except ValueError:  # a number is missing
        with pytest.raises(TreewardenError, match="has no value;"):
            read_subject(asked)
        return
    assert counted(asked) == expected


def test_lines_that_are_alike_are_written_as_often_as_there_are_records(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_table, "AT_ONCE", 3)
    asked = wanted(tmp_path, "csv", 3, Requirement(2))
    assert counted(asked) == of_the_whole_table(asked)


def test_sensitive_values_that_all_differ_are_written_each(tmp_path):
    asked = wanted(tmp_path, "parquet", 5, Requirement(2), "name")
    assert counted(asked) == of_the_whole_table(asked)


def asked_for(folder, table):
    words = ["anonymize", table, "--sensitive", "job", "--qi", "place", "--k", "2", "-o", "out.csv"]
    return run_command(*([str(folder / word) if "." in word else word for word in words]))


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device"),
            4,
            "out.csv: cannot be written (the disk is full",
        ),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_no_file_is_half_written(raised, code, said, tmp_path, monkeypatch):
    wanted(tmp_path, "csv", 3, ASKED[0])

    def fails(*_):
        raise raised

    monkeypatch.setattr(whole_table, "_repeated", fails)
    outcome = asked_for(tmp_path, "t.csv")
    assert (outcome.exit_code, said in outcome.output) == (code, True), outcome.output
    assert sorted(path.name for path in Path(tmp_path).iterdir()) == [
        "ages.toml",
        "place.csv",
        "t.csv",
    ]


def test_distinct_rows_that_are_too_many_for_memory_are_refused_with_what_to_do(
    tmp_path, monkeypatch
):
    wanted(tmp_path, "csv", 3, ASKED[0])
    monkeypatch.setattr("treewarden.ppdm_models.tables.distinct.room_bytes", lambda: 10)
    monkeypatch.setattr("treewarden.ppdm_models.tables.distinct.FEWEST_MERGED", 1)
    outcome = asked_for(tmp_path, "t.csv")
    assert outcome.exit_code == 4
    assert "do not fit into memory; name fewer columns" in outcome.output
    assert not (tmp_path / "out.csv").exists()

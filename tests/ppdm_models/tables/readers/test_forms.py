"""The same small table in every form that is read is the same table."""

import math
import random
from datetime import date

import pytest

from tests.kit.office_tables import FORMS, write
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table
from treewarden.ppdm_models.tables.read_table import read_table, read_table_bytes
from treewarden.ppdm_models.tree.tree import Feature

pytestmark = pytest.mark.usefixtures("sound_files")

RECORDS = 60
PLACES = ("Köln", "Łódź", "São Paulo", "NA", "a b", "", None, "?")
ASCII = ("Koeln", "x", "NA", "a b", "", None, "?")


def a_table(form):
    """Return columns that are hard to read alike: missing cells, accents, whole numbers, truth values, codes."""
    draw = random.Random(7)
    places = ASCII if form == "por" else PLACES  # pyreadstat writes no other letters there
    return {
        "AGE": [draw.choice((None, 0.25, 17, 40.5, -3, 1e6)) for _ in range(RECORDS)],
        "CODE": [draw.choice((1, 2, 3.0, None)) for _ in range(RECORDS)],
        "PLACE": [draw.choice(places) for _ in range(RECORDS)],
        "FLAG": [draw.choice((True, False)) for _ in range(RECORDS)],
    }


FEATURES = (
    Feature("AGE", numeric=True),
    Feature("FLAG", numeric=True),
    Feature("CODE", numeric=False, values=("1", "2", "3")),
    Feature("CODE", numeric=False, values=("1.0", "2.0", "3.0")),
    Feature("PLACE", numeric=False, values=()),
    Feature("PLACE", numeric=False, values=("NA", "a b")),
)


def typed(table):
    """Return what a model sees of a table, and what is guessed where there is none."""
    seen = [[table.column(f).text(row) for row in range(table.rows)] for f in FEATURES]
    numbers = [table.numbers(name).numbers.tolist() for name in ("AGE", "CODE", "FLAG")]
    guessed = [table.guessed(name).numeric for name in ("AGE", "CODE", "PLACE")]
    return seen, [[None if math.isnan(v) else v for v in column] for column in numbers], guessed


@pytest.mark.parametrize("form", FORMS)
def test_a_model_sees_the_same_in_every_form(tmp_path, form):
    expected = typed(read_table(write(tmp_path / "plain.csv", a_table(form))))
    path = write(tmp_path / f"table.{form}", a_table(form))
    assert typed(read_table(path)) == expected
    assert typed(read_table_bytes(path.read_bytes(), path.name)) == expected


@pytest.mark.parametrize("form", ["xlsx", "sav", "dta"])
def test_a_table_that_is_counted_has_the_same_distinct_rows(tmp_path, form):
    plain = count_table(open_source(write(tmp_path / "plain.csv", a_table(form))))
    table = count_table(open_source(write(tmp_path / f"table.{form}", a_table(form))))
    assert table.counts.tolist() == plain.counts.tolist()
    assert typed(table) == typed(plain)
    assert len(table.digest) == 64


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_read_in_the_order_that_is_asked_for(tmp_path, form):
    table = open_batches(write(tmp_path / f"table.{form}", a_table(form)))
    assert table.names == ("AGE", "CODE", "PLACE", "FLAG")
    (batch,) = table.read(("PLACE", "AGE"))
    assert batch.schema.names == ["PLACE", "AGE"]
    assert batch.num_rows == RECORDS


@pytest.mark.parametrize(
    ("form", "formats"),
    [
        ("xlsx", None),
        ("xls", None),
        ("sav", {"day": "ADATE10"}),
        ("dta", {"day": "%tdNN/DD/CCYY"}),
        ("xpt", {"day": "MMDDYYS10"}),
    ],
)
def test_days_are_text_as_iso_has_them(tmp_path, form, formats):
    columns = {"day": [date(2024, 2, 29), date(1931, 1, 1), None], "n": [1.0, 2.0, 3.0]}
    table = read_table(write(tmp_path / f"table.{form}", columns, formats=formats))
    column = table.categories("day")
    assert [column.text(row) for row in range(2)] == ["2024-02-29", "1931-01-01"]
    assert column.missing.tolist() == [False, False, True]

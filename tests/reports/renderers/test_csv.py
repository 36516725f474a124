"""CSV: one row a finding, and no cell that a spreadsheet works out."""

import csv
import io

import pytest

from treewarden.reports.building.entry import gate_of, unaudited
from treewarden.reports.figures.gate_rows import gate_rows
from treewarden.reports.renderers import renderer


def rows(gate):
    said = renderer("csv").render_gate(gate).decode("utf-8")
    return list(csv.DictReader(io.StringIO(said)))


def test_every_finding_is_one_row_with_its_place_and_its_id(gate):
    found = rows(gate)
    assert [each["id"] for each in found] == [row.result.id for row in gate_rows(gate)]
    leaf = next(each for each in found if each["line"] == "12" and each["accepted_by"] == "")
    assert (leaf["node"], leaf["path"], leaf["severity"]) == ("leaf 3", "place = p2", "error")
    assert {each["accepted_by"] for each in found} == {"", "waiver", "baseline"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "＝", "－"])
def test_a_cell_that_would_be_a_formula_begins_with_a_quotation_mark(start):
    name = f"{start}HYPERLINK(A1)"
    (row,) = rows(gate_of([unaudited(name, "a\t=1", "=1")], "error"))
    assert row["model"] == f"'{name}"


def test_a_name_keeps_its_row_and_its_cell(hostile_gate, gate):
    assert len(rows(hostile_gate)) == len(gate_rows(hostile_gate)) == len(gate_rows(gate))
    (row,) = rows(gate_of([unaudited('a,"b"\nc', "f", "gone")], "error"))
    assert row["model"] == 'a,"b"\\nc'
